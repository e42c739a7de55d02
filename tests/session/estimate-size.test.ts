import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { estimateSize } from "../../src/session/estimate-size.ts";
import { describe, it } from "../suite.ts";

/** One character that takes one to four bytes in UTF-8. */
const CHARACTERS = ["x", "é", "日", "😀"];

describe("estimateSize()", () => {
  it("counts the bytes of text in UTF-8, wherever it is", () => {
    for (const character of CHARACTERS) {
      const text = character.repeat(10_000);
      const bytes = Buffer.byteLength(text);
      for (const value of [text, [text], { text }, { [text]: 1 }, { requestedSchema: { text } }]) {
        const size = estimateSize(value);
        assert.ok(size >= bytes && size < bytes + 200, `${character}: ${size} for ${bytes}`);
      }
    }
  });

  it("counts short texts to at least a third of what they take", () => {
    for (const character of CHARACTERS) {
      for (let length = 0; length <= 40; length++) {
        const texts = Array.from({ length: 100 }, () => character.repeat(length));
        for (const value of [texts, Object.fromEntries(texts.map((text, i) => [text + i, text]))]) {
          const bytes = Buffer.byteLength(JSON.stringify(value));
          assert.ok(3 * estimateSize(value) >= bytes, `${length} times ${character}`);
        }
      }
    }
  });
});
