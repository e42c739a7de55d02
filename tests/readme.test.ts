import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { readText, root } from "./harness/files.ts";
import { currentRuntime, useRuntime } from "./harness/toolchain.ts";
import { describe, it } from "./suite.ts";

const readme = readText("README.md");
const blocks = Array.from(readme.matchAll(/^```ts\n(.+?)^```/gms), ([, code = ""]) => code);

/** Writes the blocks under the names that they give themselves, inside the project. */
function unpack(): { folder: string; files: string[] } {
  mkdirSync(join(root, "tests/tmp"), { recursive: true });
  // Inside the project, where the package finds itself by name.
  const folder = mkdtempSync(join(root, "tests/tmp/readme-"));
  const files = blocks.map((code) => {
    const name = /^\/\/ (\S+\.ts)\n/.exec(code)?.[1];
    assert.ok(name, `this block does not begin with the name of its file:\n${code}`);
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, code);
    return file;
  });
  return { folder, files };
}

describe("README.md", () => {
  it("has a tool and its test, which compile and pass as they stand", () => {
    const { folder, files } = unpack();
    try {
      const runtime = useRuntime(currentRuntime());
      const tests = files.filter((file) => file.endsWith(".test.ts"));
      assert.deepEqual([files.length, tests.length], [2, 1]);
      const args = runtime.name === "deno" ? ["test", "-A", ...tests] : ["test", ...tests];
      const { status, stdout, stderr } = spawnSync(runtime.path, args, {
        cwd: root,
        encoding: "utf8",
        env: { ...process.env, NO_COLOR: "1" },
      });
      assert.equal(status, 0, stdout + stderr);
      assert.match(stdout + stderr, /\b2 pass/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("fits on two screens", () => {
    const lines = readme.split("\n");
    assert.ok(lines.length <= 100, `${lines.length} lines`);
    assert.deepEqual(lines.filter((line) => line.length > 100), []);
  });

  it("names every dependency, and tasks that exist", () => {
    const { dependencies, scripts } = JSON.parse(readText("package.json"));
    for (const name of Object.keys(dependencies)) assert.ok(readme.includes(`\`${name}\``), name);
    const tasks = Array.from(readme.matchAll(/deno task (\w+)/g), ([, task = ""]) => task);
    assert.deepEqual(tasks, ["start", "test", "compile"]);
    for (const task of tasks) assert.ok(task in scripts, task);
  });
});
