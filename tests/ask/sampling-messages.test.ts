import assert from "node:assert/strict";
import { describe, it } from "../suite.ts";
import { model, results, sampling, use, user } from "./sampling-kit.ts";

const calling = { role: "assistant", content: [use("a", {}, "1"), use("b", {}, "2")] };

/** The error for messages that may not be sent. */
async function complaint(messages: unknown): Promise<string> {
  const { error, asked } = await sampling((ctx) => ctx.sample({ messages: messages as [] }), {
    sample: "x",
  });
  assert.ok(error instanceof TypeError, String(error));
  assert.equal(asked.length, 0);
  return error.message;
}

describe("messages that contain tool calls", () => {
  it("are sent if every call has its result", async () => {
    const messages = [user("?"), calling, results("ok", false, "2", "1"), model("so"), user("!")];
    const { asked } = await sampling((ctx) => ctx.sample({ messages: messages as [] }), {
      sample: "x",
    });
    assert.deepEqual(asked[0]!.messages, messages);
  });

  it("are refused otherwise, with the invalid message named", async () => {
    for (
      const [messages, place] of [
        [[user("?"), calling], "messages[1]"],
        [[user("?"), calling, user("!")], "messages[2]"],
        [[user("?"), calling, results("ok", false, "1")], "messages[2]"],
        [[user("?"), calling, model("ok")], "messages[2]"],
        [[
          user("?"),
          calling,
          { role: "user", content: [...results("ok", false, "1", "2").content, use("c", {})] },
        ], "messages[2]"],
        [[
          user("?"),
          calling,
          {
            role: "user",
            content: [...results("ok", false, "1", "2").content, { type: "text", text: "!" }],
          },
        ], "messages[2]"],
        [[user("?"), results("ok", false, "1")], "messages[1]"],
        [[results("ok", false, "1")], "messages[0]"],
        [[user("?"), calling, results("ok", false, "1", "2", "3")], "messages[2]"],
        [[
          user("?"),
          calling,
          results("ok", false, "1", "2"),
          user("!"),
          results("ok", false, "1"),
        ], "messages[4]"],
        [[{ role: "user", content: [use("a", {})] }], "messages[0]"],
      ] as [unknown, string][]
    ) {
      const said = await complaint(messages);
      assert.ok(said.includes(place), `${said} should name ${place}`);
    }
  });
});

describe("invalid messages", () => {
  it("are refused, with the reason", async () => {
    const block = (content: unknown) => [user("?"), { role: "user", content }];
    for (
      const [messages, place] of [
        ["hi", "not an array"],
        [[null], "messages[0]"],
        [[user("?"), { role: "system", content: "x" }], "messages[1]"],
        [[user("?"), { content: "x" }], "messages[1]"],
        [block(undefined), "messages[1].content[0]"],
        [block([{ type: "text", text: "a" }, "b"]), "messages[1].content[1]"],
        [block({ type: "video" }), "messages[1].content[0]"],
        [block({ type: "toString" }), "messages[1].content[0]"],
        [block({ type: "text" }), "its text"],
        [block({ type: "image", data: "AA==" }), "its mimeType"],
        [block({ type: "tool_use", id: "1", name: "a", input: null }), "its input"],
        [block({ type: "tool_result", toolUseId: "1", content: {} }), "its content"],
      ] as [unknown, string][]
    ) {
      const said = await complaint(messages);
      assert.ok(said.includes(place), `${said} should name ${place}`);
    }
  });
});

describe("content that an assistant cannot send", () => {
  it("is left out of the exchange, so that the conversation can continue", async () => {
    const strange = [
      results("ok", false, "1").content[0]!,
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "" },
      { type: "text", text: "hi" },
    ];
    const { value } = await sampling(function* (ctx) {
      const { text } = yield* ctx.sample({ prompt: "1" });
      yield* ctx.sample({ prompt: "2" });
      return { text, messages: ctx.messages };
    }, { sample: { role: "assistant", content: strange as [], model: "m" } });
    assert.equal(value.text, "hi");
    assert.deepEqual(value.messages, [user("1"), model("hi"), user("2"), model("hi")]);
  });
});
