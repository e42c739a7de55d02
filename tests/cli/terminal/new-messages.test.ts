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

  it("leaves out what the person said in place of the model", () => {
    const [a, b, c] = [say("a"), say("b"), say("c")];
    const said: McpMessage = { role: "assistant", content: [{ type: "text", text: "x" }] };
    assert.deepEqual(newMessages([a], [a, said, b]), [b]);
    assert.deepEqual(newMessages([a], [a, b, said, c, b]), [c, b]);
    // A conversation that the person has not seen is shown as a whole.
    assert.deepEqual(newMessages([c], [a, said, b]), [a, said, b]);
    assert.deepEqual(newMessages([a], [a, b, said]), [b, said]);
  });

  it("shows the last message, even if it was shown", () => {
    const a = say("a");
    assert.deepEqual(newMessages([a], [a]), [a]);
  });
});
