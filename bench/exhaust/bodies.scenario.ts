/** Bodies of 4 MB that cause a lot of work: a batch of lists, and small keys. */
import { type Bench, type Scenario, ServerUnderLoad } from "./kit.ts";

/** The size of a body in bytes, a little below the limit. */
const SIZE = 4_150_000;
/** Milliseconds for which one request may block all others. */
const MAX_WAIT = 250;
/** Megabytes that a batch may add to the used memory. */
const MAX_MEMORY = 150;

const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

export const scenario: Scenario = { name: "bodies", run };

async function run(bench: Bench): Promise<void> {
  const server = await ServerUnderLoad.start(bench.runtime, { modules: [] });
  const session = await initialize(server);
  const list = (id: number) => `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`;
  const before = server.memory;
  for (const count of [100, Math.floor(SIZE / (list(50_000).length + 1))]) {
    const batch = `[${Array.from({ length: count }, (_, i) => list(i)).join(",")}]`;
    const { value, ms, megabytes, longestWait } = await server.during(() =>
      post(server, session, batch)
    );
    bench.found(
      `batch of ${count}: ${value.status}, ${inMega(value.bytes)} MB of answer in ${
        ms.toFixed(0)
      } ms, ` +
        `${(megabytes - before).toFixed(0)} MB more memory, others waited ${
          longestWait.toFixed(0)
        } ms`,
    );
    if (megabytes - before > MAX_MEMORY) bench.problem(`it took ${megabytes.toFixed(0)} MB`);
  }
  for (const [kind, value] of Object.entries(smallParts())) {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"play_ttt",` +
      `"arguments":${value}}}`;
    const idle = server.memory;
    const { value: answer, longestWait, megabytes } = await server.during(async () => {
      let last = { status: 0, bytes: 0 };
      for (let i = 0; i < 5; i++) last = await post(server, session, body);
      return last;
    });
    bench.found(
      `${kind}: ${answer.status}, ${(megabytes - idle).toFixed(0)} MB more memory, ` +
        `others waited ${longestWait.toFixed(0)} ms`,
    );
    if (longestWait > MAX_WAIT) bench.problem(`${kind} kept others waiting`);
  }
  if (await server.answersWithin(5_000) === undefined) bench.problem("it does not answer");
  server.stop();
}

function smallParts(): Record<string, string> {
  return {
    "4 MB of keys": `{${numbered((name) => `"${name}":0`)}}`,
    "4 MB of strings": `{"a":[${numbered((name) => `"${name}"`)}]}`,
    "4 MB of empty objects": `{"a":[${"{},".repeat(SIZE / 3 - 100)}0]}`,
    "100,000 parts": `{${
      Array.from({ length: 49_990 }, (_, i) => `"${i.toString(36)}":0`).join(",")
    }}`,
  };
}

/** Joins as many parts, each with another name, as fit into a body. */
function numbered(part: (name: string) => string): string {
  const parts: string[] = [];
  for (let length = 0; length < SIZE - 200;) {
    parts.push(part(parts.length.toString(36)));
    length += parts.at(-1)!.length + 1;
  }
  return parts.join(",");
}

async function initialize({ url }: ServerUnderLoad): Promise<string> {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: HEADERS,
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: {
        protocolVersion: "2025-03-26",
        capabilities: {},
        clientInfo: { name: "exhaust", version: "1" },
      },
    }),
  });
  await response.text();
  return response.headers.get("mcp-session-id")!;
}

async function post(
  { url }: ServerUnderLoad,
  session: string,
  body: string,
): Promise<{ status: number; bytes: number }> {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: { ...HEADERS, "mcp-session-id": session },
    body,
  });
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += chunk.byteLength;
  return { status: response.status, bytes };
}

function inMega(bytes: number): string {
  return (bytes / 1_000_000).toFixed(2);
}
