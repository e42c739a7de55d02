import assert from "node:assert/strict";
import type { SampleParams } from "../../src/mod.ts";
import { describe, it } from "../suite.ts";
import { type Received, type Reply, withModel } from "./fake-model.ts";
import {
  anthropicAnswer,
  ask,
  CELL,
  conversation,
  data,
  plain,
  said,
  tools,
  user,
} from "./samples.ts";

const OK: Reply = { json: anthropicAnswer([said("hi")]) };
const NAME = "anthropic:claude-sonnet-4-5";

/** The request body for a sample. */
async function sent(params: SampleParams, name = NAME): Promise<Received> {
  let received: Received | undefined;
  await withModel(name, [OK], async (setting) => {
    await ask(setting.provider, params);
    received = setting.model.received[0];
  });
  return received!;
}

/** The answer to a sample for this response: content and stop reason. */
async function back(params: SampleParams, content: object[], reason: string): Promise<unknown> {
  let response: unknown;
  await withModel(NAME, [{ json: anthropicAnswer(content, reason) }], async ({ provider }) => {
    const { content, stopReason, model, usage } = await ask(provider, params);
    assert.equal(model, "claude-sonnet-4-5-20250929");
    assert.deepEqual(usage, { inputTokens: 21, outputTokens: 9 });
    response = { content, stopReason };
  });
  return response;
}

describe("the request to Anthropic", () => {
  it("has the key and the version, and nothing that was not asked for", async () => {
    const { method, path, headers, body } = await sent(plain);
    assert.equal(`${method} ${path}`, "POST /v1/messages");
    assert.equal(headers["x-api-key"], "sk-test-1234567890");
    assert.equal(headers["anthropic-version"], "2023-06-01");
    assert.equal(headers.authorization, undefined);
    assert.deepEqual(body, {
      model: "claude-sonnet-4-5",
      max_tokens: 100,
      messages: [{ role: "user", content: [{ type: "text", text: "Hello?" }] }],
    });
  });

  it("has the sample's settings under Anthropic's names", async () => {
    const { body } = await sent({
      ...plain,
      systemPrompt: "Be brief.",
      temperature: 0.5,
      stopSequences: ["END"],
    });
    assert.deepEqual(body.system, [{ type: "text", text: "Be brief." }]);
    assert.equal(body.temperature, 0.5);
    assert.deepEqual(body.stop_sequences, ["END"]);
  });

  it("has images, calls and results in their places, and no empty message", async () => {
    const { body } = await sent({ ...tools, messages: conversation });
    assert.deepEqual(body.messages, [
      {
        role: "user",
        content: [
          { type: "text", text: "Look:" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Hm." },
          { type: "tool_use", id: "a1", name: "attack", input: { cell: 4 } },
          { type: "tool_use", id: "d1", name: "defend", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a1", content: "done" },
          { type: "tool_result", tool_use_id: "d1", content: "no", is_error: true },
          { type: "text", text: "And now?" },
        ],
      },
    ]);
  });

  it("has a result's images inside the result", async () => {
    const { body } = await sent({
      ...tools,
      messages: [
        user("Look."),
        { role: "assistant", content: [{ type: "tool_use", id: "t", name: "look", input: {} }] },
        {
          role: "user",
          content: [{
            type: "tool_result",
            toolUseId: "t",
            content: [
              { type: "text", text: "Here:" },
              { type: "image", data: "BBBB", mimeType: "image/png" },
            ],
          }],
        },
      ],
    });
    assert.deepEqual(body.messages[2].content[0].content, [
      { type: "text", text: "Here:" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "BBBB" } },
    ]);
  });

  it("has the tools and the tool choice", async () => {
    for (const [mode, type] of [["auto", "auto"], ["required", "any"], ["none", "none"]] as const) {
      const { body } = await sent({ ...tools, toolChoice: { mode } });
      assert.deepEqual(body.tools, [
        { name: "attack", description: "Attacks.", input_schema: CELL },
        { name: "defend", input_schema: { type: "object", properties: {} } },
      ]);
      assert.deepEqual(body.tool_choice, { type });
    }
  });

  it("asks for data with one forced call of __schema__", async () => {
    const { body } = await sent(data);
    assert.deepEqual(body.tools, [
      { name: "__schema__", description: "Answer by calling this tool.", input_schema: CELL },
    ]);
    assert.deepEqual(body.tool_choice, {
      type: "tool",
      name: "__schema__",
      disable_parallel_tool_use: true,
    });
    assert.equal(body.output_format, undefined);
  });

  it("asks models too that cannot be forced to call a tool", async () => {
    const { body } = await sent(data, "anthropic:claude-opus-5-5");
    assert.equal(body.tools[0].name, "__schema__");
    assert.equal(body.tool_choice.type, "auto");
  });

  it("declares the tools of the conversation if none are offered now", async () => {
    const { body } = await sent({ ...plain, messages: conversation });
    assert.deepEqual(body.tools, [
      { name: "attack", input_schema: { type: "object" } },
      { name: "defend", input_schema: { type: "object" } },
    ]);
    assert.deepEqual(body.tool_choice, { type: "none" });
  });
});

describe("Anthropic's response", () => {
  it("becomes text, with the stop reason", async () => {
    for (
      const [reason, stopReason] of [
        ["end_turn", "endTurn"],
        ["max_tokens", "maxTokens"],
        ["stop_sequence", "stopSequence"],
        ["refusal", "refusal"],
        ["pause_turn", "endTurn"],
      ] as const
    ) {
      assert.deepEqual(await back(plain, [said("hi")], reason), {
        content: [said("hi")],
        stopReason,
      });
    }
  });

  it("becomes the call of __schema__ if data was asked for", async () => {
    const use = { type: "tool_use", id: "toolu_1", name: "__schema__", input: { cell: 4 } };
    assert.deepEqual(await back(data, [said("Here."), use], "tool_use"), {
      content: [said("Here."), use],
      stopReason: "toolUse",
    });
  });

  it("becomes all calls, offered or not, without the model's thinking", async () => {
    const uses = ["attack", "fly"].map((name, n) => ({
      type: "tool_use",
      id: `toolu_${n}`,
      name,
      input: {},
    }));
    const thought = { type: "thinking", thinking: "hm", signature: "s" };
    assert.deepEqual(await back(tools, [thought, ...uses], "tool_use"), {
      content: uses,
      stopReason: "toolUse",
    });
  });

  it("becomes empty content if the model says nothing", async () => {
    assert.deepEqual(await back(data, [], "end_turn"), { content: [], stopReason: "endTurn" });
  });

  it("does not become a call if the call is cut off", async () => {
    const half = { type: "tool_use", id: "toolu_1", name: "__schema__", input: {} };
    const { stopReason } = await back(data, [half], "max_tokens") as { stopReason: string };
    assert.equal(stopReason, "maxTokens");
  });
});

describe("audio for Anthropic", () => {
  it("is refused before anything is sent", async () => {
    await withModel(NAME, [OK], async ({ model, provider }) => {
      const sound = { type: "audio" as const, data: "AAAA", mimeType: "audio/wav" };
      const messages = [{ role: "user" as const, content: [sound] }];
      await assert.rejects(ask(provider, { ...plain, messages }), { code: "PARLEY_SAMPLE" });
      assert.equal(model.received.length, 0);
    });
  });
});
