/** Where openVault() stores things; keyring.test.ts tests it with a keyring. */
import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { work } from "./worker-run.ts";

const within = { within: 60_000 };

/** Separate settings, and no keyring. */
const at = (settings: string) => ({
  APPDATA: settings,
  XDG_CONFIG_HOME: settings,
  DBUS_SESSION_BUS_ADDRESS: "unix:path=/nonexistent/bus",
  PARLEY_PASSPHRASE: undefined,
  PARLEY_KEYRING: "off",
});

describe("openVault()", () => {
  it.when(process.platform !== "darwin")("keeps things among the person's settings", function* () {
    const settings = yield* useFolder();
    const env = at(settings);
    assert.deepEqual(yield* work({}, ["read", "accounts"], { env }), {});
    // Reading creates nothing.
    assert.deepEqual(readdirSync(settings), []);
    yield* work({}, ["write", "accounts", "text"], { env });
    const folder = join(settings, "parley/vault");
    assert.ok(readdirSync(folder).includes("accounts.sealed"));
    assert.deepEqual(yield* work({ folder }, ["read", "accounts"], { env }), { value: "text" });
  }, within);

  it("uses the passphrase from the environment by default", function* () {
    const folder = yield* useFolder();
    const env = { ...at(folder), PARLEY_PASSPHRASE: "one" };
    yield* work({ folder }, ["write", "accounts", "text"], { env });
    assert.deepEqual(readdirSync(folder).sort(), ["accounts.sealed", "vault.lock"]);
    assert.deepEqual(yield* work({ folder }, ["read", "accounts"], { env }), { value: "text" });
    const other = yield* work({ folder, passphrase: "two" }, ["read", "accounts"], { env });
    assert.equal(other.problem, "passphrase");
    // An empty one counts as missing.
    const none = yield* work({ folder }, ["read", "accounts"], {
      env: { ...env, PARLEY_PASSPHRASE: "" },
    });
    assert.equal(none.problem, "passphrase");
  }, within);

  it("says why nothing can be kept", function* () {
    const settings = yield* useFolder();
    const folder = join(settings, "file", "below");
    writeFileSync(join(settings, "file"), "");
    for (const command of [["write", "accounts", "text"], ["read", "accounts"]]) {
      const { problem, message } = yield* work({ folder }, command, { env: at(settings) });
      assert.equal(problem, "disk");
      assert.match(message!, /^Cannot .+: a part of the path is a file.+; move/);
    }
  }, within);
});
