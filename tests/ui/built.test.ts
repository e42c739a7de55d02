import assert from "node:assert/strict";
import { formatted } from "../../scripts/api-reference.ts";
import { BUILT, builtText } from "../../scripts/browser-code.ts";
import { readText } from "../harness/files.ts";
import { describe, it } from "../suite.ts";

describe("generated browser code", () => {
  for (const path of Object.keys(BUILT)) {
    it(`${path} is up to date`, () => {
      assert.equal(readText(path), formatted(builtText(path), "ts"), "run `deno task ui`");
    });
  }
});
