/**
 * Tests of types, with one run of the type checker:
 * - tests/types/*.test-d.ts must compile, with `@ts-expect-error` on what must not;
 * - tests/types/must-not-compile/*.ts must each fail with exactly the errors that its
 *   `// expect-error: …` lines quote in part.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { listFiles, readText, root } from "../harness/files.ts";
import { useRuntime } from "../harness/toolchain.ts";
import { mismatches, readErrors } from "../harness/type-errors.ts";
import { describe, it } from "../suite.ts";

const good = listFiles("tests/types", ".test-d.ts");
const bad = listFiles("tests/types/must-not-compile", ".ts");

describe("the type checker", () => {
  const errors = typeErrors([...good, ...bad]);

  it("accepts everything that must compile", () => {
    assert.ok(good.length > 0);
    assert.deepEqual([...errors].filter(([file]) => !bad.includes(file)), []);
  });

  for (const file of bad) {
    it(`refuses ${file} for the reason it names`, () => {
      assert.deepEqual(mismatches(readText(file), errors.get(file) ?? []), []);
    });
  }
});

function typeErrors(files: string[]): Map<string, string[]> {
  const { status, stderr } = spawnSync(useRuntime("deno").path, ["check", ...files], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
  });
  const found = readErrors(stderr);
  // Something other than types went wrong, such as an import that cannot be resolved.
  if ((status === 0) !== (found.size === 0)) throw new Error(`Cannot check types:\n${stderr}`);
  return found;
}
