/** A registry on a manual clock for one test, and helpers that read and answer its sessions. */
import assert from "node:assert/strict";
import { type Operation, run } from "effection";
import { z } from "zod";
import type {
  CallResult,
  ToolResult,
  ToolSessionEvent,
  ToolSessionOutcome,
} from "../../src/model/events.ts";
import type { Fault } from "../../src/run/run-port.ts";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import { SessionHandle } from "../../src/registry/session-handle.ts";
import type { RegistryOptions } from "../../src/registry/options.ts";
import { createManualClock, type ManualClock } from "../../src/testing/manual-clock.ts";
import { createMcpTool } from "../../src/tool/builder.ts";
import type { Definition, FinalizedMcpTool } from "../../src/tool/types.ts";
import type { LiveToolSession } from "../../src/session/tool-session.ts";
import type { ToolSession } from "../../src/session/types.ts";

export interface Kit {
  readonly clock: ManualClock;
  readonly registry: LiveToolSessionRegistry;
  readonly faults: Fault[];
  open(tool: FinalizedMcpTool, params?: unknown): LiveToolSession;
}

/** A test body with a registry, which is closed at the end and must then hold nothing. */
export function withRegistry(
  body: (kit: Kit) => Promise<void> | void,
  options: RegistryOptions = {},
): () => Promise<void> {
  return async () => {
    // Leave the Effection step that the test runs in: platforms call a registry from outside of
    // one.
    await Promise.resolve();
    const clock = createManualClock();
    const faults: Fault[] = [];
    const registry = new LiveToolSessionRegistry({
      clock,
      report: (fault) => faults.push(fault),
      ...options,
      limits: { passivateAfter: Infinity, ...options.limits },
    });
    try {
      await body({
        clock,
        registry,
        faults,
        // Only the record of a durable tool is kept in a store.
        open: (tool, params = {}) => registry.open(options.store ? asDurable(tool) : tool, params),
      });
    } finally {
      await registry.close();
    }
    assert.deepEqual(registry.counts, { live: 0, finished: 0, deadlines: 0 });
    assert.equal(clock.timers, 0, "a timer is left");
  };
}

/** The same tool, made durable. */
export function asDurable<T extends Definition>(tool: T): T {
  return { ...tool, durable: { version: "1", sealed: false } };
}

/** Runs pending microtasks until the condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turns = 0; turns < 5_000; turns++) {
    if (condition()) return;
    await Promise.resolve();
  }
  assert.fail(`It did not come to this: ${condition}`);
}

/** As many turns as anything here could need, to show that nothing happens. */
export async function idle(): Promise<void> {
  for (let turns = 0; turns < 100; turns++) await Promise.resolve();
}

/** The outcome of a session, once it has ended. */
export async function ended(session: LiveToolSession): Promise<ToolSessionOutcome> {
  await until(() => session.outcome !== undefined);
  return session.outcome!;
}

/** The text of a session's result, once it has ended. */
export async function textOf(session: LiveToolSession): Promise<string> {
  const outcome = await ended(session);
  assert.equal(outcome.status, "completed", JSON.stringify(outcome));
  const { content } = (outcome as { result: ToolResult }).result;
  return content.map((block) => block.type === "text" ? block.text : block.type).join();
}

/** The types of the events so far. */
export function types(session: LiveToolSession): string {
  return session.log.after(0).map(({ type }) => type).join();
}

/** The id of an open question, counted from the oldest. */
export function questionOf(session: LiveToolSession, nth = 0): string {
  const request = session.openRequests()[nth];
  assert.ok(request, "no question is open");
  return request.id;
}

/** Answers the oldest open question. */
export function accept(session: LiveToolSession, content: object): string {
  return session.respond(questionOf(session), { action: "accept", content: { ...content } });
}

/** A session that stays in memory, as a program sees it. */
export function handleOf(session: LiveToolSession): SessionHandle {
  const nowhere = () => undefined;
  return new SessionHandle({ find: nowhere, lookup: nowhere }, session);
}

export interface Reading {
  readonly events: ToolSessionEvent[];
  outcome?: ToolSessionOutcome;
  error?: unknown;
  /** Stops reading. */
  leave(): PromiseLike<void>;
}

/** Reads a session to its end; `seen` is called, inside the reader, for each event. */
export function follow(
  followed: LiveToolSession | ToolSession<CallResult>,
  afterLSN = 0,
  seen: (event: ToolSessionEvent) => void | Operation<void> = () => {},
): Reading {
  const events: ToolSessionEvent[] = [];
  const reading: Reading = { events, leave: () => task.halt() };
  const task = run(function* () {
    const session = "getEvents" in followed ? followed : handleOf(followed);
    const subscription = yield* session.getEvents(afterLSN);
    try {
      for (;;) {
        const next = yield* subscription.next();
        if (next.done) {
          reading.outcome = next.value;
          return;
        }
        events.push(next.value);
        const reaction = seen(next.value);
        if (reaction) yield* reaction;
      }
    } catch (error) {
      reading.error = error;
    }
  });
  return reading;
}

/** Asks for a number and returns it. */
export const askTool = createMcpTool("ask").description("Asks for a number")
  .elicits({ n: { response: z.object({ n: z.number() }) } })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("n", { message: "Which number?" });
    return answer.action === "accept" ? `got ${answer.content.n}` : answer.action;
  });

/** A tool that runs `body`, with the questions `n` and `m`. */
export function tool(
  // deno-lint-ignore no-explicit-any
  body: (ctx: any) => Operation<unknown>,
  limits: { timeout?: number; maxDepth?: number } = {},
): FinalizedMcpTool {
  const form = { response: z.object({ n: z.number() }) };
  return createMcpTool("t").description("A tool under test")
    .elicits({ n: form, m: form }).limits(limits)
    .execute(function* (_params, ctx) {
      return (yield* body(ctx)) as string;
    });
}
