import assert from "node:assert/strict";
import { readText } from "./harness/files.ts";
import { blocksOf, commandsOf, fileIn } from "./harness/pages.ts";
import { describe, it } from "./suite.ts";

// tests/docs runs its code, as that of every page.
const readme = readText("README.md");

describe("README.md", () => {
  it("has a tool in about twenty lines, and its test", () => {
    const files = blocksOf(readme).flatMap((block) => block.info === "ts" ? [fileIn(block)] : []);
    assert.deepEqual(files.map((file) => file?.name), [
      "tools/book_table.ts",
      "tests/book_table.test.ts",
    ]);
    const lines = files[0]!.code.split("\n").filter((line) => line.trim() !== "");
    assert.ok(lines.length <= 22, `${lines.length} lines`);
  });

  it("has the two commands, and those of the program", () => {
    const commands = commandsOf("README.md");
    assert.deepEqual(commands.slice(0, 2), ["npx -y deno task start", "npx -y deno task test"]);
    assert.ok(commands.includes("parley install claude-desktop"));
  });

  it("fits on two screens", () => {
    // The table of figures may be present or not.
    const lines = readme.replace(/<!-- bench -->.*<!-- \/bench -->/s, "").split("\n");
    assert.ok(lines.length <= 100, `${lines.length} lines`);
    assert.deepEqual(lines.filter((line) => line.length > 100), []);
  });

  it("says the same in a picture and in text", () => {
    assert.match(readme, /!\[[^\]]{40,}\]\(docs\/two-eras\.svg\)/);
    const picture = readText("docs/two-eras.svg");
    assert.match(picture, /<title id="t">.+<\/title>/);
    assert.match(picture, /<desc\s+id="d">.{100,}<\/desc>/);
  });

  it("names every dependency, and tasks that exist", () => {
    const { dependencies, scripts } = JSON.parse(readText("package.json"));
    for (const name of Object.keys(dependencies)) assert.ok(readme.includes(`\`${name}\``), name);
    const tasks = Array.from(
      readme.matchAll(/(?:deno task|bun run) (\w+)/g),
      ([, task = ""]) => task,
    );
    // Compiled with Bun: that needs only npm, while Deno downloads its own base binary.
    assert.deepEqual(tasks, ["start", "test", "compile", "bench"]);
    for (const task of tasks) assert.ok(task in scripts, task);
  });
});
