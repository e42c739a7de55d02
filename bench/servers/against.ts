/**
 * Runs flows without a socket, for `deno task bench against`. That command copies this file into a
 * checkout of an earlier revision if it is missing there, so it uses only the oldest parts of the
 * public API. Reads one job per line, and prints its result as a line of JSON.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { z } from "zod";
import { createMcpTool, createParley, openStore, Sealer } from "../../src/mod.ts";
import { heapMeter } from "../kit/heap.ts";

const FLOWS = 300;
const PARKED = 3_000;
const AT_ONCE = 20;

const form = { response: z.object({ n: z.number() }) };

const ask = createMcpTool("ask").description("Asks for a number").elicits({ a: form })
  .execute(function* (_params, ctx) {
    const a = yield* ctx.elicit("a", { message: "Which number?" });
    return a.action === "accept" ? `picked ${a.content.n}` : a.action;
  });

const keep = createMcpTool("keep").description("Asks for a number, durably").durable()
  .elicits({ a: form })
  .execute(function* (_params, ctx) {
    const a = yield* ctx.elicit("a", { message: "Which number?" });
    return a.action === "accept" ? `picked ${a.content.n}` : a.action;
  });

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
};

type Fetch = (request: Request) => Promise<Response>;

/** Each returns one number: microseconds of CPU time per flow, or bytes per parked call. */
const jobs: Record<string, () => Promise<number>> = { durable, revived, heap };

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await jobs[line]!()));
}

/** A question and its answer, with the record in a SQLite file. */
async function durable(): Promise<number> {
  return await withFile(async (withServer) =>
    await withServer((fetch) =>
      cpuPerFlow(async () => answer(fetch, "keep", await question(fetch, "keep")))
    )
  );
}

/** The answer to a question that an earlier server asked. */
async function revived(): Promise<number> {
  return await withFile(async (withServer) => {
    const states: string[] = [];
    await withServer(async (fetch) => {
      for (let n = 0; n < FLOWS; n++) states.push(await question(fetch, "keep"));
    });
    return await withServer((fetch) => cpuPerFlow(() => answer(fetch, "keep", states.pop()!)));
  });
}

/** The heap of a call that waits for its answer. */
async function heap(): Promise<number> {
  const heapSize = await heapMeter();
  const parley = createParley({ serve: [ask] });
  const before = heapSize();
  for (let n = 0; n < PARKED; n++) await question(parley.fetch, "ask");
  const bytes = (heapSize() - before) / PARKED;
  await parley.close();
  return bytes;
}

type WithServer = <T>(body: (fetch: Fetch) => Promise<T>) => Promise<T>;

async function withFile<T>(body: (withServer: WithServer) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
  try {
    return await body(async (use) => {
      const stores = await openStore(`sqlite:${join(folder, "store.db")}`);
      const parley = createParley({
        serve: [keep],
        store: stores.sessions,
        clients: stores.clients,
        sealer: new Sealer("a key for the benchmark"),
      });
      try {
        return await use(parley.fetch);
      } finally {
        await parley.close();
        stores.close();
      }
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function cpuPerFlow(flow: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  let left = FLOWS;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (left-- > 0) await flow();
  }));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / FLOWS;
}

async function question(fetch: Fetch, name: string): Promise<string> {
  const { resultType, requestState } = await call(fetch, name, {});
  if (resultType !== "input_required") throw new Error("Cannot measure: no question came");
  return requestState!;
}

async function answer(fetch: Fetch, name: string, requestState: string): Promise<void> {
  const inputResponses = { a: { action: "accept", content: { n: 7 } } };
  const { content } = await call(fetch, name, { requestState, inputResponses });
  if (content?.[0]?.text !== "picked 7") throw new Error("Cannot measure: the answer is wrong");
}

interface Result {
  readonly resultType?: string;
  readonly requestState?: string;
  readonly content?: readonly { readonly text: string }[];
}

async function call(fetch: Fetch, name: string, more: object): Promise<Result> {
  const params = { name, arguments: {}, ...more, _meta: META };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "content-length": String(body.length),
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": name,
  };
  const request = new Request("http://127.0.0.1/mcp", { method: "POST", headers, body });
  const text = await (await fetch(request)).text();
  // A slow response is sent as a stream.
  const json = text.startsWith("{") ? text : text.slice(text.lastIndexOf("data: ") + 6);
  const { result, error } = JSON.parse(json);
  if (!result) throw new Error(`Cannot measure: ${JSON.stringify(error)}`);
  return result;
}
