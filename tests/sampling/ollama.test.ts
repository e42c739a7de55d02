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
  ollamaAnswer,
  plain,
  said,
  tools,
  withoutIds,
} from "./samples.ts";

const OK: Reply = { json: ollamaAnswer({ content: "hi" }) };
const NAME = "ollama:llama3.3";

/** The request body for a sample. */
async function sent(params: SampleParams): Promise<Received> {
  let received: Received | undefined;
  await withModel(NAME, [OK], async (setting) => {
    await ask(setting.provider, params);
    received = setting.model.received[0];
  }, {});
  return received!;
}

/** The answer to a sample for this response: content and stop reason. */
async function back(params: SampleParams, message: object, reason?: string): Promise<unknown> {
  let response: unknown;
  await withModel(NAME, [{ json: ollamaAnswer(message, reason) }], async ({ provider }) => {
    const answer = await ask(provider, params);
    assert.equal(answer.model, "llama3.3");
    assert.deepEqual(answer.usage, { inputTokens: 21, outputTokens: 9 });
    const { content } = withoutIds(answer) as { content: unknown };
    response = { content, stopReason: answer.stopReason };
  }, {});
  return response;
}

describe("the request to Ollama", () => {
  it("has no stream, no key, and nothing that was not asked for", async () => {
    const { method, path, headers, body } = await sent(plain);
    assert.equal(`${method} ${path}`, "POST /api/chat");
    assert.equal(headers.authorization, undefined);
    assert.deepEqual(body, {
      model: "llama3.3",
      stream: false,
      messages: [{ role: "user", content: "Hello?" }],
      options: { num_predict: 100 },
    });
  });

  it("has the sample's settings under Ollama's names", async () => {
    const { body } = await sent({
      ...plain,
      systemPrompt: "Be brief.",
      temperature: 0,
      stopSequences: ["END"],
    });
    assert.deepEqual(body.messages[0], { role: "system", content: "Be brief." });
    assert.deepEqual(body.options, { num_predict: 100, temperature: 0, stop: ["END"] });
  });

  it("has images, calls and results in their places, and no empty message", async () => {
    const { body } = await sent({ ...plain, messages: conversation });
    assert.deepEqual(body.messages, [
      { role: "user", content: "Look:", images: ["AAAA"] },
      {
        role: "assistant",
        content: "Hm.",
        tool_calls: [
          { function: { name: "attack", arguments: { cell: 4 } } },
          { function: { name: "defend", arguments: {} } },
        ],
      },
      { role: "tool", tool_name: "attack", content: "done" },
      { role: "tool", tool_name: "defend", content: "no" },
      { role: "user", content: "And now?" },
    ]);
  });

  it("has the tools, and says in text that one must be called", async () => {
    const { body } = await sent({ ...tools, systemPrompt: "Be brief." });
    assert.deepEqual(body.tools, [
      { type: "function", function: { name: "attack", description: "Attacks.", parameters: CELL } },
      {
        type: "function",
        function: { name: "defend", parameters: { type: "object", properties: {} } },
      },
    ]);
    assert.match(body.messages[0].content, /^Be brief\.\n\nAnswer by calling one of the tools/);
    assert.equal(body.format, undefined);
    const free = await sent({ ...tools, toolChoice: { mode: "auto" } });
    assert.equal(free.body.messages[0].role, "user");
    const none = await sent({ ...tools, toolChoice: { mode: "none" } });
    assert.equal(none.body.tools, undefined);
  });

  it("asks for data with Ollama's format, and also in text", async () => {
    const { body } = await sent(data);
    assert.deepEqual(body.format, CELL);
    assert.equal(body.tools, undefined);
    assert.equal(body.messages[0].role, "system");
    assert.ok(body.messages[0].content.includes(JSON.stringify(CELL)));
  });

  it("has the key if one is configured", async () => {
    await withModel(NAME, [OK], async ({ model, provider }) => {
      await ask(provider, plain);
      assert.equal(model.received[0]!.headers.authorization, "Bearer secret-key-1");
    }, { apiKey: "secret-key-1" });
  });
});

describe("Ollama's response", () => {
  it("becomes text, with the stop reason", async () => {
    assert.deepEqual(await back(plain, { content: "hi", thinking: "hm" }), {
      content: [said("hi")],
      stopReason: "endTurn",
    });
    assert.deepEqual(await back(plain, { content: "h" }, "length"), {
      content: [said("h")],
      stopReason: "maxTokens",
    });
  });

  it("becomes a call of __schema__ if data was asked for", async () => {
    assert.deepEqual(await back(data, { content: '{"cell":4}' }), {
      content: [call("__schema__", { cell: 4 })],
      stopReason: "toolUse",
    });
  });

  it("becomes text if it is not data after all", async () => {
    for (const content of ["I pick 4", "[4]", '{"cell":']) {
      assert.deepEqual(await back(data, { content }), {
        content: [said(content)],
        stopReason: "endTurn",
      });
    }
    assert.deepEqual(await back(data, { content: '{"cell":4}' }, "length"), {
      content: [said('{"cell":4}')],
      stopReason: "maxTokens",
    });
    assert.deepEqual(await back(data, {}), { content: [], stopReason: "endTurn" });
  });

  it("becomes all calls, offered or not, with our own ids", async () => {
    const tool_calls = [
      { function: { name: "attack", arguments: { cell: 4 } } },
      { function: { name: "fly", arguments: {} } },
      { function: { name: "defend", arguments: "garbage" } },
      { function: {} },
    ];
    assert.deepEqual(await back(tools, { tool_calls }), {
      content: [call("attack", { cell: 4 }), call("fly", {}), said('defend("garbage")')],
      stopReason: "toolUse",
    });
    await withModel(NAME, [{ json: ollamaAnswer({ tool_calls }) }], async ({ provider }) => {
      const { content } = await ask(provider, tools);
      const ids = (content as { id?: string }[]).flatMap(({ id }) => id ?? []);
      assert.equal(new Set(ids).size, 2);
    }, {});
  });
});

describe("audio for Ollama", () => {
  it("is refused before anything is sent", async () => {
    await withModel(NAME, [OK], async ({ model, provider }) => {
      const sound = { type: "audio" as const, data: "AAAA", mimeType: "audio/wav" };
      const messages = [{ role: "user" as const, content: [sound] }];
      await assert.rejects(ask(provider, { ...plain, messages }), { code: "PARLEY_SAMPLE" });
      assert.equal(model.received.length, 0);
    }, {});
  });
});
