import assert from "node:assert/strict";
import fc from "fast-check";
import { nestsDeeperThan } from "../../src/protocol/nesting.ts";
import { describe, it } from "../suite.ts";

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe("nestsDeeperThan()", () => {
  it("counts what JSON.parse would build", () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(7), (value, levels) => {
      // Padded, because short texts are not looked at.
      const text = `${JSON.stringify(value)}${" ".repeat(20)}`;
      assert.equal(nestsDeeperThan(text, levels), depthOf(value) > levels);
    }));
  });

  it("is not led astray by brackets, quotes and backslashes in strings", () => {
    for (const text of ["[".repeat(99), '"'.repeat(99), "\\".repeat(99), '\\"['.repeat(99)]) {
      assert.equal(nestsDeeperThan(JSON.stringify({ text, more: [text] }), 2), false);
      assert.equal(nestsDeeperThan(JSON.stringify({ text, more: [text] }), 1), true);
    }
  });

  it("ends on whatever is no JSON", () => {
    for (const text of ['"' + "[".repeat(99), "]".repeat(99), "\\".repeat(99), "{".repeat(5)]) {
      assert.equal(nestsDeeperThan(text, 10), false);
    }
    assert.equal(nestsDeeperThan("[".repeat(1_000_000), 500), true);
  });

  it("does not take long for what is long", () => {
    const started = performance.now();
    nestsDeeperThan(`"${"\\".repeat(4_000_000)}`, 500);
    nestsDeeperThan("[],".repeat(1_300_000), 500);
    nestsDeeperThan('"\\\\",'.repeat(700_000), 500);
    assert.ok(performance.now() - started < 2_000);
  });
});
