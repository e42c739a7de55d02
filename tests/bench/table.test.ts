import assert from "node:assert/strict";
import type { Finding } from "../../bench/kit/findings.ts";
import { figure, middleHalf, spreadOf } from "../../bench/kit/findings.ts";
import { withTable } from "../../bench/kit/table.ts";
import { readText } from "../harness/files.ts";
import { describe, it } from "../suite.ts";

const found: Finding[] = [
  { key: "call-legacy", what: "calls", runtime: "deno", value: 0.523, unit: "×", met: true },
  { key: "call-modern", what: "calls", runtime: "deno", value: 0.4, unit: "×", met: false },
];

describe("withTable()", () => {
  it("replaces the table after the mark, and nothing else", () => {
    const text = withTable("a <!-- bench -->\n\n| old |\n| --- |\n\nb | c |\n", found);
    assert.match(text, /^a <!-- bench -->\n\n\| \d{4}-\d\d-\d\d, \d+ cores/);
    assert.match(text, /\| 0\.52, 0\.40\* \| -, - +\|/);
    assert.ok(text.endsWith("|\n\nb | c |\n"));
    assert.doesNotMatch(text, /old/);
    assert.equal(withTable(text, found), text);
  });

  it("refuses a text without a place for it", () => {
    assert.throws(() => withTable("a", found), /Cannot write the table/);
  });

  it("finds its place in the README", () => {
    assert.doesNotThrow(() => withTable(readText("README.md"), found));
  });
});

describe("figure() and spreadOf()", () => {
  it("show significant digits, and the median of the measurements", () => {
    assert.deepEqual([0.523, 12.34, 1234567].map(figure), ["0.52", "12.3", "1 234 567"]);
    assert.deepEqual(spreadOf([3, 1, 2]), { value: 2, low: 1, high: 3 });
    assert.deepEqual(middleHalf([9, 1, 4, 2, 3]), { value: 3, low: 2, high: 4 });
  });
});
