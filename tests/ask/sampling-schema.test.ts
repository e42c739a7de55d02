import assert from "node:assert/strict";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import {
  type McpToolContext,
  McpToolTokenError,
  SampleError,
  SampleValidationError,
  type SchemaInput,
} from "../../src/mod.ts";
import { describe, it } from "../suite.ts";
import { calls, data, model, results, sampling, use, user, wordsOf } from "./sampling-kit.ts";

const Move = z.object({ cell: z.number().min(0).max(8), why: z.string().optional() });

describe("ctx.sample() with a schema", () => {
  it("asks for a call of __schema__, and nothing else", async () => {
    const { asked } = await sampling((ctx) => ctx.sample({ prompt: "Move!", schema: Move }), {
      sample: data({ cell: 4 }),
    });
    assert.equal(asked.length, 1);
    const [{ messages, tools, toolChoice, maxTokens, systemPrompt }] = asked as [typeof asked[0]];
    assert.deepEqual(messages, [user("Move!")]);
    assert.equal(maxTokens, 4096);
    assert.equal(systemPrompt, undefined);
    assert.deepEqual(toolChoice, { mode: "required" });
    assert.deepEqual(tools?.map(({ name }) => name), ["__schema__"]);
    assert.deepEqual(tools?.[0]?.inputSchema, z.toJSONSchema(Move, { io: "input" }));
  });

  it("returns the data, and an exchange of three messages that holds it once", async () => {
    const { value } = await sampling((ctx) => ctx.sample({ prompt: "Move!", schema: Move }), {
      sample: data({ cell: 4 }, "u7"),
    });
    const request = user("Move!");
    const toolUse = { role: "assistant", content: [use("__schema__", { cell: 4 }, "u7")] };
    assert.deepEqual(value, {
      text: "",
      model: "m-1",
      via: "client",
      stopReason: "toolUse",
      parsed: { cell: 4 },
      exchange: {
        request,
        response: toolUse,
        messages: [request, toolUse, results("ok", false, "u7")],
        parsed: { cell: 4 },
      },
    });
    assert.equal(JSON.stringify(value.exchange.messages).match(/"cell"/g)?.length, 1);
  });

  it("returns the reason if there is no data, after one attempt", async () => {
    for (
      const [answer, rawText] of [
        [data({ cell: 9 }), '{"cell":9}'],
        ["Here's my move: {invalid json", "Here's my move: {invalid json"],
        ["I would rather not.", "I would rather not."],
        [calls(), ""],
        [calls(use("fly", { cell: 4 })), '{"cell":4}'],
      ] as const
    ) {
      const { value, asked } = await sampling(
        (ctx) => ctx.sample({ prompt: "Move!", schema: Move }),
        { sample: answer },
      );
      assert.equal(asked.length, 1);
      assert.equal(value.parsed, null);
      assert.equal(value.parseError?.rawText, rawText);
      assert.notEqual(value.parseError?.message, "");
      assert.equal("parsed" in value.exchange, false);
    }
  });

  it("leaves a conversation that can continue, with or without data", async () => {
    for (
      const answer of [data({ cell: 4 }), data({ cell: 9 }), "no", calls(), calls(use("x", {}))]
    ) {
      const { value, asked } = await sampling(function* (ctx) {
        yield* ctx.sample({ prompt: "1", schema: Move });
        yield* ctx.sample({ prompt: "2" });
        yield* ctx.sample({ prompt: "3" });
        return ctx.messages.length;
      }, { sample: (_request, nth) => nth === 0 ? answer : "fine" });
      assert.equal(asked.length, 3);
      assert.ok(value >= 6);
      // No empty content is sent, whatever the model said.
      for (const { messages } of asked) assert.ok(messages.every((it) => it.content.length > 0));
    }
  });

  it("reads the data from text if the model wrote it there", async () => {
    for (
      const answer of [
        '{"cell": 4}',
        'Sure!\n```json\n{"cell": 4}\n```\nGood luck.',
        'As shown in [1], I play {"cell": 4}.',
        '{"tool": "__schema__", "arguments": {"cell": 4}}',
      ]
    ) {
      const { value } = await sampling((ctx) => ctx.sample({ prompt: "?", schema: Move }), {
        sample: answer,
      });
      assert.deepEqual(value.parsed, { cell: 4 }, answer);
      assert.equal(value.exchange.messages.length, 3);
    }
  });

  it("refuses an invalid schema before anything is sent", async () => {
    for (const schema of [null, 5, "object", []]) {
      const { error, asked } = await sampling(
        (ctx) => ctx.sample({ prompt: "?", schema: schema as never }),
        { sample: "x" },
      );
      assert.ok(error instanceof TypeError, String(error));
      assert.equal(asked.length, 0);
    }
  });

  it("cannot be combined with tools", async () => {
    const config = { prompt: "?", schema: Move, tools: [] } as never;
    for (
      const body of [
        (ctx: McpToolContext) => ctx.sample(config),
        (ctx: McpToolContext) => ctx.sampleSchema(config),
        (ctx: McpToolContext) => ctx.sampleTools(config),
      ]
    ) {
      const { error, asked } = await sampling<unknown>(body, { sample: "x" });
      assert.equal(
        (error as Error).message,
        "Cannot specify both schema and tools in sample config - they are mutually exclusive",
      );
      assert.equal(asked.length, 0);
    }
  });
});

