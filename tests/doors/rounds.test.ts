/** Ten rounds: modern clients give up after that, so a call goes on by continue_call. */
import assert from "node:assert/strict";
import * as v2 from "@modelcontextprotocol/client";
import { createMcpTool, type ParleyOptions } from "parley-mcp";
import { z } from "zod";
import { createPlayTtt } from "../../tools/play_ttt.ts";
import { onSocket } from "../support/socket.ts";
import { describe, it } from "../suite.ts";
import { DRAW_O, DRAW_X, modelAnswer, personMove } from "../tools/ttt-players.ts";
import { connectHost, type Result, servingEra, textOf, ticketOf } from "./host.ts";

const twenty = createMcpTool("twenty").description("Asks twenty questions.")
  .output(z.object({ answers: z.array(z.int()) }))
  .elicits({ n: { response: z.object({ n: z.int() }) } })
  .execute(function* (_params, ctx) {
    const answers: number[] = [];
    for (let i = 1; i <= 20; i++) {
      const answer = yield* ctx.elicit("n", { message: `Number ${i}?` });
      if (answer.action === "accept") answers.push(answer.content.n);
    }
    return { answers };
  });

interface Played {
  readonly result: Result;
  readonly continued: number;
  readonly asked: number;
}

/** Calls a tool with the official client and its defaults, and does what results tell it to. */
async function play(
  options: ParleyOptions,
  tool: string,
  answer: (method: string, params: Result) => Result,
  sampling = false,
): Promise<Played> {
  let played: Played | undefined;
  await onSocket(options, async (url) => {
    let asked = 0;
    const client = new v2.Client({ name: "official", version: "1" }, {
      capabilities: { elicitation: { form: {} }, ...(sampling && { sampling: { tools: {} } }) },
      versionNegotiation: { mode: { pin: "2026-07-28" } },
    });
    client.setRequestHandler("elicitation/create", ({ method, params }) => {
      asked++;
      return answer(method, params);
    });
    if (sampling) {
      client.setRequestHandler("sampling/createMessage", ({ method, params }) => {
        asked++;
        return answer(method, params);
      });
    }
    await client.connect(new v2.StreamableHTTPClientTransport(new URL(url)));
    await client.listTools();
    let result: Result = await client.callTool({ name: tool, arguments: {} });
    let continued = 0;
    while (result.structuredContent?.status === "waiting") {
      const [, args] = /continue_call with (\{.*?\})/.exec(textOf(result)) ?? [];
      continued++;
      result = await client.callTool({ name: "continue_call", arguments: JSON.parse(args!) });
    }
    played = { result, continued, asked };
    await client.close();
  });
  return played!;
}

describe("a call of many rounds", () => {
  it("asks twenty questions through the official client with its defaults", async () => {
    const { result, continued, asked } = await play(
      { serve: [twenty] },
      "twenty",
      (_method, { message }) => ({
        action: "accept",
        content: { n: Number(/\d+/.exec(message)![0]) },
      }),
    );
    assert.deepEqual(
      result.structuredContent.answers,
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
    assert.equal(asked, 20);
    assert.equal(continued, 2);
  });

  it("plays a whole game with forms and sampling", async () => {
    const { result, continued } = await play(
      { serve: [createPlayTtt(() => 0)] },
      "play_ttt",
      (method, params) =>
        method === "elicitation/create"
          ? { action: "accept", content: personMove(DRAW_X, params.requestedSchema) }
          : modelAnswer(DRAW_O, params),
      true,
    );
    assert.equal(result.structuredContent.ending, "draw");
    assert.ok(continued <= 1);
  });

  it("counts an answer that is asked again as a round", async () => {
    let wrong = 0;
    const { result, continued } = await play(
      { serve: [twenty] },
      "twenty",
      (_method, { message }) => ({
        action: "accept",
        content: { n: /last answer/.test(message) || ++wrong > 2 ? 1 : "one" as never },
      }),
    );
    assert.equal(result.structuredContent.answers.length, 20);
    assert.equal(continued, 2);
  });

  it("keeps the count across a retry that is repeated", async () => {
    await servingEra("modern", { serve: [twenty] }, async ({ fetch }) => {
      const host = await connectHost("modern", fetch, {
        capabilities: { elicitation: { form: {} } },
        answer: () => ({ action: "accept", content: { n: 1 } }),
      });
      ticketOf(await host.call("twenty"));
      assert.equal(host.rounds, 9);
    });
  });

  it("fails if the tool has not declared that it asks, and its output schema allows no deferral", async () => {
    const chatty = createMcpTool("chatty").description("Samples often.")
      .output(z.object({ n: z.int() }))
      .execute(function* (_params, ctx) {
        for (let i = 0; i < 12; i++) yield* ctx.sample({ prompt: "Again." });
        return { n: 12 };
      });
    await servingEra("modern", { serve: [chatty] }, async ({ fetch, parley }) => {
      const host = await connectHost("modern", fetch, {
        capabilities: { sampling: {} },
        answer: () => ({ role: "assistant", content: { type: "text", text: "x" }, model: "m" }),
      });
      const result = await host.call("chatty");
      assert.equal(result.isError, true);
      assert.match(textOf(result), /sampling: true/);
      assert.equal(parley.counts.live, 0);
    });
  });
});
