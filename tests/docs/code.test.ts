/** The code blocks of the documentation are written to files, type-checked, and run. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { root, TEMPORARY } from "../harness/files.ts";
import { blocksOf, fileIn, unpackPages } from "../harness/pages.ts";
import { currentRuntime, useRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";

/** Inside the project, where the package finds itself by name. */
function unpacked<T>(use: (folder: string, files: string[]) => T): T {
  mkdirSync(join(root, TEMPORARY), { recursive: true });
  const folder = mkdtempSync(join(root, TEMPORARY, "docs-"));
  try {
    return use(folder, unpackPages(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(path: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(path, args, {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
  });
  assert.equal(status, 0, stdout + stderr);
  return stdout + stderr;
}

describe("the code in the documentation", () => {
  it("passes its own tests, unchanged", () => {
    unpacked((_folder, files) => {
      const { name, path } = useRuntime(currentRuntime());
      const tests = files.filter((file) => file.endsWith(".test.ts"));
      assert.ok(tests.length >= 5, `${tests.length} test files`);
      const shown = run(path, ["test", ...(name === "deno" ? ["-A", "--no-check"] : []), ...tests]);
      const [, passed] = /\b(\d+) pass/.exec(shown) ?? [];
      assert.ok(Number(passed) >= 10, shown);
    });
  }, { within: 120_000 });

  // The types are the same on Bun, so one check is enough.
  const once = it.when(currentRuntime() === "deno");
  once(
    "has types that fit, those of docs/api.md included (SKIPPED on Bun: Deno checks the same)",
    () => {
      unpacked((_folder, files) => {
        const code = files.filter((file) => file.endsWith(".ts"));
        const deno = useRuntime("deno").path;
        run(deno, ["check", "--quiet", ...code]);
        run(deno, ["check", "--quiet", "--doc-only", "docs/api.md"]);
      });
    },
    { within: 120_000 },
  );
});

describe("blocksOf() and fileIn()", () => {
  it("find every block, its language and its file", () => {
    const page = "a\n\n```ts\n// b/c.ts\nd;\n```\n\n```ts ignore\ne\n```\n\n`f`\n\n```sh\ng\n```\n";
    const blocks = blocksOf(page);
    assert.deepEqual(blocks.map(({ info }) => info), ["ts", "ts ignore", "sh"]);
    assert.deepEqual(fileIn(blocks[0]!), { name: "b/c.ts", code: "// b/c.ts\nd;\n" });
    assert.equal(fileIn(blocks[1]!), undefined);
  });
});
