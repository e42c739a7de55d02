/** The tools that every server in the comparison offers, written for Parley. */
import { z } from "zod";
import { createMcpTool } from "../../src/mod.ts";

export const EVENTS = 100;

export const add = createMcpTool("add").description("Adds two numbers")
  .parameters(z.object({ a: z.number(), b: z.number() }))
  .execute(function* ({ a, b }) {
    return String(a + b);
  });

export const ask = createMcpTool("ask").description("Asks for a number")
  .elicits({ pick: { response: z.object({ n: z.number() }) } })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("pick", { message: "Which number?" });
    return answer.action === "accept" ? `picked ${answer.content.n}` : answer.action;
  });

export const count = createMcpTool("count").description("Tells of its progress")
  .execute(function* (_params, ctx) {
    for (let n = 1; n <= EVENTS; n++) yield* ctx.notify("counting", n, EVENTS);
    return "counted";
  });

export const serve = [add, ask, count];
