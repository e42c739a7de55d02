/** The tools that bench/servers/walked.ts calls. Every walk must pass through this file. */
import { z } from "zod";
import { createMcpTool } from "../../src/mod.ts";

/** Returns without waiting. */
const add = createMcpTool("add").description("Adds two numbers")
  .parameters(z.object({ a: z.number(), b: z.number() }))
  .execute(function* add({ a, b }) {
    return String(a + b);
  });

/** Asks one question. */
const pick = createMcpTool("pick").description("Asks for a number")
  .elicits({ pick: { response: z.object({ n: z.number() }) } })
  .execute(function* pick(_params, ctx) {
    const answer = yield* ctx.elicit("pick", { message: "Which number?" });
    return answer.action === "accept" ? `picked ${answer.content.n}` : answer.action;
  });

/** Durable; asks two questions. */
const book = createMcpTool("book").description("Books a table")
  .parameters(z.object({ guests: z.number().default(2) }))
  .durable()
  .elicits({
    who: { response: z.object({ name: z.string() }) },
    sure: { response: z.object({ yes: z.boolean() }) },
  })
  .execute(function* book({ guests }, ctx) {
    const who = yield* ctx.elicit("who", { message: "In whose name?" });
    if (who.action !== "accept") return who.action;
    const sure = yield* ctx.elicit("sure", { message: `A table for ${guests}?` });
    return sure.action === "accept" && sure.content.yes ? who.content.name : "nobody";
  });

export const serve = [add, pick, book];
