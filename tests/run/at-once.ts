/** Ways to run branches at once, and bodies for them. */
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
import { handleOf } from "../support/registry.ts";

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

/** A branch that fails once it has been answered. */
export function* fails(ctx: Ctx): Operation<never> {
  throw new Error(`failed with ${yield* number(ctx)}`);
}

/** A branch that needs a task, because it spawns. */
export function* needsTask(ctx: Ctx): Operation<number> {
  const task = yield* spawn(() => number(ctx));
  return yield* task;
}

/** An operation that waits until it is released. */
export function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: () => until(promise), open: () => resolve() };
}

/** Runs everything that can run without input. */
export function* idle(): Operation<void> {
  for (let turn = 0; turn < 50; turn++) yield* until(Promise.resolve());
}

/** Waits until this many questions are open. */
export function* asked(session: LiveToolSession, count: number): Operation<void> {
  const events = yield* handleOf(session).getEvents();
  while (session.openRequests().length < count) {
    assert.ok(!(yield* events.next()).done, "it ended before it asked");
  }
}

export const message = (error: unknown) => (error as Error).message;

// The same contract for three implementations.
export const ways: Record<string, Way> = {
  "ctx.branches()": (ctx, bodies, options) => ctx.branches(bodies, options),
  "ctx.branches() of a tool that is a task": function* (ctx, bodies, options) {
    yield* spawn(function* () {});
    return yield* ctx.branches(bodies, options);
  },
  "all() of ctx.branch()": (ctx, bodies, options) =>
    all(bodies.map((body) => ctx.branch(body, options))),
};
