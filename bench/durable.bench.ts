/**
 * The cost of durability. Measures flows per second with the record in memory, in a SQLite file and
 * sealed into the client's request state. Also measures a million parked calls on disk: the memory
 * that they take, and the time to revive one.
 *
 *     deno task bench durable
 *
 * `PARLEY_BENCH_PARKED=10000` parks fewer.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { z } from "zod";
import { createParley, type ParleyOptions, Sealer } from "../src/mod.ts";
import { LiveToolSessionRegistry } from "../src/registry/registry.ts";
import { openSqlite } from "../src/store/sqlite/stores.ts";
import { createMcpTool } from "../src/tool/builder.ts";

const ROUNDS = 5;
const FLOWS = 2_000;
const AT_ONCE = 100;
const PARKED = Number(process.env["PARLEY_BENCH_PARKED"] ?? 1_000_000);
const BATCH = 2_000;
const WOKEN = 500;

/** A flow on disk must reach at least this fraction of the speed in memory. */
const LEAST_SQLITE = 1 / 20;
const LEAST_SEALED = 1 / 5;
/** Bytes of heap that all parked calls together may take. */
const MAX_HEAP = 64 * 1024 * 1024;

const form = { response: z.object({ n: z.number() }) };
const order = createMcpTool("order").description("Asks, does something, and asks again")
  .durable({ sealed: true })
  .elicits({ a: form, b: form })
  .execute(function* (_params, ctx) {
    const a = yield* ctx.elicit("a", { message: "Which number?" });
    const kept = yield* ctx.step("keep", function* () {
      return a.action === "accept" ? a.content.n : 0;
    });
    const b = yield* ctx.elicit("b", { message: "And which?" });
    return b.action === "accept" ? String(kept + b.content.n) : "";
  });

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
};

const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
try {
  await compareFlows();
  await parkMany();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

// ------------------------------------------------------------------- flows

async function compareFlows(): Promise<void> {
  const ways = ["memory", "sqlite", "sealed"] as const;
  const rates: Record<typeof ways[number], number[]> = { memory: [], sqlite: [], sealed: [] };
  for (let round = -1; round < ROUNDS; round++) {
    for (let n = 0; n < ways.length; n++) {
      const way = ways[(n + Math.max(round, 0)) % ways.length]!;
      const rate = await flowsASecond(way, round);
      // The first round warms up.
      if (round >= 0) rates[way].push(rate);
    }
  }
  const memory = middle(rates.memory);
  for (const way of ways) {
    const rate = middle(rates[way]);
    const spread = `${count(Math.min(...rates[way]))} to ${count(Math.max(...rates[way]))}`;
    console.log(
      `${way}: ${count(rate)} flows a second (${spread}), ${(rate / memory).toFixed(2)} of memory`,
    );
  }
  expect("sqlite against memory", middle(rates.sqlite) / memory, LEAST_SQLITE);
  expect("sealed against memory", middle(rates.sealed) / memory, LEAST_SEALED);
}

/** A flow is three requests: the call, and a retry for each of two answers. */
async function flowsASecond(way: "memory" | "sqlite" | "sealed", round: number): Promise<number> {
  const stores = way === "sqlite" ? openSqlite(join(folder, `flows-${round}.db`)) : undefined;
  const options: ParleyOptions = {
    serve: [order],
    sealer: new Sealer("a key for the benchmark"),
    ...(stores && { store: stores.sessions }),
    ...(way === "sealed" && { state: "sealed" }),
  };
  const parley = createParley(options);
  let left = FLOWS;
  const start = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (left-- > 0) await flow(parley.fetch);
  }));
  const rate = FLOWS / (performance.now() - start) * 1_000;
  await parley.close();
  stores?.close();
  return rate;
}

