import assert from "node:assert/strict";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import {
  closeToolCalls,
  SampleValidationError,
  type SamplingToolDefinition,
} from "../../src/mod.ts";
import { describe, it } from "../suite.ts";
import { calls, model, results, sampling, use, user, wordsOf } from "./sampling-kit.ts";

const tools = [
  {
    name: "attack",
    description: "Attacks.",
    inputSchema: z.object({ cell: z.int(), hard: z.boolean().default(true) }),
  },
  { name: "defend", inputSchema: z3.object({ threat: z3.string() }) },
  {
    name: "wait",
    inputSchema: { type: "object", properties: { turns: { type: "integer" } } },
  },
] as const;

describe("ctx.sample() with tools", () => {
  it("offers the tools, and leaves the choice to the model by default", async () => {
    const { asked } = await sampling(function* (ctx) {
      yield* ctx.sample({ prompt: "?", tools });
      for (const toolChoice of ["auto", "required", "none"] as const) {
        yield* ctx.sample({ prompt: "?", tools, toolChoice });
      }
    }, { sample: "fine" });
    assert.deepEqual(asked.map(({ toolChoice }) => toolChoice?.mode), [
      "auto",
      "auto",
      "required",
      "none",
    ]);
    const offered = asked[0]!.tools!;
    assert.deepEqual(offered.map(({ name, description }) => [name, description]), [
      ["attack", "Attacks."],
      ["defend", undefined],
      ["wait", undefined],
    ]);
    assert.ok(offered.every(({ inputSchema }) => inputSchema.type === "object"));
    assert.deepEqual(offered[2]!.inputSchema, tools[2].inputSchema);
  });

  it("returns the calls as the model made them, and an exchange that is still open", async () => {
    const made = [use("attack", { cell: "x" }, "a"), use("fly", {}, "b")];
    const { value } = await sampling(
      (ctx) => ctx.sample({ prompt: "?", tools }),
      { sample: calls({ type: "text", text: "Hm." }, ...made) },
    );
    assert.deepEqual(value.toolCalls, [
      { id: "a", name: "attack", arguments: { cell: "x" } },
      { id: "b", name: "fly", arguments: {} },
    ]);
    assert.equal(value.text, "Hm.");
    assert.equal(value.stopReason, "toolUse");
    assert.equal(value.exchange.messages.length, 2);
    assert.deepEqual(value.exchange.response.content, [{ type: "text", text: "Hm." }, ...made]);
  });

  it("returns no calls if the model made none", async () => {
    for (const answer of ["I wait.", '{"tool": 5}', '{"tool": "fly"}', '{"name": "x"}']) {
      const { value } = await sampling((ctx) => ctx.sample({ prompt: "?", tools }), {
        sample: answer,
      });
      assert.deepEqual(value.toolCalls, [], answer);
      assert.deepEqual(value.exchange.messages, [user("?"), model(answer)]);
    }
    const { value } = await sampling(
      (ctx) => ctx.sample({ prompt: "?", tools, toolChoice: "none" }),
      { sample: '{"tool": "attack", "arguments": {}}' },
    );
    assert.deepEqual(value.toolCalls, []);
  });

  it("treats open calls as done once the conversation continues", async () => {
    const { value, asked } = await sampling(function* (ctx) {
      yield* ctx.sample({ prompt: "1", tools });
      yield* ctx.sample({ prompt: "2" });
      yield* ctx.sample({ prompt: "3" });
      return ctx.messages;
    }, { sample: (_request, nth) => nth === 0 ? calls(use("wait", {}, "w")) : "fine" });
    const called = { role: "assistant", content: [use("wait", {}, "w")] };
    const closed = [user("1"), called, results("ok", false, "w"), user("2")];
    assert.deepEqual(asked[1]!.messages, closed);
    assert.deepEqual(asked[2]!.messages, [...closed, model("fine"), user("3")]);
    assert.deepEqual(value, [...closed, model("fine"), user("3"), model("fine")]);
  });
});

