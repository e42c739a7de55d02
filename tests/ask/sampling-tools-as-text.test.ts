/** Samples for clients that support sampling without tools. */
import assert from "node:assert/strict";
import { z } from "zod";
import { closeToolCalls, SampleValidationError } from "../../src/mod.ts";
import { describe, it } from "../suite.ts";
import { model, sampling, use, user, WITHOUT_TOOLS, wordsOf } from "./sampling-kit.ts";

const Move = z.object({ cell: z.number().min(0).max(8) });
const tools = [
  { name: "attack", description: "Attacks.", inputSchema: Move },
  { name: "wait", inputSchema: z.object({}) },
] as const;
const client = WITHOUT_TOOLS;

describe("sampleSchema() with tools as text", () => {
  it("appends the instruction to the last message, where no client drops it", async () => {
    const { asked } = await sampling(
      (ctx) => ctx.sampleSchema({ prompt: "Move!", schema: Move, systemPrompt: "Be brief." }),
      { client, sample: '{"cell":4}' },
    );
    const [{ messages, systemPrompt, tools, toolChoice }] = asked as [typeof asked[0]];
    assert.equal(tools, undefined);
    assert.equal(toolChoice, undefined);
    assert.equal(systemPrompt, "Be brief.");
    assert.equal(messages.length, 1);
    assert.deepEqual(messages[0]!.content[0], { type: "text", text: "Move!" });
    assert.match(wordsOf(messages[0]!), /JSON Schema:\n\{.*"cell"/s);
  });

  it("returns the same as with tools, and leaves the same conversation", async () => {
    const { value } = await sampling(function* (ctx) {
      const { parsed, exchange } = yield* ctx.sampleSchema({ prompt: "Move!", schema: Move });
      return { parsed, exchange, messages: ctx.messages };
    }, { client, sample: 'Well:\n```json\n{"cell": 4}\n```' });
    assert.deepEqual(value.parsed, { cell: 4 });
    const [request, toolUse, toolResult] = value.exchange.messages;
    assert.deepEqual(request, user("Move!"), "without what was added for the client");
    const [called] = toolUse!.content;
    const [answered] = toolResult!.content;
    assert.ok(called?.type === "tool_use" && answered?.type === "tool_result");
    assert.deepEqual(called.input, { cell: 4 });
    assert.equal(answered.toolUseId, called.id);
    assert.deepEqual(value.messages, value.exchange.messages);
  });

  it("asks again in text, and repeats the instruction", async () => {
    const { value, asked } = await sampling(
      (ctx) => ctx.sampleSchema({ prompt: "Move!", schema: Move }),
      { client, sample: ['{"cell":9}', '{"cell":4}'] },
    );
    assert.deepEqual(value.parsed, { cell: 4 });
    const { messages } = asked[1]!;
    assert.deepEqual(messages.slice(0, 2), [user("Move!"), model('{"cell":9}')]);
    assert.match(wordsOf(messages[2]!), /"cell".*JSON Schema/s);
    assert.ok(messages.flatMap(({ content }) => content).every(({ type }) => type === "text"));
  });

  it("gives up as it does with tools", async () => {
    const { error } = await sampling((ctx) => ctx.sampleSchema({ prompt: "?", schema: Move }), {
      client,
      sample: "no",
    });
    assert.ok(error instanceof SampleValidationError);
    assert.equal(error.attempts, 3);
  });

  it("reads values that are not objects", async () => {
    const { value } = await sampling(
      (ctx) => ctx.sampleSchema({ prompt: "?", schema: z.array(z.string()) }),
      { client, sample: 'Of course: ["a", "b"]' },
    );
    assert.deepEqual(value.parsed, ["a", "b"]);
  });
});

describe("sampleTools() with tools as text", () => {
  it("lists the tools with their schemas, and explains the form of a call", async () => {
    const { asked } = await sampling(function* (ctx) {
      yield* ctx.sample({ prompt: "?", tools, toolChoice: "required" });
      yield* ctx.sample({ prompt: "?", tools });
      yield* ctx.sample({ prompt: "?", tools, toolChoice: "none" });
    }, { client, sample: "fine" });
    const [required, auto, none] = asked.map(({ messages }) => wordsOf(messages.at(-1)!));
    assert.match(
      required!,
      /exactly one.*\{"tool": "<name>", "arguments".*attack: Attacks\..*wait/s,
    );
    assert.match(auto!, /may call.*attack/s);
    assert.equal(none, "?");
    assert.ok(asked.every((params) => params.tools === undefined));
  });

  it("reads calls, and asks again, in text", async () => {
    const { value, asked } = await sampling((ctx) => ctx.sampleTools({ prompt: "?", tools }), {
      client,
      sample: [
        '{"tool":"fly","arguments":{}}',
        '{"tool":"attack","arguments":{"cell":9}}',
        '{"tool":"attack","arguments":{"cell":4}}',
      ],
    });
    const [call] = value.toolCalls;
    assert.equal(call.name, "attack");
    assert.deepEqual(call.arguments, { cell: 4 });
    assert.equal(value.stopReason, "toolUse");
    assert.match(wordsOf(asked[1]!.messages[2]!), /"fly"/);
    assert.match(wordsOf(asked[2]!.messages[4]!), /"cell"/);
    assert.deepEqual(value.exchange.response.content, [use("attack", { cell: 4 }, call.id)]);
  });

  it("gives different calls different ids, the same in every run", async () => {
    const ids = async () => {
      const { value } = await sampling(function* (ctx) {
        const first = yield* ctx.sampleTools({ prompt: "1", tools });
        const second = yield* ctx.branch((branch) => branch.sampleTools({ prompt: "2", tools }));
        const third = yield* ctx.sampleTools({ prompt: "3", tools });
        return [first, second, third].map(({ toolCalls: [{ id }] }) => id);
      }, { client, sample: '{"tool":"wait"}' });
      return value;
    };
    const once = await ids();
    assert.equal(new Set(once).size, 3);
    assert.deepEqual(await ids(), once);
  });
});

describe("a conversation that contains calls, with tools as text", () => {
  it("is sent as text, with data as JSON", async () => {
    const { asked } = await sampling(function* (ctx) {
      const { exchange } = yield* ctx.sampleTools({ messages: [user("1")], tools });
      const history = closeToolCalls(exchange, "attacked");
      const move = yield* ctx.sampleSchema({ messages: [...history, user("2")], schema: Move });
      history.push(...move.exchange.messages);
      yield* ctx.sample({ messages: [...history, user("3")] });
    }, {
      client,
      sample: ['{"tool":"attack","arguments":{"cell":1}}', '{"cell":4}', "fine"],
    });
    const { messages } = asked[2]!;
    assert.deepEqual(messages.map(wordsOf), [
      "1",
      '{"tool":"attack","arguments":{"cell":1}}',
      "attacked",
      "2",
      '{"cell":4}',
      "ok",
      "3",
    ]);
    assert.deepEqual(messages.map(({ role }) => role), [
      "user",
      "assistant",
      "user",
      "user",
      "assistant",
      "user",
      "user",
    ]);
  });

  it("keeps the images of results, and describes the rest", async () => {
    const { asked } = await sampling((ctx) =>
      ctx.sample({
        messages: [
          user("?"),
          { role: "assistant", content: [use("a", {}, "1"), use("b", {}, "2")] },
          {
            role: "user",
            content: [
              {
                type: "tool_result",
                toolUseId: "1",
                content: [
                  { type: "image", data: "AA==", mimeType: "image/png" },
                  { type: "resource_link", uri: "file:///a", name: "a" },
                  { type: "resource", resource: { uri: "file:///b", text: "B" } },
                  { type: "resource", resource: { uri: "file:///c", blob: "AA==" } },
                ],
              },
              { type: "tool_result", toolUseId: "2", content: [], structuredContent: { n: 1 } },
            ],
          },
        ],
      }), { client, sample: "fine" });
    assert.deepEqual(wordsOf(asked[0]!.messages[2]!).split("\n"), [
      "[image]",
      "file:///a",
      "B",
      "file:///c",
      '{"n":1}',
    ]);
  });
});
