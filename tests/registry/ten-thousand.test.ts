import assert from "node:assert/strict";
import { all } from "effection";
import { z } from "zod";
import type { ToolResult } from "../../src/model/events.ts";
import type { LiveToolSession } from "../../src/session/tool-session.ts";
import { createMcpTool } from "../../src/tool/builder.ts";
import { describe, it } from "../suite.ts";
import { until, withRegistry } from "../support/registry.ts";

const form = { response: z.object({ n: z.number() }) };

/** Pseudo-random numbers from 0 to 1, the same every time (mulberry32). */
function seeded(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  const copy = [...list];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [copy[i], copy[j]] = [copy[j]!, copy[i]!];
  }
  return copy;
}

/** A tool that asks for two numbers and adds its own; `alive` counts its generators. */
function adder(alive: { count: number }, concurrently: boolean) {
  return createMcpTool("add").description("Adds three numbers")
    .parameters(z.object({ own: z.number() }))
    .elicits({ a: form, b: form })
    .execute(function* ({ own }, ctx) {
      const ask = (key: "a" | "b") =>
        ctx.branch(function* (inner) {
          alive.count++;
          try {
            const answer = yield* inner.elicit(key, { message: `${key}?` });
            return answer.action === "accept" ? answer.content.n : NaN;
          } finally {
            alive.count--;
          }
        });
      alive.count++;
      try {
        const [a, b] = concurrently
          ? yield* all([ask("a"), ask("b")])
          : [yield* ask("a"), yield* ask("b")];
        return `${own} ${a} ${b}`;
      } finally {
        alive.count--;
      }
    });
}

/** Answers the open question with this key with a number that identifies session and question. */
function answer(session: LiveToolSession, own: number, key: string): void {
  const request = session.openRequests().find(({ place }) => place.key === key);
  assert.ok(request, `${key} is not open`);
  const n = key === "a" ? own + 1 : own * 2;
  assert.equal(session.respond(request.id, { action: "accept", content: { n } }), "accepted");
}

describe("many sessions at once", () => {
  for (const [many, concurrently] of [[10_000, false], [2_000, true]] as const) {
    const how = concurrently ? "two branches each" : "one question at a time";
    it(
      `park, are answered in random order, and leave nothing: ${many}, ${how}`,
      withRegistry(async ({ registry, clock, open }) => {
        const random = seeded(20260104);
        const alive = { count: 0 };
        const tool = adder(alive, concurrently);
        const sessions = Array.from({ length: many }, (_, own) => ({
          own,
          session: open(tool, { own }),
        }));
        await until(() => alive.count === many * (concurrently ? 3 : 2));
        assert.deepEqual(registry.counts, { live: many, finished: 0, deadlines: many });
        assert.equal(clock.timers, 1);

        const rounds = concurrently
          ? [
            shuffled(sessions.flatMap((one) => ["a", "b"].map((key) => ({ ...one, key }))), random),
          ]
          : ["a", "b"].map((key) => shuffled(sessions, random).map((one) => ({ ...one, key })));
        for (const round of rounds) {
          for (const { session, own, key } of round) answer(session, own, key);
        }

        await until(() => registry.counts.live === 0);
        for (const { session, own } of sessions) {
          assert.equal(session.outcome?.status, "completed");
          const [block] = (session.outcome as { result: ToolResult }).result.content;
          assert.deepEqual(block, { type: "text", text: `${own} ${own + 1} ${own * 2}` });
          assert.deepEqual(session.openRequests(), []);
        }
        assert.equal(alive.count, 0, "a generator is still running");
        assert.deepEqual(registry.counts, { live: 0, finished: many, deadlines: 1 });
        clock.advance(60_000);
        assert.deepEqual(registry.counts, { live: 0, finished: 0, deadlines: 0 });
        assert.equal(clock.timers, 0);
      }),
    );
  }
});
