import assert from "node:assert/strict";
import type { SampleParams } from "../../src/mod.ts";
import { describe, it } from "../suite.ts";
import { type Received, type Reply, withModel } from "./fake-model.ts";
import {
  ask,
  call,
  CELL,
  conversation,
  data,
  openaiAnswer,
  openaiCall,
  plain,
  said,
  tools,
  withoutIds,
} from "./samples.ts";

const OK: Reply = { json: openaiAnswer({ content: "hi" }) };
const usage = { inputTokens: 21, outputTokens: 9 };
const model = "gpt-4o-2024-08-06";

/** The request body for a sample. */
async function sent(params: SampleParams, name = "openai:gpt-4o"): Promise<Received> {
  let received: Received | undefined;
  await withModel(name, [OK], async (setting) => {
    await ask(setting.provider, params);
    received = setting.model.received[0];
  });
  return received!;
}

/** The answer to a sample for this response. */
async function back(params: SampleParams, json: object): Promise<unknown> {
  let response: unknown;
  await withModel("openai:gpt-4o", [{ json }], async ({ provider }) => {
    response = withoutIds(await ask(provider, params));
  });
  return response;
}

describe("the request to OpenAI", () => {
  it("uses Chat Completions with the key, and has nothing that was not asked for", async () => {
    const { method, path, headers, body } = await sent(plain);
    assert.equal(`${method} ${path}`, "POST /v1/chat/completions");
    assert.equal(headers.authorization, "Bearer sk-test-1234567890");
    assert.equal(headers["content-type"], "application/json");
    assert.deepEqual(body, {
      model: "gpt-4o",
      max_tokens: 100,
      messages: [{ role: "user", content: "Hello?" }],
    });
  });

  it("has the sample's settings under OpenAI's names", async () => {
    const { body } = await sent({
      ...plain,
      systemPrompt: "Be brief.",
      temperature: 0,
      stopSequences: ["END", "."],
    });
    assert.deepEqual(body, {
      model: "gpt-4o",
      max_tokens: 100,
      temperature: 0,
      stop: ["END", "."],
      messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "Hello?" }],
    });
  });

  it("is adapted to reasoning models", async () => {
    const { body } = await sent(
      { ...plain, systemPrompt: "Be brief.", temperature: 1 },
      "openai:gpt-5",
    );
    assert.deepEqual(body, {
      model: "gpt-5",
      max_completion_tokens: 100,
      messages: [{ role: "developer", content: "Be brief." }, { role: "user", content: "Hello?" }],
    });
  });

  it("has images, calls and results in their places, and no empty message", async () => {
    const { body } = await sent({ ...plain, messages: conversation });
    assert.deepEqual(body.messages, [
      {
        role: "user",
        content: [
          { type: "text", text: "Look:" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        ],
      },
      {
        role: "assistant",
        content: "Hm.",
        tool_calls: [
          { id: "a1", type: "function", function: { name: "attack", arguments: '{"cell":4}' } },
          { id: "d1", type: "function", function: { name: "defend", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "a1", content: "done" },
      { role: "tool", tool_call_id: "d1", content: '{"error":"no"}' },
      { role: "user", content: "And now?" },
    ]);
  });

  it("has audio, and a result's images after the result", async () => {
    const { body } = await sent({
      ...plain,
      messages: [
        {
          role: "user",
          content: [{ type: "audio", data: "UklGRg==", mimeType: "audio/wav" }],
        },
        { role: "assistant", content: [{ type: "tool_use", id: "t", name: "look", input: {} }] },
        {
          role: "user",
          content: [{
            type: "tool_result",
            toolUseId: "t",
            content: [
              { type: "image", data: "BBBB", mimeType: "image/jpeg" },
              { type: "resource_link", uri: "file:///a", name: "a" },
              { type: "resource", resource: { uri: "file:///b", text: "B" } },
            ],
          }],
        },
      ],
    });
    assert.deepEqual(body.messages[0].content, [
      { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
    ]);
    assert.deepEqual(body.messages.slice(2), [
      { role: "tool", tool_call_id: "t", content: "a: file:///a\nB" },
      {
        role: "user",
        content: [{ type: "image_url", image_url: { url: "data:image/jpeg;base64,BBBB" } }],
      },
    ]);
  });

  it("has the tools and the tool choice", async () => {
    const offered = [
      {
        type: "function",
        function: { name: "attack", description: "Attacks.", parameters: CELL },
      },
      {
        type: "function",
        function: { name: "defend", parameters: { type: "object", properties: {} } },
      },
    ];
    for (const mode of ["auto", "required", "none"] as const) {
      const { body } = await sent({ ...tools, toolChoice: { mode } });
      assert.deepEqual(body.tools, offered);
      assert.equal(body.tool_choice, mode);
      assert.equal(body.response_format, undefined);
    }
  });

  it("asks for data with response_format, strict if the schema allows it", async () => {
    const { body } = await sent(data);
    assert.equal(body.tools, undefined);
    assert.equal(body.tool_choice, undefined);
    assert.deepEqual(body.response_format, {
      type: "json_schema",
      json_schema: {
        name: "answer",
        strict: true,
        schema: { ...CELL, additionalProperties: false },
      },
    });
    const loose = { type: "object", properties: { note: { type: "string" } } };
    const other = await sent({ ...data, tools: [{ name: "__schema__", inputSchema: loose }] });
    assert.deepEqual(other.body.response_format, {
      type: "json_schema",
      json_schema: { name: "answer", strict: false, schema: loose },
    });
  });

  it("has no key for a server that needs none", async () => {
    await withModel("openai-compatible:qwen3", [OK], async ({ model, provider }) => {
      assert.equal(provider.name, "openai-compatible:qwen3");
      await ask(provider, plain);
      assert.equal(model.received[0]!.headers.authorization, undefined);
      assert.equal(model.received[0]!.path, "/v1/chat/completions");
      assert.equal(model.received[0]!.body.model, "qwen3");
    }, {});
  });
});

describe("OpenAI's response", () => {
  it("becomes text, with the model, the stop reason and the tokens", async () => {
    assert.deepEqual(await back(plain, openaiAnswer({ content: "hi" })), {
      role: "assistant",
      content: [said("hi")],
      model,
      stopReason: "endTurn",
      usage,
    });
    assert.deepEqual(await back(plain, openaiAnswer({ content: "h" }, "length")), {
      role: "assistant",
      content: [said("h")],
      model,
      stopReason: "maxTokens",
      usage,
    });
  });

  it("becomes a call of __schema__ if data was asked for", async () => {
    assert.deepEqual(await back(data, openaiAnswer({ content: '{"cell":4}' })), {
      role: "assistant",
      content: [call("__schema__", { cell: 4 })],
      model,
      stopReason: "toolUse",
      usage,
    });
  });

  it("becomes text if it is not data after all", async () => {
    for (
      const [message, reason, stopReason] of [
        [{ content: "I would pick 4." }, "stop", "endTurn"],
        [{ content: '{"cell":' }, "length", "maxTokens"],
        [{ content: "[4]" }, "stop", "endTurn"],
        [{ content: "" }, "stop", "endTurn"],
        [{ content: null }, "stop", "endTurn"],
        [{ content: "no" }, "content_filter", "refusal"],
      ] as const
    ) {
      assert.deepEqual(await back(data, openaiAnswer(message, reason)), {
        role: "assistant",
        content: message.content ? [said(message.content)] : [],
        model,
        stopReason,
        usage,
      });
    }
  });

  it("becomes a refusal if the model refuses", async () => {
    const refusal = openaiAnswer({ content: null, refusal: "I cannot help with that." });
    const response = await back(data, refusal) as { content: unknown; stopReason: string };
    assert.deepEqual(response.content, [said("I cannot help with that.")]);
    assert.equal(response.stopReason, "refusal");
  });

  it("becomes one or several calls, offered or not", async () => {
    const calls = [
      openaiCall("attack", '{"cell":4}', "c1"),
      openaiCall("fly", "", "c2"),
    ];
    await withModel(
      "openai:gpt-4o",
      [{ json: openaiAnswer({ tool_calls: calls }, "tool_calls") }],
      async ({ provider }) => {
        assert.deepEqual(await ask(provider, tools), {
          role: "assistant",
          content: [
            { type: "tool_use", id: "c1", name: "attack", input: { cell: 4 } },
            { type: "tool_use", id: "c2", name: "fly", input: {} },
          ],
          model,
          stopReason: "toolUse",
          usage,
        });
      },
    );
  });

  it("becomes text if a call is cut off or broken", async () => {
    const half = openaiAnswer({ tool_calls: [openaiCall("attack", '{"cell":')] }, "length");
    assert.deepEqual(await back(tools, half), {
      role: "assistant",
      content: [said('attack({"cell":)')],
      model,
      stopReason: "maxTokens",
      usage,
    });
  });

  it("has no token count if the server sends none", async () => {
    const { usage: _usage, ...uncounted } = openaiAnswer({ content: "hi" }) as { usage: unknown };
    assert.deepEqual((await back(plain, uncounted) as { usage: unknown }).usage, {});
  });
});

describe("audio in a format that Chat Completions does not support", () => {
  it("is refused before anything is sent", async () => {
    await withModel("openai:gpt-4o", [OK], async ({ model, provider }) => {
      const messages = [...plain.messages, {
        role: "user" as const,
        content: [{ type: "audio" as const, data: "AAAA", mimeType: "audio/midi" }],
      }];
      await assert.rejects(ask(provider, { ...plain, messages }), { code: "PARLEY_SAMPLE" });
      assert.equal(model.received.length, 0);
    });
  });
});
