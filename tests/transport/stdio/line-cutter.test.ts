import assert from "node:assert/strict";
import fc from "fast-check";
import { LineCutter } from "../../../src/transport/stdio/serve-stdio.ts";
import { describe, it } from "../../suite.ts";

const encode = (text: string) => new TextEncoder().encode(text);

function cut(limit: number, chunks: readonly Uint8Array[]) {
  const cutter = new LineCutter(limit);
  return [...chunks.flatMap((chunk) => [...cutter.cut(chunk)]), ...cutter.end()];
}

describe("LineCutter", () => {
  it("finds the same lines wherever the chunks are cut", () => {
    fc.assert(fc.property(
      fc.array(fc.string({ unit: "grapheme" }).map((line) => line.replaceAll("\n", ""))),
      fc.array(fc.nat(40)),
      (lines, cuts) => {
        const bytes = encode(lines.map((line) => `${line}\n`).join(""));
        const chunks: Uint8Array[] = [];
        let start = 0;
        for (const length of cuts) chunks.push(bytes.subarray(start, start += length));
        chunks.push(bytes.subarray(start));
        assert.deepEqual(
          cut(1e6, chunks).map((line) => "text" in line && line.text),
          // A byte order mark is not part of the text.
          lines.map((line) => line.replace(/^\uFEFF/, "")),
        );
      },
    ));
  });

  it("reports a line that is too long, and reads on after it", () => {
    const chunks = ["short\n" + "x".repeat(8), "x".repeat(8) + "\nnext\n"].map(encode);
    assert.deepEqual(cut(10, chunks), [{ text: "short" }, { tooLong: 16 }, { text: "next" }]);
  });

  it("accepts a line of exactly the limit", () => {
    assert.deepEqual(cut(4, [encode("1234\n12345\n")]), [{ text: "1234" }, { tooLong: 5 }]);
  });

  it("returns the rest at the end, if there is any", () => {
    assert.deepEqual(cut(10, [encode("a\nrest")]), [{ text: "a" }, { text: "rest" }]);
    assert.deepEqual(cut(10, [encode("a\n")]), [{ text: "a" }]);
  });

  it("does not keep the memory of its chunks", () => {
    const cutter = new LineCutter(100);
    const chunk = encode("half ");
    assert.deepEqual([...cutter.cut(chunk)], []);
    chunk.fill(0);
    assert.deepEqual([...cutter.cut(encode("line\n"))], [{ text: "half line" }]);
  });

  it("reads invalid UTF-8 as replacement characters", () => {
    assert.deepEqual(cut(10, [new Uint8Array([0xff, 0xfe, 10])]), [{ text: "\ufffd\ufffd" }]);
  });
});
