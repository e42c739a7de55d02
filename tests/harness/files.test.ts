import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "../suite.ts";
import { listFiles, root, TEMPORARY } from "./files.ts";

describe("listFiles()", () => {
  it("finds our files, and no temporary files of tests", () => {
    mkdirSync(join(root, TEMPORARY), { recursive: true });
    const folder = mkdtempSync(join(root, TEMPORARY, "files-"));
    try {
      writeFileSync(join(folder, "passing.ts"), "");
      const files = listFiles("tests", ".ts");
      assert.ok(files.includes("tests/harness/files.test.ts"));
      assert.deepEqual(files.filter((file) => file.startsWith(`${TEMPORARY}/`)), []);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