async function flow(fetch: (request: Request) => Promise<Response>): Promise<void> {
  const params = { name: "order", arguments: {} };
  const first = await post(fetch, params);
  const answer = (n: number) => ({ action: "accept", content: { n } });
  const second = await post(fetch, {
    ...params,
    requestState: first.requestState,
    inputResponses: { a: answer(40) },
  });
  const last = await post(fetch, {
    ...params,
    requestState: second.requestState,
    inputResponses: { b: answer(2) },
  });
  if (last.content?.[0]?.text !== "42") throw new Error(`Wrong: ${JSON.stringify(last)}`);
}

interface Answered {
  requestState?: string;
  content?: { text: string }[];
}

async function post(
  fetch: (request: Request) => Promise<Response>,
  params: object,
): Promise<Answered> {
  const response = await fetch(
    new Request("http://127.0.0.1/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "order",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { ...params, _meta: META },
      }),
    }),
  );
  const text = await response.text();
  // A slow response is sent as a stream.
  const json = text.startsWith("{") ? text : text.slice(text.lastIndexOf("data: ") + 6);
  const { result, error } = JSON.parse(json);
  if (!result) throw new Error(`Refused: ${JSON.stringify(error)}`);
  return result;
}

// ------------------------------------------------------------------ parked

async function parkMany(): Promise<void> {
  const stores = openSqlite(join(folder, "parked.db"));
  const registry = new LiveToolSessionRegistry({
    store: stores.sessions,
    limits: { maxSessions: BATCH * 2 },
    find: () => order,
  });
  await park(registry, BATCH);
  const before = heapSize();
  const some: string[] = [];
  const start = performance.now();
  for (let parked = 0; parked < PARKED; parked += BATCH) {
    const ids = await park(registry, BATCH);
    if (some.length < WOKEN) some.push(ids[parked % BATCH]!);
  }
  const seconds = (performance.now() - start) / 1_000;
  const heap = heapSize() - before;
  const disk = readdirSync(folder).filter((file) => file.startsWith("parked"))
    .reduce((bytes, file) => bytes + statSync(join(folder, file)).size, 0);
  console.log(
    `${count(PARKED)} parked on disk: ${count(PARKED / seconds)} a second, ` +
      `${count(disk / PARKED)} bytes of disk each, ${
        (heap / 1024 / 1024).toFixed(1)
      } MB more heap ` +
      `for all of them, ${count(process.memoryUsage().rss / 1024 / 1024)} MB resident`,
  );
  const times = [];
  for (const id of some) {
    const began = performance.now();
    const session = await registry.lookup(id);
    while (session!.openRequests().length === 0) await new Promise((done) => setImmediate(done));
    times.push((performance.now() - began) * 1_000);
  }
  times.sort((a, b) => a - b);
  console.log(
    `waking one of them: ${count(times[times.length >> 1]!)} µs in the middle, ` +
      `${count(times[Math.floor(times.length * 0.99)]!)} µs at the 99th percentile`,
  );
  await registry.close();
  stores.close();
  expect("heap left for the parked", MAX_HEAP / Math.max(heap, 1), 1);
}

async function park(registry: LiveToolSessionRegistry, many: number): Promise<string[]> {
  const sessions = Array.from({ length: many }, () => registry.open(order, {}));
  await Promise.all(sessions.map((session) => session.log.whenRecorded()));
  for (const session of sessions) registry.suspend(session);
  while (registry.counts.live > 0) await new Promise((done) => setImmediate(done));
  return sessions.map(({ id }) => id);
}

// ----------------------------------------------------------------- figures

function expect(what: string, ratio: number, least: number): void {
  const met = ratio >= least;
  console.log(`${met ? "met" : "NOT MET"}: ${what} is ${ratio.toFixed(2)}, at least ${least}`);
  if (!met) process.exitCode = 1;
}

function middle(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en");
}

function heapSize(): number {
  const { gc } = globalThis as { gc?: () => void };
  for (let n = 0; n < 3; n++) gc?.();
  return process.memoryUsage().heapUsed;
}