describe("ctx.sampleTools()", () => {
  it("asks for a call, and returns arguments that the schema has parsed", async () => {
    const { value, asked } = await sampling((ctx) => ctx.sampleTools({ prompt: "?", tools }), {
      sample: calls(use("attack", { cell: 4 }, "a")),
    });
    assert.deepEqual(asked[0]!.toolChoice, { mode: "required" });
    assert.deepEqual(value.toolCalls, [
      { id: "a", name: "attack", arguments: { cell: 4, hard: true } },
    ]);
    assert.equal(value.stopReason, "toolUse");
    assert.deepEqual(value.exchange.messages, [
      user("?"),
      { role: "assistant", content: [use("attack", { cell: 4 }, "a")] },
    ]);
  });

  it("returns all of several calls", async () => {
    const { value } = await sampling((ctx) => ctx.sampleTools({ prompt: "?", tools }), {
      sample: calls(use("attack", { cell: 1 }, "a"), use("defend", { threat: "t" }, "b")),
    });
    assert.deepEqual(value.toolCalls.map(({ name }) => name), ["attack", "defend"]);
  });

  it("reads a call that the model wrote as text", async () => {
    for (
      const answer of [
        '{"tool": "attack", "arguments": {"cell": 4}}',
        'I will:\n```json\n{"name": "attack", "input": {"cell": 4}}\n```',
        '[{"name": "attack", "parameters": {"cell": 4}}]',
      ]
    ) {
      const { value } = await sampling((ctx) => ctx.sampleTools({ prompt: "?", tools }), {
        sample: answer,
      });
      const [call] = value.toolCalls;
      assert.deepEqual([call.name, call.arguments], ["attack", { cell: 4, hard: true }]);
      // The history holds it as the call that it was meant to be.
      assert.deepEqual(value.exchange.response.content, [use("attack", { cell: 4 }, call.id)]);
    }
  });

  it("says what was wrong, and asks again", async () => {
    const wrong = [
      ["I wait.", /no tool/],
      [calls(use("fly", {}, "f")), /"fly".*attack, defend, wait/],
      [calls(use("attack", { cell: "x" }, "f")), /"attack".*"cell"/],
      [calls(use("wait", { turns: 1 }, "g"), use("wait", { turns: "x" }, "f")), /"wait".*"turns"/],
      ['{"tool": "fly", "arguments": {}}', /"fly"/],
    ] as const;
    for (const [answer, words] of wrong) {
      const { value, asked } = await sampling((ctx) => ctx.sampleTools({ prompt: "?", tools }), {
        sample: [answer, calls(use("wait", {}, "w"))],
      });
      assert.equal(value.toolCalls[0].name, "wait");
      assert.match(wordsOf(asked[1]!.messages.at(-1)!), words);
      assert.deepEqual(value.exchange.request, user("?"));
      assert.equal(value.exchange.messages.length, 2);
    }
  });

  it("gives up after the last retry", async () => {
    const { error, asked } = await sampling(
      (ctx) => ctx.sampleTools({ prompt: "?", tools, retries: 1 }),
      { sample: "no" },
    );
    assert.ok(error instanceof SampleValidationError);
    assert.equal(error.method, "sampleTools");
    assert.equal(error.attempts, 2);
    assert.equal(error.lastResult.text, "no");
    assert.equal(asked.length, 2);
  });

  it("can leave the choice to the model, and still asks for a call", async () => {
    const { value, asked } = await sampling(
      (ctx) => ctx.sampleTools({ prompt: "?", tools, toolChoice: "auto" }),
      { sample: ["Hm.", calls(use("wait", {}))] },
    );
    assert.equal(value.toolCalls.length, 1);
    assert.deepEqual(asked.map(({ toolChoice }) => toolChoice?.mode), ["auto", "auto"]);
  });

  it("wraps arguments that are not an object", async () => {
    const { value, asked } = await sampling(
      (ctx) => ctx.sampleTools({ prompt: "?", tools: [{ name: "say", inputSchema: z.string() }] }),
      { sample: calls(use("say", { value: "hi" }, "s")) },
    );
    assert.equal(value.toolCalls[0].arguments, "hi");
    assert.deepEqual(asked[0]!.tools?.[0]?.inputSchema.required, ["value"]);
    assert.deepEqual(value.exchange.response.content, [use("say", { value: "hi" }, "s")]);
  });

  it("refuses tools that cannot be offered before anything is sent", async () => {
    const inputSchema = { type: "object" };
    const refused: [unknown, RegExp][] = [
      [[], /at least one/],
      [undefined, /at least one/],
      [[{ name: "__schema__", inputSchema }], /reserved/],
      [[{ name: "a", inputSchema }, { name: "a", inputSchema }], /two tools have this name/],
      [[{ name: "", inputSchema }], /name/],
      [[{ inputSchema }], /name/],
      [[{ name: "a" }], /"a"/],
      [[{ name: "a", inputSchema: z.object({ d: z.date() }) }], /"a".*"d"/],
    ];
    for (const [tools, words] of refused) {
      for (const toolChoice of ["required", "auto"] as const) {
        const config = { prompt: "?", tools: tools as SamplingToolDefinition[], toolChoice };
        const { error, asked } = await sampling((ctx) => ctx.sampleTools(config), { sample: "x" });
        assert.ok(error instanceof TypeError, String(error));
        assert.match(error.message, words);
        assert.equal(asked.length, 0);
      }
    }
    const { error } = await sampling(
      (ctx) => ctx.sampleTools({ prompt: "?", tools, toolChoice: "none" }),
      { sample: "x" },
    );
    assert.ok(error instanceof TypeError);
  });
});

describe("closeToolCalls()", () => {
  it("answers every call, with one result for all or one for each", async () => {
    const { value: { exchange } } = await sampling(
      (ctx) => ctx.sampleTools({ prompt: "?", tools }),
      { sample: calls(use("wait", {}, "a"), use("wait", { turns: 2 }, "b")) },
    );
    const { messages } = exchange;
    assert.deepEqual(closeToolCalls(exchange), [...messages, results("ok", false, "a", "b")]);
    assert.deepEqual(closeToolCalls(exchange, "done").at(-1), results("done", false, "a", "b"));
    assert.deepEqual(
      closeToolCalls(exchange, ({ id }) => `did ${id}`).at(-1)!.content,
      [...results("did a", false, "a").content, ...results("did b", false, "b").content],
    );
    const image = [{ type: "image", data: "AA==", mimeType: "image/png" }] as const;
    const closed = closeToolCalls(exchange, [...image]).at(-1)!.content[0]!;
    assert.ok(closed.type === "tool_result");
    assert.deepEqual(closed.content, image);
    assert.equal(messages.length, 2, "the exchange itself is left as it was");
  });

  it("returns an exchange without calls unchanged", async () => {
    const { value: { exchange } } = await sampling((ctx) => ctx.sample({ prompt: "?" }), {
      sample: "hi",
    });
    assert.deepEqual(closeToolCalls(exchange), exchange.messages);
  });

  it("makes a history that can be sent again", async () => {
    const { asked } = await sampling(function* (ctx) {
      const { exchange } = yield* ctx.sampleTools({ messages: [user("1")], tools });
      yield* ctx.sample({ messages: [...closeToolCalls(exchange), user("2")] });
    }, { sample: (_request, nth) => nth === 0 ? calls(use("wait", {}, "w")) : "fine" });
    assert.equal(asked[1]!.messages.length, 4);
  });
});
