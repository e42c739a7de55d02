import assert from "node:assert/strict";
import { formatted } from "../../scripts/api-reference.ts";
import { BUILT, builtText } from "../../scripts/browser-code.ts";
import { readText } from "../harness/files.ts";
import { describe, it } from "../suite.ts";

describe("src/ui/built.ts", () => {
  it("is up to date with the browser code", () => {
    assert.equal(readText(BUILT), formatted(builtText(), "ts"), "run `deno task ui`");
  });
});
