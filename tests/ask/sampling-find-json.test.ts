import assert from "node:assert/strict";
import fc from "fast-check";
import { findJson } from "../../src/ask/find-json.ts";
import { describe, it } from "../suite.ts";
import { countedText } from "../support/counted-text.ts";

const found = (text: string) => [...findJson(text)];

describe("findJson()", () => {
  it("returns the value of a text that is JSON", () => {
    for (const value of [{ a: 1 }, [1, "]"], "a {} b", 4, true, null]) {
      assert.deepEqual(found(`  ${JSON.stringify(value)}\n`), [value]);
    }
  });

  it("returns JSON in code fences first, then JSON in brackets", () => {
    assert.deepEqual(found('Hm {"a": 0}.\n```json\n{"a": 1}\n```\n```\n[2]\n```'), [
      { a: 1 },
      [2],
      { a: 0 },
      { a: 1 },
      [2],
    ]);
  });

  it("is not misled by brackets in strings or in prose", () => {
    assert.deepEqual(found('I play {"why": "a } and a \\" {"} now'), [{ why: 'a } and a " {' }]);
    assert.deepEqual(found('See [1] and {this}: {"a": 1}'), [[1], { a: 1 }]);
    assert.deepEqual(found('An open { bracket, then {"a": 1}'), [{ a: 1 }]);
  });

  it("returns nothing from inside an invalid value", () => {
    assert.deepEqual(found('{"a": {"b": 1}, oops}'), []);
  });

  it("returns nothing if there is no JSON", () => {
    for (const text of ["", "   ", "hello", "{", "}{", '{"a": ', "```json\n```"]) {
      assert.deepEqual(found(text), [], text);
    }
  });

  it("finds any value in any surrounding prose", () => {
    const prose = fc.string().map((text) => text.replaceAll(/[[\]{}"`]/g, ""));
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        prose,
        prose,
        (value, before, after) => {
          const json = JSON.parse(JSON.stringify(value));
          assert.deepEqual(found(`${before} ${JSON.stringify(value)} ${after}`)[0], json);
        },
      ),
    );
  });

  it("looks at each character a bounded number of times in a text full of brackets", () => {
    // At most 20 searches reach the end of the text, and each start is looked at twice.
    const bound = 26;
    for (const unit of ["[", "{", '{"', "[]", "{}", '"[']) {
      const counted = countedText(unit.repeat(10_000));
      found(counted.text);
      const { length } = counted.text;
      assert.ok(counted.looks <= bound * length, `${unit}: ${counted.looks} looks at ${length}`);
    }
  });
});
