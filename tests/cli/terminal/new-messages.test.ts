import assert from "node:assert/strict";
import { newMessages } from "../../../src/cli/terminal/at-terminal.ts";
import type { McpMessage } from "../../../src/model/content.ts";
import { describe, it } from "../../suite.ts";

const say = (text: string): McpMessage => ({ role: "user", content: [{ type: "text", text }] });

describe("newMessages()", () => {
  it("leaves out what was shown before", () => {
    const [a, b, c] = [say("a"), say("b"), say("c")];
    assert.deepEqual(newMessages([], [a, b]), [a, b]);
    assert.deepEqual(newMessages([a, b], [a, b, c]), [c]);
    assert.deepEqual(newMessages([a, b], [say("a"), c]), [c]);
    assert.deepEqual(newMessages([a, b], [c]), [c]);
  });

  it("shows the last message, even if it was shown", () => {
    const a = say("a");
    assert.deepEqual(newMessages([a], [a]), [a]);
  });
});
