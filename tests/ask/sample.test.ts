import assert from "node:assert/strict";
import {
  CapabilityError,
  createMcpTool,
  type McpMessage,
  type McpToolContext,
  type McpToolLimits,
  type McpToolSampleConfig,
  McpToolTokenError,
  SampleError,
  type SampleRequest,
  type SampleResponse,
  testTool,
  type ToolScript,
} from "../../src/mod.ts";
import type { Operation } from "effection";
import { describe, it } from "../suite.ts";

type Body = (ctx: McpToolContext) => Operation<unknown>;

/** Runs a tool with this body; returns its run and the requests to the model. */
async function sampling(body: Body, script: ToolScript, limits: McpToolLimits = {}) {
  const tool = createMcpTool("sampling").description("Asks the model.").limits(limits)
    .execute(function* (_params, ctx) {
      return (yield* body(ctx)) as string;
    });
  const run = await testTool(tool, {}, script as ToolScript<Record<never, never>>);
  const asked = run.events.flatMap((event): SampleRequest["params"][] =>
    event.type === "sample_request" ? [event.params] : []
  );
  return { run, asked };
}

const user = (text: string): McpMessage => ({ role: "user", content: [{ type: "text", text }] });
const model = (text: string): McpMessage => ({
  role: "assistant",
  content: [{ type: "text", text }],
});

function answer(part: Partial<SampleResponse>): SampleResponse {
  return { role: "assistant", content: { type: "text", text: "hi" }, model: "m-1", ...part };
}

describe("ctx.sample()", () => {
  it("returns what the model said, and the exchange", async () => {
    let seen: unknown;
    await sampling(function* (ctx) {
      seen = yield* ctx.sample({ prompt: "Hello?" });
    }, { sample: answer({ stopReason: "endTurn" }) });
    assert.deepEqual(seen, {
      text: "hi",
      model: "m-1",
      via: "client",
      stopReason: "endTurn",
      exchange: {
        request: user("Hello?"),
        response: model("hi"),
        messages: [user("Hello?"), model("hi")],
      },
    });
  });

  it("continues the conversation of its branch when given a prompt", async () => {
    let left: readonly McpMessage[] = [];
    const { asked } = await sampling(function* (ctx) {
      yield* ctx.sample({ prompt: "one" });
      yield* ctx.sample({ prompt: "two" });
      left = ctx.messages;
    }, { sample: ["1", "2"] });
    assert.deepEqual(asked.map(({ messages }) => messages), [
      [user("one")],
      [user("one"), model("1"), user("two")],
    ]);
    assert.deepEqual(left, [user("one"), model("1"), user("two"), model("2")]);
  });

  it("leaves the conversation alone when given messages", async () => {
    const { asked } = await sampling(function* (ctx) {
      yield* ctx.sample({ prompt: "one" });
      yield* ctx.sample({ messages: [user("a"), model("b"), user("c")] });
      assert.deepEqual(ctx.messages, [user("one"), model("x")]);
    }, { sample: "x" });
    assert.deepEqual(asked[1]!.messages, [user("a"), model("b"), user("c")]);
  });

  it("accepts messages whose content is a string or a single block", async () => {
    let exchange: unknown;
    const { asked } = await sampling(function* (ctx) {
      const messages = [
        { role: "user", content: "a" },
        { role: "assistant", content: { type: "text", text: "b" } },
      ] as const;
      exchange = (yield* ctx.sample({ messages })).exchange.messages;
    }, { sample: "x" });
    assert.deepEqual(asked[0]!.messages, [user("a"), model("b")]);
    assert.deepEqual(exchange, [user("a"), model("x")], "the request is the user's last message");
  });

  it("sends maxTokens 4096 and no other option by default", async () => {
    const { asked } = await sampling(function* (ctx) {
      yield* ctx.sample({ prompt: "?" });
    }, { sample: "x" });
    assert.deepEqual(asked, [{ messages: [user("?")], maxTokens: 4096 }]);
  });

  it("passes every option on", async () => {
    const told = {
      systemPrompt: "Be brief.",
      maxTokens: 10,
      temperature: 0,
      stopSequences: ["."],
      modelPreferences: { hints: [{ name: "small" }], costPriority: 1 },
    };
    const { asked } = await sampling(function* (ctx) {
      yield* ctx.sample({ prompt: "?", ...told });
    }, { sample: "x" });
    assert.deepEqual(asked, [{ messages: [user("?")], ...told }]);
  });

  it("reads answers that are a string, one block or several", async () => {
    const contents: SampleResponse["content"][] = [
      "ab",
      { type: "text", text: "ab" },
      [{ type: "text", text: "a" }, { type: "text", text: "b" }],
      [{ type: "text", text: "ab" }, { type: "image", data: "AA==", mimeType: "image/png" }],
    ];
    for (const content of contents) {
      const { run } = await sampling(function* (ctx) {
        const { text, exchange } = yield* ctx.sample({ prompt: "?" });
        assert.ok(Array.isArray(exchange.response.content));
        assert.equal(exchange.response.role, "assistant");
        return text;
      }, { sample: answer({ content, role: "user" }) });
      assert.equal(run.text, "ab");
    }
  });
});

