/** What must be true wherever a server is mounted. `address` is that of the endpoint. */
import assert from "node:assert/strict";
import { connectV1, connectV2, type Official } from "../support/official-clients.ts";

/** A call with several rounds, in both eras. */
export async function servesBothEras(address: string): Promise<void> {
  const clients: [string, Promise<Official>][] = [
    ["2025-11-25", connectV1(address)],
    ["2026-07-28", connectV2(address, "auto")],
  ];
  for (const [version, connecting] of clients) {
    const client = await connecting;
    try {
      assert.equal(client.version, version);
      await client.call("plan_trip", { to: "Graz" });
    } finally {
      await client.close();
    }
    const { questions, answers, result } = client.conversation;
    assert.deepEqual([questions.length, answers.length], [4, 4]);
    const { structuredContent } = result as { structuredContent: { plan: string } };
    assert.equal(structuredContent.plan, "Graz on 2026-08-01, window");
  }
}

const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
};

function body(name: string, args = {}): string {
  return JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: {
      name,
      arguments: args,
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    },
  });
}

/** A client that leaves is noticed, and its call is halted. */
export async function noticesLeaving(address: string, halted: () => Promise<void>): Promise<void> {
  const gone = new AbortController();
  const headers = { ...HEADERS, "mcp-name": "stubborn" };
  const response = await fetch(address, {
    method: "POST",
    headers,
    body: body("stubborn"),
    signal: gone.signal,
  });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const reader = response.body!.getReader();
  assert.equal((await reader.read()).done, false, "the first chunk comes at once");
  gone.abort();
  await halted();
}

/** A body that is too large is refused, and a smaller one is read completely. */
export async function takesBodies(address: string): Promise<void> {
  const headers = { ...HEADERS, "mcp-name": "echo" };
  const post = (text: string) =>
    fetch(address, { method: "POST", headers, body: body("echo", { text }) });
  const text = "ä✓".repeat(300_000);
  const echoed = await (await post(text)).json();
  assert.equal(echoed.result.content[0].text, text);
  const refused = await post("x".repeat(5_000_000)).catch(() => undefined);
  // Some servers disconnect before the client has sent everything.
  if (refused) {
    assert.equal(refused.status, 413);
    await refused.body?.cancel();
  }
  const wrong = await fetch(new URL("/elsewhere", address));
  assert.equal(wrong.status, 404);
  await wrong.body?.cancel();
}
