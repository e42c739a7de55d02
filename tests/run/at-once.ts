/** Ways to run branches at once, and parts for them. */
import assert from "node:assert/strict";
import { all, type Operation, spawn, until } from "effection";
import { z } from "zod";
import {
  createMcpTool,
  type ElicitDefinition,
  type McpToolBranchOptions,
  type McpToolContextWithElicits,
} from "../../src/mod.ts";
import type { LiveToolSession } from "../../src/session/tool-session.ts";

export type Ctx = McpToolContextWithElicits<
  { q: ElicitDefinition & { response: z.ZodObject<{ n: z.ZodNumber }> } }
>;
export type Body = (ctx: Ctx) => Operation<unknown>;
export type Way = (
  ctx: Ctx,
  bodies: Body[],
  options?: McpToolBranchOptions,
) => Operation<unknown[]>;

export const asking = createMcpTool("asking").description("Asks.")
  .elicits({ q: { response: z.object({ n: z.number() }) } });

export function* number(ctx: Ctx): Operation<number> {
  const answer = yield* ctx.elicit("q", { message: "?" });
  return answer.action === "accept" ? answer.content.n : -1;
}

/** A part that fails once it has been answered. */
export function* fails(ctx: Ctx): Operation<never> {
  throw new Error(`failed with ${yield* number(ctx)}`);
}

/** A part that needs a task, for what it does at the same time. */
export function* needsTask(ctx: Ctx): Operation<number> {
  const task = yield* spawn(() => number(ctx));
  return yield* task;
}

/** Something that is waited for until it is let go. */
export function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: () => until(promise), open: () => resolve() };
}

/** Lets everything happen that can without anybody's help. */
export function* idle(): Operation<void> {
  for (let turn = 0; turn < 50; turn++) yield* until(Promise.resolve());
}

/** Waits until so many questions are open. */
export function* asked(session: LiveToolSession, count: number): Operation<void> {
  const events = yield* session.getEvents();
  while (session.openRequests().length < count) {
    assert.ok(!(yield* events.next()).done, "it ended before it asked");
  }
}

export const message = (error: unknown) => (error as Error).message;

// One list of promises, and three ways to keep them.
export const ways: Record<string, Way> = {
  "ctx.branches()": (ctx, bodies, options) => ctx.branches(bodies, options),
  "ctx.branches() of a tool that is a task": function* (ctx, bodies, options) {
    yield* spawn(function* () {});
    return yield* ctx.branches(bodies, options);
  },
  "all() of ctx.branch()": (ctx, bodies, options) =>
    all(bodies.map((body) => ctx.branch(body, options))),
};
