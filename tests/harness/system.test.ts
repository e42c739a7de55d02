import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { runProgram } from "../support/program.ts";
import { readText, root } from "./files.ts";
import { absence } from "./system.ts";
import { currentRuntime, useRuntime } from "./toolchain.ts";

const { path } = useRuntime(currentRuntime());
const isDeno = currentRuntime() === "deno";

describe("absence()", () => {
  it("names what to install, or nothing if nothing is missing", function* () {
    const folder = yield* useFolder();
    mkdirSync(join(folder, "bin"));
    for (const program of ["dbus-run-session", "gnome-keyring-daemon"]) {
      writeFileSync(join(folder, "bin", program), "");
    }
    const before = process.env["PATH"];
    try {
      process.env["PATH"] = folder;
      assert.equal(absence("keyring"), "this machine lacks dbus, gnome-keyring");
      process.env["PATH"] = join(folder, "bin");
      assert.equal(absence("keyring"), undefined);
    } finally {
      process.env["PATH"] = before;
    }
  });

  it("requires nothing that .ci/run does not install", () => {
    const ci = readText(".ci/run");
    const packages = ["postgresql", "chromium", "gnome-keyring", "dbus", "python3", "make", "g++"];
    for (const name of packages) assert.ok(ci.includes(name), name);
    assert.match(ci, /^export PARLEY_REQUIRE_ALL=1/m);
  });
});

describe("it.unless()", () => {
  it("runs, skips with a reason, or fails if nothing may be missing", function* () {
    const folder = yield* useFolder();
    const file = join(folder, "a.test.ts");
    const suite = JSON.stringify(join(root, "tests/suite.ts"));
    writeFileSync(
      file,
      `import { it } from ${suite};
it.unless(undefined)("can be tested", () => {});
it.unless("this machine lacks a moon")("cannot be tested", () => { throw new Error("it ran"); });
`,
    );
    const args = isDeno
      ? ["test", "-A", "--no-check", `--config=${join(root, "deno.json")}`, file]
      : ["test", file];
    const run = (env: Record<string, string | undefined>) =>
      runProgram(args, { start: [path], env, cwd: isDeno ? root : folder });
    const lenient = yield* run({ PARLEY_REQUIRE_ALL: undefined });
    const said = lenient.stdout + lenient.stderr;
    assert.equal(lenient.code, 0, said);
    assert.match(said, /cannot be tested \(SKIPPED: this machine lacks a moon\)/);
    const strict = yield* run({ PARLEY_REQUIRE_ALL: "1" });
    assert.notEqual(strict.code, 0);
    assert.match(strict.stdout + strict.stderr, /Cannot be tested: this machine lacks a moon/);
    assert.doesNotMatch(said + strict.stdout + strict.stderr, /it ran/);
  }, { within: 60_000 });
});
