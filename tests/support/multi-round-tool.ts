/**
 * A tool that asks three times, samples once, logs and reports progress, and the answers of its
 * client. The same for every client and every era.
 */
import { sleep } from "effection";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";

export const planTrip = createMcpTool("plan_trip")
  .description("Plans a trip with the person and the model")
  .parameters(z.object({ to: z.string() }))
  .output(z.object({ plan: z.string(), extras: z.boolean(), poem: z.string() }))
  .elicits({
    date: { response: z.object({ date: z.string(), flexible: z.boolean().default(false) }) },
    seat: { response: z.object({ seat: z.enum(["window", "aisle"]) }) },
    extras: { response: z.object({ insurance: z.boolean() }) },
  })
  .execute(function* ({ to }, ctx) {
    yield* ctx.log("info", { planning: to });
    yield* ctx.notify("asking for a date", 1, 4);
    const date = yield* ctx.elicit("date", { message: `When do you want to go to ${to}?` });
    if (date.action !== "accept") return noPlan(date.action);
    yield* sleep(0);
    yield* ctx.notify("asking for a seat", 2, 4);
    const seat = yield* ctx.elicit("seat", { message: "Which seat?" });
    if (seat.action !== "accept") return noPlan(seat.action);
    const extras = yield* ctx.elicit("extras", { message: "Any extras?" });
    yield* ctx.log("warning", `extras: ${extras.action}`, "extras");
    yield* ctx.notify("asking the model", 3, 4);
    const { text } = yield* ctx.sample({
      prompt: `A line about ${to}`,
      systemPrompt: "You are a poet.",
      maxTokens: 50,
    });
    yield* ctx.notify("done", 4, 4);
    return {
      plan: `${to} on ${date.content.date}, ${seat.content.seat}`,
      extras: extras.action === "accept",
      poem: text,
    };
  });

function noPlan(why: string) {
  return { plan: `none: ${why}`, extras: false, poem: "" };
}

/** The person's answers, by the first word of the question. */
export function answerForm(message: string): {
  action: "accept" | "decline";
  content?: { [field: string]: string | boolean };
} {
  switch (message.split(" ")[0]) {
    case "When":
      return { action: "accept", content: { date: "2026-08-01", flexible: true } };
    case "Which":
      return { action: "accept", content: { seat: "window" } };
    default:
      return { action: "decline" };
  }
}

/** The model's answer. */
export const POEM = {
  role: "assistant" as const,
  content: { type: "text" as const, text: "O Graz, thy clock is tall." },
  model: "poet-1",
  stopReason: "endTurn",
};

/** What a client sees of a call, in the order of each kind. */
export interface Conversation {
  readonly questions: unknown[];
  readonly answers: unknown[];
  readonly progress: unknown[];
  readonly logs: unknown[];
  result?: unknown;
}

export function newConversation(): Conversation {
  return { questions: [], answers: [], progress: [], logs: [] };
}

/** A result without the fields that only one era has. */
export function plainResult(result: object): object {
  const { _meta, resultType: _type, ...rest } = result as { [key: string]: unknown };
  return rest;
}
