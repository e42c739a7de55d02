/** Shared by the tests of durable sessions: tools with three questions, and servers for them. */
import assert from "node:assert/strict";
import { type Operation, run } from "effection";
import { z } from "zod";
import type { ToolSessionEvent } from "../../src/model/events.ts";
import type { Fault } from "../../src/run/run-port.ts";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import type { RegistryOptions } from "../../src/registry/options.ts";
import type { LiveToolSession } from "../../src/session/tool-session.ts";
import type { ToolSessionStore } from "../../src/store/types.ts";
import { createManualClock, type ManualClock } from "../../src/testing/manual-clock.ts";
import { createMcpTool } from "../../src/tool/builder.ts";
import type { Definition } from "../../src/tool/types.ts";

export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;

const form = { response: z.object({ n: z.number() }) };

/** A durable tool that runs `body`, with the questions `a`, `b` and `c`. */
// deno-lint-ignore no-explicit-any
export function durableTool(body: (ctx: any) => Operation<unknown>): Definition {
  return createMcpTool("t").description("d").elicits({ a: form, b: form, c: form })
    .durable({ version: "1", sealed: true })
    .execute(function* (_params, ctx) {
      return String(yield* body(ctx));
    });
}

/** Asks for a number and returns it. */
export const askA = durableTool(function* (ctx) {
  return (yield* ctx.elicit("a", { message: "?" })).content.n;
});

export interface Server {
  readonly clock: ManualClock;
  readonly registry: LiveToolSessionRegistry;
  readonly faults: Fault[];
}

/** A server for one tool. */
export function serverOf(tool: Definition, options: RegistryOptions = {}): Server {
  const faults: Fault[] = [];
  const clock = createManualClock();
  const registry = new LiveToolSessionRegistry({
    clock,
    find: () => tool,
    report: (fault) => faults.push(fault),
    ...options,
  });
  return { clock, registry, faults };
}

/** Answers the open question with that key. */
export function answer(session: LiveToolSession, key: string, n: number): string {
  const request = session.openRequests().find(({ place }) => place.key === key);
  assert.ok(request, `"${key}" is open`);
  return session.respond(request.id, { action: "accept", content: { n } });
}

/** What a store holds of a session. */
export async function stored(
  store: ToolSessionStore,
  id: string,
): Promise<readonly ToolSessionEvent[]> {
  return await run(() => store.read(id));
}
