/**
 * Live heap while a million short calls are made, in both eras: it must not grow.
 *
 *     deno task bench memory
 */
import { createParley } from "../src/mod.ts";
import { find } from "./kit/findings.ts";
import { heapMeter } from "./kit/heap.ts";
import { serve } from "./servers/tools.ts";

const CALLS = 1_000_000;
const PARTS = 5;
/** Maximum growth in kilobytes. One byte for each call would be a thousand kilobytes. */
const MAX_GROWTH = 512;

const parley = createParley({ serve });
const heap = await heapMeter();
const common = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};
const session = await initialize();
const legacy = { ...common, "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
const modern = {
  ...common,
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "add",
};
const _meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

const sizes: number[] = [];
for (let part = 0; part < PARTS; part++) {
  for (let n = 0; n < CALLS / PARTS; n++) await call(n);
  sizes.push(heap() / 1_024);
}
console.log(`  live heap in KB: ${sizes.map(Math.round).join(", ")}`);
// The first measurement comes after a warm-up, which fills caches and compiles code.
const growth = sizes.at(-1)! - sizes[0]!;
find("memory", "growth of the live heap over 800 000 calls", growth, "KB", { most: MAX_GROWTH });
await parley.close();

async function call(n: number): Promise<void> {
  const isModern = n % 2 === 1;
  const params = { name: "add", arguments: { a: n, b: 1 }, ...(isModern && { _meta }) };
  const response = await post(isModern ? modern : legacy, {
    jsonrpc: "2.0",
    id: n,
    method: "tools/call",
    params,
  });
  const { id, result } = await response.json();
  if (id !== n || result?.content?.[0]?.text !== String(n + 1)) {
    throw new Error(`Cannot count a call: ${JSON.stringify(result)}`);
  }
}

async function initialize(): Promise<string> {
  const clientInfo = { name: "bench", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const response = await post(common, { jsonrpc: "2.0", id: "i", method: "initialize", params });
  return response.headers.get("mcp-session-id")!;
}

function post(headers: Record<string, string>, message: object): Promise<Response> {
  const body = JSON.stringify(message);
  return parley.fetch(
    new Request("http://127.0.0.1/mcp", {
      method: "POST",
      headers: { ...headers, "content-length": String(body.length) },
      body,
    }),
  );
}
