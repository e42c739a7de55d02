/** The real gnome-keyring, through the addon, from separate processes. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { all, until } from "effection";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { absence } from "../harness/system.ts";
import { currentRuntime, useRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { useSecretService } from "../support/secret-service.ts";
import { type Outcome, work, WORKER } from "./worker-run.ts";

const withKeyring = it.unless(absence("keyring"));
const within = { within: 120_000 };

/** The environment of a server without a desktop. */
const none = { DBUS_SESSION_BUS_ADDRESS: "unix:path=/nonexistent/bus", DISPLAY: "" };

describe("openVault() with a Secret Service", () => {
  withKeyring(
    "keeps documents of any size and alphabet in the keyring, not in files",
    function* () {
      const folder = yield* useFolder();
      const { env } = yield* useSecretService();
      const text = `long ${"é😀".repeat(20_000)}`;
      assert.deepEqual(yield* work({ folder }, ["where"], { env }), { value: "the keyring" });
      yield* work({ folder }, ["write", "accounts", text], { env });
      assert.deepEqual(yield* work({ folder }, ["read", "accounts"], { env }), { value: text });
      assert.deepEqual(yield* work({ folder }, ["read", "others"], { env }), {});
      assert.deepEqual(readdirSync(folder).sort(), ["keyring.place", "vault.lock"]);
      yield* work({ folder }, ["write", "accounts"], { env });
      assert.deepEqual(yield* work({ folder }, ["read", "accounts"], { env }), {});
      assert.deepEqual(readdirSync(folder), ["vault.lock"]);
    },
    within,
  );

  withKeyring("keeps two vaults of one person apart", function* () {
    const folders = [yield* useFolder(), yield* useFolder()];
    const { env } = yield* useSecretService();
    for (const folder of folders) yield* work({ folder }, ["write", "accounts", folder], { env });
    for (const folder of folders) {
      assert.deepEqual(yield* work({ folder }, ["read", "accounts"], { env }), { value: folder });
    }
  }, within);

  withKeyring("finds the accounts that the Bluesky tools have always kept there", function* () {
    const settings = yield* useFolder();
    const { env: bus } = yield* useSecretService();
    const env = { ...bus, XDG_CONFIG_HOME: settings };
    const text = "precious";
    const head = JSON.stringify({
      version: 1,
      digest: createHash("sha256").update(text).digest("base64"),
      data: Buffer.from(text).toString("base64"),
    });
    yield* work({}, ["entry", "Parley Bluesky", "bluesky-local", head], { env });
    assert.deepEqual(yield* work({}, ["bluesky", "bluesky-local"], { env }), { value: text });
    // Other users of the vault have other entries.
    assert.deepEqual(yield* work({}, ["read", "bluesky-local"], { env }), {});
  }, within);

  withKeyring("lets two processes that write at once take turns", function* () {
    const folder = yield* useFolder();
    const { env } = yield* useSecretService();
    const count = () => work({ folder }, ["count", "n", "12"], { env });
    yield* all([count(), count()]);
    const { value } = yield* work({ folder }, ["read", "n"], { env });
    assert.equal(value, "24 ");
  }, within);

  withKeyring("reports a locked keyring, and loses nothing", function* () {
    const folder = yield* useFolder();
    const service = yield* useSecretService();
    const { env } = service;
    yield* work({ folder }, ["write", "accounts", "precious"], { env });
    yield* until(service.lock());
    for (const command of [["read", "accounts"], ["write", "accounts", "new"]]) {
      const { problem, message } = yield* work({ folder }, command, { env });
      assert.equal(problem, "locked");
      assert.match(message!, /^Cannot open the keyring .* locked; unlock it .* try again/);
    }
    yield* until(service.unlock());
    const back = yield* work({ folder }, ["read", "accounts"], { env });
    assert.deepEqual(back, { value: "precious" });
  }, within);

  withKeyring("reports that a keyring that was used cannot be reached any more", function* () {
    const folder = yield* useFolder();
    const { env } = yield* useSecretService();
    yield* work({ folder }, ["write", "accounts", "precious"], { env });
    const away = { env: { ...env, ...none } };
    const outcome = yield* work({ folder }, ["read", "accounts"], away);
    assert.equal(outcome.problem, "unreachable");
    assert.match(outcome.message!, /it contains your accounts.*PARLEY_KEYRING=off/);
    // With that option it uses files, and the keyring stays as it is.
    const off = { env: { ...away.env, PARLEY_KEYRING: "off" } };
    assert.deepEqual(yield* work({ folder }, ["read", "accounts"], off), {});
    const back = yield* work({ folder }, ["read", "accounts"], { env });
    assert.deepEqual(back, { value: "precious" });
  }, within);

  withKeyring("reports that a damaged keyring has lost them, and does not change it", function* () {
    const folder = yield* useFolder();
    const service = yield* useSecretService();
    const { env } = service;
    yield* work({ folder }, ["write", "accounts", "precious"], { env });
    const file = join(env["XDG_DATA_HOME"]!, "keyrings/login.keyring");
    yield* until(service.lock());
    writeFileSync(file, "damaged");
    yield* until(service.unlock());
    const { problem, message } = yield* work({ folder }, ["read", "accounts"], { env });
    assert.equal(problem, "damaged");
    assert.match(message!, /from a backup, or log in again/);
    yield* work({ folder }, ["write", "accounts", "new"], { env });
    assert.deepEqual(yield* work({ folder }, ["read", "accounts"], { env }), { value: "new" });
    assert.equal(readFileSync(file, "utf8"), "damaged");
  }, within);

  withKeyring("uses files if the service has no keyring to write to", function* () {
    const folder = yield* useFolder();
    const { env } = yield* useSecretService("empty");
    const { value } = yield* work({ folder }, ["where"], { env });
    assert.equal(value, `the files in "${folder}"`);
    assert.equal(
      (yield* work({ folder, keyring: true }, ["where"], { env })).problem,
      "unreachable",
    );
  }, within);

  withKeyring("keeps using files that existed before the keyring", function* () {
    const folder = yield* useFolder();
    const { env } = yield* useSecretService();
    yield* work({ folder, keyring: false }, ["write", "accounts", "precious"], { env });
    assert.deepEqual(yield* work({ folder }, ["read", "accounts"], { env }), { value: "precious" });
  }, within);

  if (currentRuntime() === "bun") {
    withKeyring("works in a compiled program, and across runtimes", function* () {
      const folder = yield* useFolder();
      const { env } = yield* useSecretService();
      const file = join(yield* useFolder(), "worker");
      // As scripts/compile.ts does.
      const flags = ["--compile", "--minify", "--bytecode", "--splitting", "--format=esm"];
      const bun = useRuntime("bun").path;
      const built = spawnSync(bun, ["build", ...flags, `--outfile=${file}`, WORKER], {
        encoding: "utf8",
      });
      assert.equal(built.status, 0, built.stderr);
      const compiled = {
        start: [file] as const,
        env: { ...env, PATH: "/nonexistent" },
        cwd: folder,
      };
      const vault = { folder: join(folder, "vault") };
      assert.deepEqual(yield* work(vault, ["where"], compiled), { value: "the keyring" });
      yield* work(vault, ["write", "accounts", "from the file"], compiled);
      const deno = [useRuntime("deno").path, "run", "-A", "--no-check", WORKER] as const;
      const outcomes: Outcome[] = [
        yield* work(vault, ["read", "accounts"], compiled),
        yield* work(vault, ["read", "accounts"], { env }),
        yield* work(vault, ["read", "accounts"], { env, start: deno }),
      ];
      assert.deepEqual(outcomes, Array(3).fill({ value: "from the file" }));
    }, within);
  } else {
    it.skip("works from within a compiled file (SKIPPED on Deno: the suite on Bun tests it)");
  }
});

describe("openVault() without a Secret Service", () => {
  it("uses files, or fails if it was told to use the keyring", function* () {
    const folder = yield* useFolder();
    const { value } = yield* work({ folder }, ["where"], { env: none });
    assert.equal(value, `the files in "${folder}"`);
    const outcome = yield* work({ folder, keyring: true }, ["where"], { env: none });
    assert.equal(outcome.problem, "unreachable");
    assert.match(
      outcome.message!,
      /^Cannot open the keyring of this computer: there is no keyring that can be reached/,
    );
  }, within);
});
