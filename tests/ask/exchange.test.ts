import assert from "node:assert/strict";
import { z } from "zod";
import { createMcpTool, type ElicitExchange, type McpMessage, testTool } from "../../src/mod.ts";
import { describe, it } from "../suite.ts";

type Pick = { cell: number };
type Board = { board: string; moves: number[] };

const playing = createMcpTool("playing").description("Asks for a move.")
  .elicits({
    pickMove: {
      response: z.object({ cell: z.int().min(0).max(8) }),
      context: z.object({ board: z.string(), moves: z.array(z.number()) }),
    },
  });

/** The session's id and the exchanges of two accepted questions. */
async function play(answers: readonly unknown[] = [{ cell: 4 }, { cell: 0 }]) {
  const exchanges: ElicitExchange<Board, Pick>[] = [];
  let id = "";
  const tool = playing.execute(function* (_params, ctx) {
    id = ctx.sessionId;
    for (const board of ["---", "-X-"]) {
      const moves = board === "---" ? [] : [4];
      const move = yield* ctx.elicit("pickMove", { message: "Your turn!", board, moves });
      if (move.action === "accept") exchanges.push(move.exchange);
    }
  });
  const { events } = await testTool(tool, {}, {
    elicit: {
      pickMove: answers.map((content) => ({ action: "accept", content: content as Pick })),
    },
  });
  return { id, exchanges, events };
}

describe("ElicitResult.exchange", () => {
  it("is a complete pair of tool_use and tool_result, without the context", async () => {
    const { id, exchanges } = await play();
    const [first, second] = exchanges;
    assert.deepEqual(first!.messages, [
      {
        role: "assistant",
        content: [{ type: "tool_use", id: `elicit_${id}_1`, name: "pickMove", input: {} }],
      },
      {
        role: "user",
        content: [{
          type: "tool_result",
          toolUseId: `elicit_${id}_1`,
          content: [{ type: "text", text: '{"cell":4}' }],
        }],
      },
    ]);
    assert.deepEqual(first!.messages, [first!.request, first!.response]);
    assert.equal(second!.request.content[0].id, `elicit_${id}_2`);
    assert.equal(second!.response.content[0].toolUseId, `elicit_${id}_2`);
  });

  it("has the id of the question that was answered", async () => {
    const { id, exchanges, events } = await play([{ cell: 99 }, { cell: 1 }, { cell: 2 }]);
    assert.deepEqual(
      exchanges.map(({ request }) => request.content[0].id),
      [`elicit_${id}_2`, `elicit_${id}_3`],
    );
    const asked = events.flatMap((event) => event.type === "elicit_request" ? [event.id] : []);
    assert.deepEqual(asked, [1, 2, 3].map((seq) => `elicit_${id}_${seq}`));
  });

  it("holds what the person said, whatever the tool does with it", async () => {
    let exchange: ElicitExchange<Board, Pick> | undefined;
    const tool = playing.execute(function* (_params, ctx) {
      const move = yield* ctx.elicit("pickMove", { message: "Go!", board: "---", moves: [] });
      if (move.action !== "accept") return;
      move.content.cell = 7;
      exchange = move.exchange;
    });
    const answer = { action: "accept", content: { cell: 4 } } as const;
    await testTool(tool, {}, { elicit: { pickMove: answer } });
    const [said] = exchange!.response.content[0].content;
    assert.deepEqual(said, { type: "text", text: '{"cell":4}' });
  });

  it("leaves the message out of the captured context", async () => {
    const { exchanges } = await play();
    assert.deepEqual(exchanges.map(({ context }) => context), [
      { board: "---", moves: [] },
      { board: "-X-", moves: [4] },
    ]);
  });

  it("includes the context fields that withArguments() picks, and changes nothing else", async () => {
    const { id, exchanges: [, exchange] } = await play();
    const before = structuredClone(exchange!.messages);
    const [request, response] = exchange!.withArguments(({ board, moves }) => ({
      board,
      moveNumber: moves.length,
    }));
    assert.deepEqual(request, {
      role: "assistant",
      content: [{
        type: "tool_use",
        id: `elicit_${id}_2`,
        name: "pickMove",
        input: { board: "-X-", moveNumber: 1 },
      }],
    });
    assert.deepEqual(response, exchange!.response);
    assert.deepEqual(exchange!.messages, before);
  });

  it("can be sent to the model unchanged", async () => {
    let sent: McpMessage[] = [];
    const tool = playing.execute(function* (_params, ctx) {
      const move = yield* ctx.elicit("pickMove", { message: "?", board: "", moves: [] });
      if (move.action !== "accept") return;
      sent = [...move.exchange.messages];
      yield* ctx.sample({ messages: [...sent, { role: "user", content: "Your turn." }] });
    });
    const { events } = await testTool(tool, {}, {
      elicit: { pickMove: { action: "accept", content: { cell: 4 } } },
      sample: "0",
    });
    const sample = events.find((event) => event.type === "sample_request");
    assert.ok(sample?.type === "sample_request");
    assert.deepEqual(sample.params.messages.slice(0, 2), sent);
  });

  it("is absent when the person declines", async () => {
    const tool = playing.execute(function* (_params, ctx) {
      const move = yield* ctx.elicit("pickMove", { message: "?", board: "", moves: [] });
      return Object.keys(move).join();
    });
    for (const answer of ["decline", "cancel"] as const) {
      assert.equal((await testTool(tool, {}, { elicit: { pickMove: answer } })).text, "action");
    }
  });
});

