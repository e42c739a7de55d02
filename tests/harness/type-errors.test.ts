import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { describe, it } from "../suite.ts";
import { root } from "./files.ts";
import { mismatches, readErrors } from "./type-errors.ts";

const at = (path: string) => `    at ${pathToFileURL(root)}${path}`;

describe("readErrors()", () => {
  it("finds each error's file, even if a declaration is named after it", () => {
    const output = [
      "Check tests/a.ts",
      "TS2322 [ERROR]: Type 'A' is not assignable to type 'B'.",
      "  Types of property 'x' are incompatible.",
      "a = b",
      "^",
      at("tests/a.ts:1:7"),
      "",
      "    The expected type comes from property 'x'",
      "    ~",
      `    ${at("src/b.ts:3:1")}`,
      "",
      "TS2339 [ERROR]: Property 'c' does not exist.",
      at("tests/c.ts:1:56"),
      "",
      "Found 2 errors.",
    ].join("\n");
    const errors = readErrors(output);
    assert.deepEqual([...errors.keys()], ["tests/a.ts", "tests/c.ts"]);
    assert.match(errors.get("tests/a.ts")?.[0] ?? "", /type 'B'\. Types of property 'x' are/);
    assert.equal(readErrors("Check tests/a.ts\n").size, 0);
  });
});

describe("mismatches()", () => {
  it("requires each expected error and no other", () => {
    const source = "// expect-error: one\n// expect-error: two\n";
    assert.deepEqual(mismatches(source, ["the one", "the two"]), []);
    assert.equal(mismatches(source, ["the one"]).length, 1);
    assert.equal(mismatches(source, ["the one", "the two", "more"]).length, 1);
    assert.equal(mismatches(source, []).length, 2);
    assert.equal(mismatches("export {};", ["one"]).length, 1);
  });
});
