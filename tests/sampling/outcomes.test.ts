/**
 * What a tool gets for everything that a model may do, over a real socket: the same with all three
 * providers.
 */
import assert from "node:assert/strict";
import { z } from "zod";
import { SampleError, SampleValidationError } from "../../src/mod.ts";
import { sampling, WITHOUT_SAMPLING } from "../ask/sampling-kit.ts";
import { describe, it } from "../suite.ts";
import { type Reply, withModel } from "./fake-model.ts";
import { anthropicAnswer, ollamaAnswer, openaiAnswer, openaiCall, said } from "./samples.ts";

type Call = readonly [name: string, input: object];

interface Dialect {
  readonly name: string;
  /** How this provider sends text, data and calls, and says that it was cut off or refused. */
  text(text: string): Reply;
  data(input: object): Reply;
  calls(...calls: Call[]): Reply;
  half(): Reply;
  refusal(text: string): Reply;
}

const DIALECTS: Dialect[] = [
  {
    name: "openai:gpt-4o",
    text: (content) => ({ json: openaiAnswer({ content }) }),
    data: (input) => ({ json: openaiAnswer({ content: JSON.stringify(input) }) }),
    calls: (...calls) => ({
      json: openaiAnswer({
        tool_calls: calls.map(([name, input], n) =>
          openaiCall(name, JSON.stringify(input), `call_${n}`)
        ),
      }, "tool_calls"),
    }),
    half: () => ({ json: openaiAnswer({ content: '{"cell": ' }, "length") }),
    refusal: (refusal) => ({ json: openaiAnswer({ refusal }) }),
  },
  {
    name: "anthropic:claude-sonnet-4-5",
    text: (text) => ({ json: anthropicAnswer([said(text)]) }),
    data: (input) => ({
      json: anthropicAnswer([{ type: "tool_use", id: "t", name: "__schema__", input }], "tool_use"),
    }),
    calls: (...calls) => ({
      json: anthropicAnswer(
        calls.map(([name, input], n) => ({ type: "tool_use", id: `t${n}`, name, input })),
        "tool_use",
      ),
    }),
    half: () => ({
      json: anthropicAnswer(
        [{ type: "tool_use", id: "t", name: "__schema__", input: {} }],
        "max_tokens",
      ),
    }),
    refusal: (text) => ({ json: anthropicAnswer([said(text)], "refusal") }),
  },
  {
    name: "ollama:llama3.3",
    text: (content) => ({ json: ollamaAnswer({ content }) }),
    data: (input) => ({ json: ollamaAnswer({ content: JSON.stringify(input) }) }),
    calls: (...calls) => ({
      json: ollamaAnswer({
        tool_calls: calls.map(([name, input]) => ({ function: { name, arguments: input } })),
      }),
    }),
    half: () => ({ json: ollamaAnswer({ content: '{"cell": ' }, "length") }),
    refusal: (content) => ({ json: ollamaAnswer({ content }) }),
  },
];

const Move = z.object({ cell: z.int().min(0).max(8) });
const tools = [
  { name: "attack", inputSchema: Move },
  { name: "wait", inputSchema: z.object({}) },
] as const;

for (const { name, text, data, calls, half, refusal } of DIALECTS) {
  /** What `sampleSchema` or `sampleTools` returns for these replies, and how often it asked. */
  const outcome = async (what: "data" | "calls", ...replies: Reply[]) => {
    let result: unknown;
    await withModel(name, replies, async ({ model, provider }) => {
      const sampled = await sampling(function* (ctx) {
        if (what === "data") {
          return (yield* ctx.sampleSchema({ prompt: "?", schema: Move })).parsed as unknown;
        }
        const { toolCalls } = yield* ctx.sampleTools({ prompt: "?", tools });
        return toolCalls.map(({ name, arguments: input }) => [name, input]);
      }, { client: WITHOUT_SAMPLING, sampling: { provider } });
      const { error } = sampled;
      result = [
        error instanceof SampleValidationError || error instanceof SampleError
          ? error.code
          : sampled.value,
        model.received.length,
      ];
    });
    return result;
  };
  const GIVEN_UP = ["PARLEY_SAMPLE_VALIDATION", 3];
  const FAILED = ["PARLEY_SAMPLE", 1];

  describe(`data from ${name}`, () => {
    it("is returned at once, or after the model was told of a mistake", async () => {
      assert.deepEqual(await outcome("data", data({ cell: 4 })), [{ cell: 4 }, 1]);
      for (
        const mistake of [
          data({ cell: 9 }),
          text("garbage"),
          text(""),
          half(),
          refusal("I would rather not."),
          calls(["fly", { cell: 4 }]),
        ]
      ) {
        assert.deepEqual(await outcome("data", mistake, data({ cell: 4 })), [{ cell: 4 }, 2]);
      }
    });

    it("is given up if it never comes", async () => {
      for (
        const mistake of [
          data({ cell: 9 }),
          text("garbage"),
          text(""),
          half(),
          refusal("No."),
          calls(["fly", {}]),
        ]
      ) {
        assert.deepEqual(await outcome("data", mistake), GIVEN_UP);
      }
    });

    it("is the first of two that fit", async () => {
      const two = calls(["__schema__", { cell: 1 }], ["__schema__", { cell: 2 }]);
      assert.deepEqual(await outcome("data", two), [{ cell: 1 }, 1]);
    });

    it("is read from text if the model wrote it there", async () => {
      assert.deepEqual(await outcome("data", text('I pick {"cell": 4}!')), [{ cell: 4 }, 1]);
    });

    it("fails at once if the response is not a model's", async () => {
      for (
        const reply of [
          { text: "<html></html>", headers: { "content-type": "text/html" } },
          { text: "garbage" },
          { text: "" },
          { status: 401, json: {} },
          { status: 404, json: {} },
        ]
      ) {
        assert.deepEqual(await outcome("data", reply), FAILED);
      }
    });

    it("is returned after retries if the model was busy", async () => {
      const busy: Reply = { status: 429, headers: { "retry-after": "1" }, json: {} };
      assert.deepEqual(await outcome("data", busy, data({ cell: 4 })), [{ cell: 4 }, 2]);
      assert.deepEqual(await outcome("data", { status: 500, json: {} }), ["PARLEY_SAMPLE", 3]);
    });
  });

  describe(`calls from ${name}`, () => {
    it("are all returned, one or two", async () => {
      assert.deepEqual(await outcome("calls", calls(["wait", {}])), [[["wait", {}]], 1]);
      const two = calls(["wait", {}], ["attack", { cell: 1 }]);
      assert.deepEqual(await outcome("calls", two), [[["wait", {}], ["attack", { cell: 1 }]], 1]);
    });

    it("are asked for again, and then given up, if they are missing or wrong", async () => {
      for (
        const mistake of [
          calls(["fly", {}]),
          calls(["attack", { cell: 9 }]),
          calls(["wait", {}], ["fly", {}]),
          text("Hm."),
          text(""),
          half(),
          refusal("No."),
        ]
      ) {
        assert.deepEqual(await outcome("calls", mistake, calls(["wait", {}])), [[["wait", {}]], 2]);
        assert.deepEqual(await outcome("calls", mistake), GIVEN_UP);
      }
    });
  });
}
