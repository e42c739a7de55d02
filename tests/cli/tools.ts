/** Tools that the tests of the command line call, as a module that the program loads. */
import { sleep } from "effection";
import { createMcpTool, ToolError } from "parley-mcp";
import { z } from "zod";

/** One of everything that a form may have. */
export const register = createMcpTool("register")
  .description("Registers a person.")
  .parameters(z.object({ event: z.string().min(2), seats: z.int().default(1) }))
  .elicits({
    person: {
      response: z.object({
        name: z.string().min(2).describe("Your name"),
        age: z.int().min(18),
        meal: z.enum(["meat", "fish"]),
        days: z.array(z.enum(["sat", "sun"])).min(1),
        newsletter: z.boolean(),
        birthday: z.iso.date().optional(),
        pin: z.string().min(4),
      }),
      sensitive: ["pin"],
      doors: ["form"],
    },
    sure: { response: z.object({}) },
  })
  .execute(function* ({ event }, ctx) {
    yield* ctx.notify("Looking for a place", 1, 4);
    yield* sleep(0);
    const person = yield* ctx.elicit("person", { message: `Who comes to ${event}?` });
    if (person.action !== "accept") return `Nobody was registered: ${person.action}`;
    const { pin, ...rest } = person.content;
    const sure = yield* ctx.elicit("sure", { message: "Shall it be binding?" });
    return { ...rest, pin: `${pin.length} characters`, binding: sure.action };
  });

export const advise = createMcpTool("advise")
  .description("Asks the model, in words and for data.")
  .execute(function* (_, ctx) {
    const words = yield* ctx.sample({ prompt: "What is the capital of Styria?" });
    const data = yield* ctx.sampleSchema({
      prompt: "How many people live there?",
      schema: z.object({ people: z.int() }),
    });
    return `${words.text}: ${data.parsed.people}`;
  });

export const visit = createMcpTool("visit")
  .description("Sends the person to a page.")
  .execute(function* (_, ctx) {
    const { action } = yield* ctx.elicitUrl({
      message: "Please sign in.",
      url: "https://example.com/login",
    });
    return action;
  });

export const refuse = createMcpTool("refuse").description("Cannot do it.").execute(function* () {
  throw new ToolError("The shop is closed.");
});

export const nobodyThere = createMcpTool("nobody_there")
  .description("Asks, and gives up after a moment.")
  .elicits({ q: { response: z.object({ answer: z.string() }) } })
  .execute(function* (_, ctx) {
    const reply = yield* ctx.elicit("q", { message: "Is anybody there?" }, { timeout: 300 });
    return reply.action;
  });
