import assert from "node:assert/strict";
import fc from "fast-check";
import { hasMoreThan, nestsDeeperThan, shapeProblem } from "../../src/lib/json-shape.ts";
import { describe, it } from "../suite.ts";
import { countedText } from "../support/counted-text.ts";

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** Counts strings, keys, objects, arrays and commas. */
function partsOf(value: unknown): number {
  if (typeof value === "string") return 1;
  if (typeof value !== "object" || value === null) return 0;
  const inside = Object.values(value);
  const keys = Array.isArray(value) ? 0 : inside.length;
  const commas = Math.max(0, inside.length - 1);
  return 1 + keys + commas + inside.reduce((sum: number, one) => sum + partsOf(one), 0);
}

describe("nestsDeeperThan()", () => {
  it("counts what JSON.parse would build", () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(7), (value, levels) => {
      // Padded, because short texts are not examined.
      const text = `${JSON.stringify(value)}${" ".repeat(20)}`;
      assert.equal(nestsDeeperThan(text, levels), depthOf(value) > levels);
    }));
  });

  it("ignores brackets, quotes and backslashes in strings", () => {
    for (const text of ["[".repeat(99), '"'.repeat(99), "\\".repeat(99), '\\"['.repeat(99)]) {
      assert.equal(nestsDeeperThan(JSON.stringify({ text, more: [text] }), 2), false);
      assert.equal(nestsDeeperThan(JSON.stringify({ text, more: [text] }), 1), true);
    }
  });

  it("returns for any text that is not JSON", () => {
    for (const text of ['"' + "[".repeat(99), "]".repeat(99), "\\".repeat(99), "{".repeat(5)]) {
      assert.equal(nestsDeeperThan(text, 10), false);
    }
    assert.equal(nestsDeeperThan("[".repeat(1_000_000), 500), true);
  });

  it("looks at each character a few times at most", () => {
    for (
      const content of [`"${"\\".repeat(400_000)}`, "[],".repeat(130_000), '"\\\\",'.repeat(70_000)]
    ) {
      const counted = countedText(content);
      nestsDeeperThan(counted.text, 500);
      assert.ok(counted.looks <= 3 * content.length, `${counted.looks} looks at ${content.length}`);
    }
  });
});

describe("hasMoreThan()", () => {
  it("counts keys, strings and elements as JSON.parse would build them", () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(40), (value, parts) => {
      const text = `${JSON.stringify(value)}${" ".repeat(40)}`;
      assert.equal(hasMoreThan(text, parts), partsOf(JSON.parse(text)) > parts);
    }));
  });

  it("does not count what is inside a string", () => {
    const text = JSON.stringify({ text: '{"a":[1,2,3],"b":"\\","c":",,,,"}'.repeat(99) });
    assert.equal(hasMoreThan(text, 3), false);
    assert.equal(hasMoreThan(text, 2), true);
  });

  it("also counts in a text that is not JSON, and looks at each character a few times at most", () => {
    const commas = countedText(",".repeat(400_000));
    assert.equal(hasMoreThan(commas.text, 399_999), true);
    assert.ok(commas.looks <= 3 * 400_000, `${commas.looks} looks`);
    const strings = countedText('"\\""",'.repeat(60_000));
    assert.equal(hasMoreThan(strings.text, 299_000), false);
    assert.ok(strings.looks <= 3 * strings.text.length, `${strings.looks} looks`);
  });
});

describe("shapeProblem()", () => {
  it("returns what is too much and what to do, or undefined", () => {
    assert.deepEqual(shapeProblem("[".repeat(500), 10_000), {
      state: "it nests deeper than 200 levels",
      remedy: "flatten it",
    });
    assert.deepEqual(shapeProblem("1,".repeat(500), 100), {
      state: "it has more than 100 keys, strings and elements",
      remedy: "send fewer",
    });
    assert.equal(shapeProblem('{"jsonrpc":"2.0","method":"ping"}', 100), undefined);
  });

  it("counts brackets that nest, not all brackets", () => {
    const flat = JSON.stringify(Array.from({ length: 300 }, () => ({ a: [] })));
    assert.equal(shapeProblem(flat, 10_000), undefined);
    const inText = JSON.stringify(["{[".repeat(300)]);
    assert.equal(shapeProblem(inText, 10_000), undefined);
    for (const [open, close] of [["[", "]"], ['{"a":', "}"]] as const) {
      const nested = (levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`;
      const padding = " ".repeat(500);
      assert.equal(shapeProblem(nested(200) + padding, 10_000), undefined);
      assert.notEqual(shapeProblem(nested(201) + padding, 10_000), undefined);
    }
    const mixed = '[{"a":'.repeat(101) + "1" + "}]".repeat(101);
    assert.notEqual(shapeProblem(mixed, 10_000), undefined);
  });
});
