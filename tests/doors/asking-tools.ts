/** Tools that ask in ways that can go wrong, and what they did. */
import { race, until } from "effection";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { idle } from "../support/turn.ts";

const n = { response: z.object({ n: z.string() }) };

/** Tools that ask, and what they did. */
export function asking() {
  const done: string[] = [];
  const gate = Promise.withResolvers<void>();
  const twice = createMcpTool("twice").description("Asks twice, with the same key.").elicits({ n })
    .execute(function* (_params, ctx) {
      for (const message of ["First?", "Second?"]) {
        const answer = yield* ctx.elicit("n", { message });
        done.push(answer.action === "accept" ? answer.content.n : answer.action);
      }
      return done.join();
    });
  const hasty = createMcpTool("hasty").description("Waits a second.").elicits({ n })
    .execute(function* (_params, ctx) {
      const first = yield* ctx.elicit("n", { message: "First?" }, { timeout: 1_000 });
      const second = yield* ctx.elicit("n", { message: "Second?" });
      return `${first.action}, ${second.action}`;
    });
  const fickle = createMcpTool("fickle").description("Withdraws a question.").elicits({ n })
    .execute(function* (_params, ctx) {
      yield* race([
        ctx.branch((branch) => branch.elicit("n", { message: "First?" })),
        until(gate.promise),
      ]);
      const second = yield* ctx.elicit("n", { message: "Second?" });
      return second.action === "accept" ? second.content.n : second.action;
    });
  const held = createMcpTool("held").description("Cleans up.").elicits({ n })
    .execute(function* (_params, ctx) {
      try {
        return (yield* ctx.elicit("n", { message: "First?" })).action;
      } finally {
        done.push("cleaned up");
      }
    });
  /** Makes `fickle` withdraw its question. */
  const withdraw = async () => {
    gate.resolve();
    await idle();
  };
  return { done, withdraw, serve: [twice, hasty, fickle, held] };
}
