/** Small tools that many tests use, and one that a test drives by hand. */
import { action, type Operation } from "effection";
import { createMcpTool, type McpToolContextWithElicits } from "parley-mcp";
import { z } from "zod";

/** Returns at once. */
export const echo = createMcpTool("echo")
  .description("Says the same again")
  .parameters(z.object({ text: z.string() }))
  .execute(function* ({ text }) {
    return text;
  });

/** Asks one question, and returns the answer. */
export const ask = createMcpTool("ask")
  .description("Asks for a number")
  .elicits({ number: { response: z.object({ number: z.number() }) } })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("number", { message: "Which number?" });
    return answer.action === "accept" ? `It is ${answer.content.number}` : answer.action;
  });

const name = { name: { response: z.object({ name: z.string().min(2) }) } };

/** Asks for a name. */
export const greet = createMcpTool("greet").description("Greets")
  .parameters(z.object({ greeting: z.string().optional(), more: z.unknown().optional() }))
  .elicits(name)
  .execute(function* ({ greeting = "Hello" }, ctx) {
    const answer = yield* ctx.elicit("name", { message: "Who?" });
    return answer.action === "accept" ? `${greeting}, ${answer.content.name}!` : answer.action;
  });

/** Asks for a number of names, one after the other. */
export const greetAll = createMcpTool("greet_all").description("Greets several")
  .parameters(z.object({ count: z.int() }))
  .elicits(name)
  .execute(function* ({ count }, ctx) {
    const names: string[] = [];
    while (names.length < count) {
      const answer = yield* ctx.elicit("name", { message: `Who is number ${names.length + 1}?` });
      names.push(answer.action === "accept" ? answer.content.name : answer.action);
    }
    return `Hello, ${names.join(" and ")}!`;
  });

const questions = { number: { response: z.object({ number: z.number() }) } };
type Context = McpToolContextWithElicits<typeof questions>;
type Step = (ctx: Context) => Operation<unknown>;

/** One run of the tool that is driven by hand. */
export class HandRun {
  #waiting: Step[] = [];
  #take: ((step: Step) => void) | undefined;
  #result: { readonly value: string } | undefined;
  /** True once it has cleaned up. */
  ended = false;

  /** Makes it take a step. */
  do(step: Step): void {
    const take = this.#take;
    this.#take = undefined;
    if (take) take(step);
    else this.#waiting.push(step);
  }

  notify(message: string, progress?: number, total?: number): void {
    this.do((ctx) => ctx.notify(message, progress, total));
  }

  log(data: unknown): void {
    this.do((ctx) => ctx.log("info", data));
  }

  ask(): void {
    this.do((ctx) => ctx.elicit("number", { message: "Which number?" }));
  }

  /** Makes it return. */
  finish(value = "done"): void {
    this.#result = { value };
    this.do(() => nothing());
  }

  *steps(ctx: Context): Operation<string> {
    try {
      while (!this.#result) {
        const step = this.#waiting.shift() ?? (yield* action<Step>((resolve) => {
          this.#take = resolve;
          return () => this.#take = undefined;
        }));
        yield* step(ctx);
      }
      return this.#result.value;
    } finally {
      this.ended = true;
    }
  }
}

function* nothing(): Operation<void> {}

/** A tool named `hand`, and its runs in the order of the calls. */
export function handTool() {
  const runs: HandRun[] = [];
  const tool = createMcpTool("hand")
    .description("Does what it is told")
    .elicits(questions)
    .execute(function* (_params, ctx) {
      const run = new HandRun();
      runs.push(run);
      return yield* run.steps(ctx);
    });
  return { tool, runs };
}
