import assert from "node:assert/strict";
import type { ToolResult } from "../../src/mod.ts";
import { textAndDataWarning, wordsOnlyInText } from "../../src/tool/text-and-data.ts";
import { describe, it } from "../suite.ts";

const result = (text: string, structuredContent?: ToolResult["structuredContent"]): ToolResult => ({
  content: [{ type: "text", text }],
  ...(structuredContent && { structuredContent }),
});

describe("wordsOnlyInText()", () => {
  it("finds words and numbers that are missing in the data", () => {
    const data = { status: "booked", flight: "PY 149", total: 242 };
    assert.deepEqual(
      wordsOnlyInText(result("Booked: flight PY 149, window seat, 242 € in all, at 20:55", data)),
      ["window", "seat", "20", "55"],
    );
  });

  it("finds nothing if the data has the sentence, the words, or the text itself", () => {
    const text = "Nothing was booked: the person decided against it.";
    assert.deepEqual(wordsOnlyInText(result(text, { summary: text })), []);
    const data = { isFound: true, posts: [{ textBody: "Owls" }, { textBody: "Larks" }] };
    assert.deepEqual(wordsOnlyInText(result(JSON.stringify(data), data)), []);
    assert.deepEqual(wordsOnlyInText(result(JSON.stringify(data, null, 2), data)), []);
    assert.deepEqual(wordsOnlyInText(result("2 posts found: owls and larks", data)), []);
  });

  it("treats keys as words, in any form", () => {
    assert.deepEqual(wordsOnlyInText(result("The shopping list", { shoppingList: "" })), []);
    assert.deepEqual(wordsOnlyInText(result("3 flights", { flight: [1, 2, 3] })), []);
    assert.deepEqual(wordsOnlyInText(result("12 €", { price: 123 })), ["12"]);
  });

  it("finds nothing if there is no data, or the call failed", () => {
    assert.deepEqual(wordsOnlyInText(result("Something else")), []);
    assert.deepEqual(wordsOnlyInText({ ...result("No", { a: 1 }), isError: true }), []);
    assert.deepEqual(wordsOnlyInText({ content: [], structuredContent: { a: 1 } }), []);
  });
});

describe("textAndDataWarning()", () => {
  it("names the tool, some of the words, and what to do", () => {
    assert.equal(textAndDataWarning("t", []), undefined);
    const warning = textAndDataWarning("t", ["aa", "bb", "cc", "dd", "ee", "ff", "gg"])!;
    assert.match(
      warning,
      /tool "t" says "aa", "bb", "cc", "dd", "ee" and 2 more, which .* add it there too$/,
    );
  });
});