describe("a sensitive field", () => {
  const secret = "hunter2-hunter2";
  const login = createMcpTool("login").description("Logs in.")
    .elicits({
      login: {
        response: z.object({
          user: z.string(),
          password: z.string().min(8),
          pin: z.int().optional(),
        }),
        sensitive: ["password", "pin"],
      },
    });
  let exchanged: unknown;
  const tool = login.execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("login", { message: "Who are you?" });
    if (answer.action !== "accept") return answer.action;
    exchanged = [answer.exchange.messages, answer.exchange.withArguments(() => ({ a: 1 }))];
    return String(answer.content.password === secret);
  });

  it("reaches the tool, and appears neither in the exchange nor in the events", async () => {
    const { text, events } = await testTool(tool, {}, {
      elicit: {
        login: { action: "accept", content: { user: "ada", password: secret, pin: 4711 } },
      },
    });
    assert.equal(text, "true");
    const shown = JSON.stringify([exchanged, events]);
    assert.doesNotMatch(shown, /hunter2|4711/);
    assert.match(shown, /ada/, "the other fields stay");
  });

  it("is masked only if it has a value", async () => {
    await testTool(tool, {}, {
      elicit: { login: { action: "accept", content: { user: "ada", password: secret } } },
    });
    assert.match(JSON.stringify(exchanged), /password/);
    assert.doesNotMatch(JSON.stringify(exchanged), /pin/);
  });

  it("is announced to clients that show the form", async () => {
    const { events } = await testTool(tool, {}, { elicit: { login: "decline" } });
    const [request] = events;
    assert.ok(request?.type === "elicit_request");
    assert.deepEqual(request.sensitive, ["password", "pin"]);
  });

  it("is never quoted in a validation message", async () => {
    const strict = createMcpTool("unlock").description("d")
      .elicits({
        code: {
          response: z.object({
            pin: z.string().refine(() => false, { error: ({ input }) => `bad ${input}` }),
          }),
          sensitive: ["pin"],
        },
      })
      .execute(function* (_params, ctx) {
        return (yield* ctx.elicit("code", { message: "Code?" })).action;
      });
    const { text, events } = await testTool(strict, {}, {
      elicit: { code: { action: "accept", content: { pin: "4711" } } },
    });
    assert.match(text, /"pin": is not valid/);
    assert.doesNotMatch(JSON.stringify(events), /4711/);
  });

  it("is not quoted when its answer does not fit", async () => {
    const wrong: unknown[] = [
      { user: "ada", password: "hunter2" },
      { user: 5, password: secret, pin: 4711 },
      { user: "ada", password: [secret] },
      { user: "ada", password: { text: secret }, pin: "4711" },
      secret,
      [secret],
      [{ password: secret }],
    ];
    for (const content of wrong) {
      const { outcome, events, conversation } = await testTool(tool, {}, {
        elicit: { login: { action: "accept", content: content as { user: ""; password: "" } } },
      });
      assert.equal(conversation.length, 4);
      assert.doesNotMatch(JSON.stringify([outcome, events]), /hunter2|4711/);
    }
  });
});
