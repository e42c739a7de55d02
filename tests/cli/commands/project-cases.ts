/** What must be true of a new project, however the program that writes it is started. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../harness/files.ts";
import { useRuntime } from "../../harness/toolchain.ts";
import { it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";
import { fromSource, runProgram, type Start } from "../../support/program.ts";

export function projectCases(start: () => Start = fromSource): void {
  it("writes a project whose tool and test run at once", function* () {
    const folder = yield* useFolder();
    const made = yield* runProgram(["new", "my-tools"], { start: start(), cwd: folder });
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /my-tools is ready/);
    const project = { start: start(), cwd: join(folder, "my-tools") };

    const tested = yield* runProgram(["test"], project);
    assert.equal(tested.code, 0, tested.stdout + tested.stderr);
    assert.match(tested.stdout + tested.stderr, /\b2 pass/);

    const called = yield* runProgram(["call", "greet", '{"name":"Ann"}', "tools"], project);
    assert.match(called.stderr, /The tool asks: How should I greet Ann\?/);

    const shown = yield* runProgram(["tools", "tools", "--json"], project);
    assert.equal(JSON.parse(shown.stdout)[0].name, "greet");

    // A failing test is reported as failing.
    const file = join(project.cwd, "tests/greet.test.ts");
    writeFileSync(file, readFileSync(file, "utf8").replace("Good day", "Bad day"));
    assert.notEqual((yield* runProgram(["test"], project)).code, 0);
  }, { within: 60_000 });

  it("overwrites nothing", function* () {
    const folder = yield* useFolder();
    const options = { start: start(), cwd: folder };
    yield* runProgram(["new", "my-tools"], options);
    const { code, stderr } = yield* runProgram(["new", "my-tools"], options);
    assert.equal(code, 1);
    assert.equal(
      stderr.trim(),
      'Cannot create "my-tools": the folder exists and is not empty; choose another name',
    );
  });
}

/** Uses the built package, not the source: type-checking the source takes long. */
export function typeCases(start: () => Start): void {
  it("writes a project whose types check in Deno and TypeScript", function* () {
    const folder = yield* useFolder();
    yield* runProgram(["new", "my-tools"], { start: start(), cwd: folder });
    const cwd = join(folder, "my-tools");
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const run = (path: string, ...args: string[]) => {
      const { status, stdout, stderr } = spawnSync(path, args, { cwd, encoding: "utf8" });
      return { status, said: stdout + stderr };
    };
    const typescript = () => run(useRuntime("bun").path, tsc, "-p", ".");
    for (
      const { status, said } of [
        run(useRuntime("deno").path, "check", "--quiet", "tools", "tests"),
        typescript(),
      ]
    ) assert.equal(status, 0, said);
    const test = join(cwd, "tests/greet.test.ts");
    writeFileSync(test, readFileSync(test, "utf8").replace('"formal"', '"informal"'));
    const { status, said } = typescript();
    assert.notEqual(status, 0);
    assert.match(said, /"informal"/);
  }, { within: 60_000 });
}