describe("ctx.sampleSchema()", () => {
  it("returns data that the schema has parsed", async () => {
    const schema = z.object({
      day: z.iso.date().transform((day) => day.length),
      n: z.int().default(3),
    });
    const { value } = await sampling((ctx) => ctx.sampleSchema({ prompt: "?", schema }), {
      sample: data({ day: "2026-11-16" }),
    });
    assert.deepEqual(value.parsed, { day: 10, n: 3 });
    assert.deepEqual(value.exchange.parsed, { day: 10, n: 3 });
    // The history holds what the model said, not what the schema parsed.
    assert.deepEqual(value.exchange.response.content, [use("__schema__", { day: "2026-11-16" })]);
  });

  it("makes three attempts by default, and says each time what was wrong", async () => {
    const { value, asked } = await sampling(
      (ctx) => ctx.sampleSchema({ prompt: "Move!", schema: Move }),
      { sample: [data({ cell: 9 }, "a"), "I pick the middle.", data({ cell: 4 }, "c")] },
    );
    assert.deepEqual(value.parsed, { cell: 4 });
    const [first, second, third] = asked.map(({ messages }) => messages);
    assert.deepEqual(first, [user("Move!")]);
    assert.deepEqual(second?.slice(0, 2), [
      user("Move!"),
      { role: "assistant", content: [use("__schema__", { cell: 9 }, "a")] },
    ]);
    // A call gets a tool result with the reason.
    const reproach = second![2]!.content[0]!;
    assert.equal(reproach.type, "tool_result");
    assert.ok(reproach.type === "tool_result" && reproach.isError && reproach.toolUseId === "a");
    assert.match(wordsOf(second![2]!), /"cell"/);
    // Text gets a text message.
    assert.deepEqual(third?.slice(0, 4), [...second!, model("I pick the middle.")]);
    assert.equal(third![4]!.content[0]!.type, "text");
    assert.match(wordsOf(third![4]!), /no JSON/);
  });

  it("keeps only the successful attempt in the conversation", async () => {
    const { value } = await sampling(function* (ctx) {
      const { exchange } = yield* ctx.sampleSchema({ prompt: "Move!", schema: Move });
      return { exchange, messages: ctx.messages };
    }, { sample: [data({ cell: 9 }, "a"), data({ cell: 4 }, "b")] });
    const kept = [
      user("Move!"),
      { role: "assistant", content: [use("__schema__", { cell: 4 }, "b")] },
      results("ok", false, "b"),
    ];
    assert.deepEqual(value.exchange.messages, kept);
    assert.deepEqual(value.exchange.request, user("Move!"));
    assert.deepEqual(value.messages, kept);
  });

  it("throws an error with all details of the last attempt", async () => {
    for (const [retries, attempts] of [[undefined, 3], [0, 1], [5, 6]] as const) {
      const { error, asked } = await sampling(
        (ctx) =>
          ctx.sampleSchema({
            prompt: "?",
            schema: Move,
            ...(retries !== undefined && { retries }),
          }),
        { sample: { role: "assistant", content: "no", model: "m-9", stopReason: "endTurn" } },
      );
      assert.ok(error instanceof SampleValidationError);
      assert.equal(error.code, "PARLEY_SAMPLE_VALIDATION");
      assert.equal(error.method, "sampleSchema");
      assert.equal(error.attempts, attempts);
      assert.deepEqual(error.lastResult, {
        text: "no",
        model: "m-9",
        via: "client",
        stopReason: "endTurn",
      });
      assert.equal(asked.length, attempts);
    }
  });

  it("reports the failure to the model if the tool does not catch it", async () => {
    const { run } = await sampling((ctx) => ctx.sampleSchema({ prompt: "?", schema: Move }), {
      sample: "no",
    });
    assert.equal(run.outcome.status, "completed");
    const { error } = await sampling((ctx) => ctx.sampleSchema({ prompt: "?", schema: Move }), {
      sample: { error: { code: -1, message: "denied" } },
    });
    // A client that refuses to ask is not asked again.
    assert.ok(error instanceof SampleError);
  });

  it("says so if an answer was cut off or refused", async () => {
    for (const [stopReason, words] of [["maxTokens", /cut off/], ["refusal", /refused/]] as const) {
      const { error } = await sampling(
        (ctx) => ctx.sampleSchema({ prompt: "?", schema: Move, retries: 1 }),
        { sample: { role: "assistant", content: '{"cell":', model: "m", stopReason } },
      );
      assert.ok(error instanceof SampleValidationError);
      assert.match(error.problem, words);
    }
  });

  it("asks again after an empty answer", async () => {
    const { value, asked } = await sampling(
      (ctx) => ctx.sampleSchema({ prompt: "Move!", schema: Move }),
      { sample: [calls(), { ...calls(), content: "" }, data({ cell: 1 })] },
    );
    assert.deepEqual(value.parsed, { cell: 1 });
    assert.deepEqual(asked[2]!.messages.map(({ role }) => role), ["user", "user", "user"]);
  });

  it("takes the first of two answers, and leaves the other out of the exchange", async () => {
    const { value } = await sampling((ctx) => ctx.sampleSchema({ prompt: "?", schema: Move }), {
      sample: calls(use("__schema__", { cell: 1 }, "a"), use("__schema__", { cell: 2 }, "b")),
    });
    assert.deepEqual(value.parsed, { cell: 1 });
    assert.deepEqual(value.exchange.response.content, [use("__schema__", { cell: 1 }, "a")]);
  });

  it("asks with messages, and leaves the conversation alone", async () => {
    const { value, asked } = await sampling(function* (ctx) {
      const messages = [user("a"), model("b"), user("c")];
      const { exchange } = yield* ctx.sampleSchema({ messages, schema: Move });
      assert.deepEqual(ctx.messages, []);
      return exchange;
    }, { sample: data({ cell: 4 }) });
    assert.deepEqual(asked[0]!.messages, [user("a"), model("b"), user("c")]);
    assert.deepEqual(value.request, user("c"));
  });

  it("accepts Zod 4, Zod 3 and JSON Schema", async () => {
    const schemas: SchemaInput[] = [
      z.object({ cell: z.int() }),
      z3.object({ cell: z3.number().int() }),
      { type: "object", properties: { cell: { type: "integer" } }, required: ["cell"] },
    ];
    for (const schema of schemas) {
      const { value, asked } = await sampling((ctx) => ctx.sampleSchema({ prompt: "?", schema }), {
        sample: [data({ cell: "x" }), data({ cell: 4 })],
      });
      assert.deepEqual(value.parsed, { cell: 4 });
      assert.equal(asked.length, 2);
      assert.equal(asked[0]!.tools?.[0]?.inputSchema.type, "object");
    }
  });

  it("wraps a schema that is not an object, and unwraps the answer", async () => {
    type Tree = Tree[];
    const Tree: z.ZodType<Tree> = z.lazy(() => z.array(Tree));
    for (
      const [schema, value] of [
        [z.string(), "a"],
        [z.array(z.int()), [1, 2]],
        [z.union([z.object({ a: z.int() }), z.null()]), { a: 1 }],
        [z.union([z.object({ value: z.int() }), z.null()]), { value: 1 }],
        [Tree, [[], [[]]]],
        [z3.number(), 5],
        [{ enum: ["x", "y"] }, "x"],
      ] as [SchemaInput, unknown][]
    ) {
      for (const answer of [data({ value }), JSON.stringify(value), JSON.stringify({ value })]) {
        const sampled = await sampling(
          (ctx) => ctx.sampleSchema({ prompt: "?", schema, retries: 0 }),
          { sample: answer },
        );
        assert.deepEqual(sampled.value.parsed, value);
        const { inputSchema } = sampled.asked[0]!.tools![0]!;
        assert.equal(inputSchema.type, "object");
        assert.deepEqual(inputSchema.required, ["value"]);
      }
    }
    const { asked } = await sampling((ctx) => ctx.sampleSchema({ prompt: "?", schema: Tree }), {
      sample: data({ value: [] }),
    });
    // References to the root point to its new place.
    const text = JSON.stringify(asked[0]!.tools![0]!.inputSchema);
    assert.doesNotMatch(text, /"\$ref":"#"/);
  });

  it("counts the tokens of every attempt", async () => {
    const { error, asked } = await sampling(
      (ctx) => ctx.sampleSchema({ prompt: "?", schema: Move, maxTokens: 100 }),
      { sample: { ...data({ cell: 9 }), usage: { outputTokens: 40 } } },
      { maxTokens: 70 },
    );
    assert.ok(error instanceof McpToolTokenError);
    assert.deepEqual(asked.map(({ maxTokens }) => maxTokens), [70, 30]);
  });

  it("estimates the tokens of calls if nobody counts them", async () => {
    const { asked } = await sampling(
      function* (ctx) {
        yield* ctx.sampleSchema({ prompt: "?", schema: z.object({ a: z.string() }) });
        yield* ctx.sample({ prompt: "?" });
      },
      { sample: (_request, nth) => nth === 0 ? data({ a: "x".repeat(32) }) : "x" },
      {
        maxTokens: 100,
      },
    );
    assert.deepEqual(asked.map(({ maxTokens }) => maxTokens), [100, 90]);
  });

  it("asks for a whole number of tokens, and at least one", async () => {
    const { asked } = await sampling(function* (ctx) {
      yield* ctx.sample({ prompt: "?", maxTokens: 10.9 });
      yield* ctx.sample({ prompt: "?", maxTokens: 0 });
      yield* ctx.sample({ prompt: "?", maxTokens: Infinity });
    }, { sample: "x" });
    assert.deepEqual(asked.map(({ maxTokens }) => maxTokens), [10, 1, Number.MAX_SAFE_INTEGER]);
  });

  it("refuses a request that cannot be sent before anything is sent", async () => {
    for (
      const config of [
        undefined,
        { prompt: "?" },
        { prompt: "?", schema: null },
        { prompt: "?", schema: "string" },
        { prompt: "?", schema: z.date() },
        { prompt: "?", schema: { cell: z.number() } },
        { prompt: "?", schema: Move, retries: NaN },
        { prompt: "?", schema: Move, retries: -1 },
        { prompt: 5, schema: Move },
        { schema: Move },
      ]
    ) {
      const { error, asked } = await sampling((ctx) => ctx.sampleSchema(config as never), {
        sample: data({ cell: 4 }),
      });
      assert.ok(error instanceof TypeError, String(error));
      assert.equal(asked.length, 0);
    }
  });
});
