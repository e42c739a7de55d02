import assert from "node:assert/strict";
import { scoped, until } from "effection";
import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { localFindings, type LocalOptions, versionFinding } from "../../../src/cli/doctor/local.ts";
import type { Finding } from "../../../src/cli/doctor/probe.ts";
import { copyFormerStore } from "../../fixtures/store-format-3/open.ts";
import { root } from "../../harness/files.ts";
import { describe, it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";
import { runProgram, useProgram } from "../../support/program.ts";

const onPosix = it.when(process.platform !== "win32");
const bookFlight = join(root, "tools/book_flight.ts");

function examine(options: Partial<LocalOptions> = {}): Finding[] {
  return [...localFindings({ version: "1.2.3", env: {}, ...options })];
}

function statuses(findings: readonly Finding[]): Record<string, string> {
  return Object.fromEntries(findings.map(({ check, status }) => [check, status]));
}

/** Starts a server with the store, and stops it while it serves. */
function* serve(path: string, during: () => void = () => {}) {
  yield* scoped(function* () {
    const args = ["serve", bookFlight, "--port", "0", "--store", `sqlite:${path}`];
    const program = yield* useProgram(args);
    yield* until(program.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
    during();
    program.signal("SIGTERM");
    yield* until(program.exit);
  });
}

describe("parley doctor", () => {
  it("reports versions, and warns of an old runtime", () => {
    assert.equal(statuses(examine()).versions, "ok");
    assert.equal(versionFinding("1.2.3", { deno: "2.1.0", node: "24.0.0" }).status, "warning");
    assert.equal(versionFinding("1.2.3", { node: "22.19.0" }).status, "ok");
  });

  it("checks the key and the model without printing them", () => {
    assert.equal(statuses(examine()).key, "warning");
    const long = "a key that is long enough";
    const good = examine({ env: { PARLEY_KEY: `${long},${long} too` } });
    assert.equal(statuses(good).key, "ok");
    const bad = examine({
      env: { PARLEY_KEY: "sh0rt", PARLEY_MODEL: "nobody:x", PARLEY_MODEL_KEY: "s3cret" },
    });
    assert.deepEqual([statuses(bad).key, statuses(bad).model], ["problem", "problem"]);
    assert.doesNotMatch(JSON.stringify([good, bad]), /long enough|sh0rt|s3cret/);
  });

  it("does not create a store, and says whether it could be created", function* () {
    const folder = yield* useFolder();
    const path = join(folder, "parley.db");
    assert.equal(statuses(examine({ store: `sqlite:${path}` })).store, "ok");
    assert.ok(!existsSync(path));
    const nowhere = examine({ store: `sqlite:${join(folder, "missing", "parley.db")}` });
    assert.equal(statuses(nowhere).store, "problem");
    assert.equal(statuses(examine({ store: "postgres:x" })).store, "problem");
  });

  it("reads an older store, and does not migrate it", function* () {
    const { path, remove } = copyFormerStore();
    try {
      const before = readFileSync(path);
      const found = examine({ store: `sqlite:${path}` });
      assert.equal(statuses(found).store, "ok", JSON.stringify(found));
      assert.match(JSON.stringify(found), /format 3/);
      assert.deepEqual(readFileSync(path), before);
    } finally {
      remove();
    }
  });

  it("compares the key with that of the store", function* () {
    const { path, remove } = copyFormerStore();
    const store = `sqlite:${path}`;
    try {
      yield* serve(path, () => {
        assert.equal(statuses(examine({ store })).store, "skipped");
      });
      assert.equal(statuses(examine({ store }))["store key"], "ok");
      copyFileSync(`${path}.key`, `${path}.away`);
      writeFileSync(`${path}.key`, "x".repeat(43));
      assert.equal(statuses(examine({ store }))["store key"], "problem");
      rmSync(`${path}.key`);
      assert.equal(statuses(examine({ store }))["store key"], "problem");
      const PARLEY_KEY = readFileSync(`${path}.away`, "utf8").trim();
      assert.equal(statuses(examine({ store, env: { PARLEY_KEY } }))["store key"], "ok");
    } finally {
      remove();
    }
  });

  it("finds a file that is no store", function* () {
    const path = join(yield* useFolder(), "notes.txt");
    writeFileSync(path, "these are notes, and not a database");
    const found = examine({ store: `sqlite:${path}` });
    assert.equal(statuses(found).store, "problem");
    assert.ok(found.find(({ check }) => check === "store")!.remedy);
    assert.equal(readFileSync(path, "utf8"), "these are notes, and not a database");
  });

  onPosix("finds files with secrets that other users can read", function* () {
    const tokenFile = join(yield* useFolder(), "tokens");
    assert.equal(statuses(examine({ secretFiles: [tokenFile] }))["secret files"], "problem");
    writeFileSync(tokenFile, "x", { mode: 0o600 });
    assert.equal(statuses(examine({ secretFiles: [tokenFile] }))["secret files"], "ok");
    chmodSync(tokenFile, 0o644);
    assert.equal(statuses(examine({ secretFiles: [tokenFile] }))["secret files"], "warning");
  });

  it("checks what the config file names", function* () {
    const folder = yield* useFolder();
    const auth = { clientSecretFile: "./secret", tokenFile: "./tokens" };
    const config = { store: "sqlite:./missing/calls.db", auth, model: { name: "nobody:x" } };
    writeFileSync(join(folder, "parley.config.json"), JSON.stringify(config));
    const { code, stdout, stderr } = yield* runProgram(["doctor", "--json"], { cwd: folder });
    assert.equal(code, 1, stderr);
    const found = JSON.parse(stdout).findings as Finding[];
    const sick = found.filter(({ status }) => status === "problem").map(({ check }) => check);
    assert.deepEqual(sick, ["model", "store", "secret files", "secret files"]);
    assert.ok(stdout.includes(join(folder, "secret")));
  });

  it("prints findings, and exits with 1 if there is a problem", function* () {
    const folder = yield* useFolder();
    const healthy = yield* runProgram(["doctor"], { cwd: folder });
    assert.equal(healthy.code, 0, healthy.stdout + healthy.stderr);
    const sick = yield* runProgram(["doctor", "--json"], {
      cwd: folder,
      env: { PARLEY_KEY: "sh0rt" },
    });
    assert.equal(sick.code, 1, sick.stderr);
    assert.equal(statuses(JSON.parse(sick.stdout).findings).key, "problem");
  });
});
