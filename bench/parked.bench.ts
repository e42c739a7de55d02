/**
 * The cost of a parked session: the live heap while it waits, the live heap that remains after its
 * end, and how many sessions are started, parked and resumed per second.
 *
 *     deno task bench parked
 */
import { all } from "effection";
import { z } from "zod";
import { createParley } from "../src/mod.ts";
import { LiveToolSessionRegistry } from "../src/registry/registry.ts";
import { createMcpTool } from "../src/tool/builder.ts";
import type { FinalizedMcpTool } from "../src/tool/types.ts";
import { find, spreadOf } from "./kit/findings.ts";
import { heapMeter } from "./kit/heap.ts";
import { park } from "./kit/park.ts";

const SESSIONS = 10_000;
const WARM_UPS = 3;
const ROUNDS = 5;

/** Kilobytes of live heap that a parked session may take, without Effection's tasks. */
const MOST: Record<string, number> = {
  "one question": 6,
  "two branches": 16,
  "two branches in all": Infinity,
};

const form = { response: z.object({ n: z.number() }) };

const tools: Record<string, FinalizedMcpTool> = {
  "returns at once": createMcpTool("now").description("Returns at once")
    .execute(function* () {
      return "done";
    }),
  "one question": createMcpTool("one").description("Asks once").elicits({ a: form })
    .execute(function* (_params, ctx) {
      const answer = yield* ctx.elicit("a", { message: "Which number?" });
      return answer.action;
    }),
  "two branches": createMcpTool("two").description("Asks twice at once")
    .elicits({ a: form, b: form })
    .execute(function* (_params, ctx) {
      const answers = yield* ctx.branches([
        (inner) => inner.elicit("a", { message: "Which number?" }),
        (inner) => inner.elicit("b", { message: "And which?" }),
      ]);
      return answers.map(({ action }) => action).join();
    }),
  "two branches in all": createMcpTool("tasks").description("Asks twice at once, in tasks")
    .elicits({ a: form, b: form })
    .execute(function* (_params, ctx) {
      const answers = yield* all([
        ctx.branch((inner) => inner.elicit("a", { message: "Which number?" })),
        ctx.branch((inner) => inner.elicit("b", { message: "And which?" })),
      ]);
      return answers.map(({ action }) => action).join();
    }),
};

const heapSize = await heapMeter();

for (const [name, tool] of Object.entries(tools)) {
  for (let round = 0; round < WARM_UPS; round++) await measure(tool);
  const rounds: Measured[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(tool));
  const spread = (pick: (one: Measured) => number) => spreadOf(rounds.map(pick));
  console.log(`  ${name}: ${count(spread(({ started }) => started).value)} started a second`);
  const most = MOST[name];
  if (most === undefined) continue;
  const resumed = spread(({ resumed }) => resumed).value;
  console.log(`  ${name}: ${count(resumed)} answered and ended a second`);
  const key = name.replaceAll(" ", "-");
  const parked = spread(({ parked }) => parked / 1_024);
  const aim = most === Infinity ? undefined : { most };
  find(`parked-${key}`, `parked with ${name}, live heap`, parked, "KB", aim);
  const left = spread(({ left }) => left);
  find(`left-${key}`, `parked with ${name}, left after the end`, left, "bytes", { most: 100 });
}

const served: number[] = [];
for (let round = -1; round < ROUNDS; round++) {
  const bytes = await measureServed();
  // The first round fills caches.
  if (round >= 0) served.push(bytes / 1_024);
}
const most = MOST["one question"]!;
find("parked-served", "parked in a server, live heap", spreadOf(served), "KB", { most });

/**
 * Bytes for each call of a modern client that waits for an answer, with all data that the server
 * keeps for it.
 */
async function measureServed(): Promise<number> {
  const parley = createParley({
    serve: [tools["one question"]!],
    limits: { maxSessions: SESSIONS },
  });
  const before = heapSize();
  await park(parley, "one", SESSIONS);
  const bytes = (heapSize() - before) / SESSIONS;
  await parley.close();
  return bytes;
}

interface Measured {
  /** Bytes for each parked session, and the bytes that remain after its end. */
  parked: number;
  left: number;
  /** Sessions a second. */
  started: number;
  resumed: number;
}

async function measure(tool: FinalizedMcpTool): Promise<Measured> {
  const before = heapSize();
  const registry = new LiveToolSessionRegistry({
    limits: { maxSessions: SESSIONS, maxFinishedSessions: 0 },
  });
  let sessions: ReturnType<typeof registry.open>[] | undefined = [];

  const start = performance.now();
  for (let n = 0; n < SESSIONS; n++) sessions.push(registry.open(tool, {}));
  const started = performance.now() - start;
  const during = heapSize();

  const resume = performance.now();
  for (const session of sessions) {
    for (const { id } of session.openRequests()) {
      session.respond(id, { action: "accept", content: { n: 1 } });
    }
  }
  while (registry.counts.live > 0) await Promise.resolve();
  const resumed = performance.now() - resume;

  sessions = undefined;
  await registry.close();
  return {
    parked: (during - before) / SESSIONS,
    left: (heapSize() - before) / SESSIONS,
    started: SESSIONS / started * 1_000,
    resumed: SESSIONS / resumed * 1_000,
  };
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en").replaceAll(",", " ");
}