const circular = { role: "user", content: [{ type: "text", text: "a", _meta: {} }] };
circular.content[0]!._meta = { circular };

describe("ctx.sample() with a request that cannot be sent", () => {
  const broken = (config: unknown) =>
    sampling((ctx) => ctx.sample(config as McpToolSampleConfig), { sample: "x" });

  it("throws before anything is sent", async () => {
    for (
      const config of [
        undefined,
        {},
        { prompt: "a", messages: [user("b")] },
        { messages: [] },
        { messages: [model("a")] },
        { messages: [user("a"), circular] },
        { prompt: "a", maxTokens: NaN },
        { prompt: "a", maxTokens: -1 },
      ]
    ) {
      const { run, asked } = await broken(config);
      assert.ok(run.faults[0] instanceof TypeError, String(run.faults[0]));
      assert.equal(asked.length, 0);
    }
  });

  it("throws a CapabilityError if the client has no sampling", async () => {
    const { run, asked } = await sampling(function* (ctx) {
      try {
        return (yield* ctx.sample({ prompt: "?" })).text;
      } catch (error) {
        if (!(error instanceof CapabilityError)) throw error;
        return `${error.capability} ${error.clientName}`;
      }
    }, { client: { name: "Acme", capabilities: { elicitation: {} } }, sample: "x" });
    assert.equal(run.text, "sampling Acme");
    assert.equal(asked.length, 0);
  });

  it("reports that to the model if the tool does not catch it", async () => {
    const { run } = await sampling((ctx) => ctx.sample({ prompt: "?" }), {
      client: { name: "Acme", capabilities: {} },
    });
    assert.equal(run.result.isError, true);
    assert.match(run.text, /Acme/);
  });
});

describe("ctx.sample() with an answer that cannot be used", () => {
  const caught: Body = function* (ctx) {
    try {
      return (yield* ctx.sample({ prompt: "?" })).text;
    } catch (error) {
      if (!(error instanceof SampleError)) throw error;
      assert.deepEqual(ctx.messages, [], "and is no part of the conversation");
      return error.code;
    }
  };

  it("throws a SampleError if the client refused or failed", async () => {
    const { run } = await sampling(caught, { sample: { error: { code: -1, message: "denied" } } });
    assert.equal(run.text, "PARLEY_SAMPLE");
  });

  it("throws a SampleError if the answer is malformed", async () => {
    const malformed: unknown[] = [
      {},
      { role: "assistant", model: "m" },
      answer({ content: null as unknown as string }),
      answer({ content: 5 as unknown as string }),
      answer({ content: [null] as unknown as string }),
      answer({ content: ["text"] as unknown as string }),
      answer({ content: { text: "no type" } as unknown as string }),
      answer({ content: { type: "text" } as unknown as string }),
      answer({ model: undefined as unknown as string }),
      7,
      [],
    ];
    for (const sample of malformed) {
      const { run } = await sampling(caught, { sample: () => sample as SampleResponse });
      assert.equal(run.text, "PARLEY_SAMPLE", JSON.stringify(sample));
    }
  });
});

describe("a tool's maxTokens", () => {
  it("limits what a sample asks for, then refuses", async () => {
    const used: unknown[] = [];
    const { run, asked } = await sampling(
      function* (ctx) {
        yield* ctx.sample({ prompt: "1", maxTokens: 50 });
        yield* ctx.sample({ prompt: "2", maxTokens: 50 });
        try {
          yield* ctx.sample({ prompt: "3", maxTokens: 1 });
        } catch (error) {
          if (!(error instanceof McpToolTokenError)) throw error;
          used.push(error.code, error.used, error.maxTokens);
          return "refused";
        }
        return "";
      },
      { sample: answer({ usage: { outputTokens: 40 } }) },
      { maxTokens: 70 },
    );
    assert.equal(run.text, "refused");
    assert.deepEqual(asked.map(({ maxTokens }) => maxTokens), [50, 30]);
    assert.deepEqual(used, ["PARLEY_TOKENS", 80, 70]);
  });

  it("refuses at once if nothing may be spent", async () => {
    const { run, asked } = await sampling((ctx) => ctx.sample({ prompt: "?" }), { sample: "x" }, {
      maxTokens: 0,
    });
    assert.equal(run.result.isError, true);
    assert.equal(asked.length, 0);
  });

  it("is estimated if the answer has no token count or a nonsensical one", async () => {
    const counts: unknown[] = [undefined, {}, { outputTokens: -5 }, { outputTokens: NaN }, {
      outputTokens: "9",
    }];
    for (const usage of counts) {
      const sample = answer({ content: "x".repeat(40), usage: usage as { outputTokens: number } });
      const { asked } = await sampling(
        function* (ctx) {
          yield* ctx.sample({ prompt: "1" });
          yield* ctx.sample({ prompt: "2" });
        },
        { sample },
        { maxTokens: 25 },
      );
      assert.deepEqual(asked.map(({ maxTokens }) => maxTokens), [25, 15], JSON.stringify(usage));
    }
  });
});
