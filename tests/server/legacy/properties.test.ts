/** For any input: a well-formed response, an unharmed server, and nothing left behind. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { createMcpPrompt, createMcpResource, createMcpTool } from "parley-mcp";
import { z } from "zod";
import { LEGACY_VERSIONS } from "../../../src/wire/versions.ts";
import { describe, it } from "../../suite.ts";
import { Exchange, type Message } from "../../support/exchange.ts";
import { ABLE, initialize, TestClient } from "../../support/legacy/client.ts";
import { complaintsAbout } from "../../support/legacy/schemas.ts";
import { serving } from "../../support/legacy/server.ts";
import { ask, echo } from "../../support/tools.ts";

const serve = [
  echo,
  ask,
  createMcpTool("any").description("Takes anything").parameters({ type: "object" })
    .execute(function* (params) {
      return JSON.stringify(params);
    }),
  createMcpPrompt("prompt").description("d").arguments(z.object({ a: z.string() }))
    .execute(function* ({ a }) {
      return a;
    }),
  createMcpResource("note").uri("notes://{name}").read(function* ({ name }) {
    return name;
  }),
];

const STATUSES = [200, 202, 400, 404, 406, 413, 415, 429, 503];

/** Reads the response as far as it comes by itself, and checks its form. */
async function assertWellFormed(response: Response): Promise<void> {
  assert.ok(STATUSES.includes(response.status), `${response.status}`);
  if (response.status === 202) return assert.equal(await response.text(), "");
  const exchange = new Exchange(response);
  // A question leaves its stream open; its first message is enough.
  const messages = exchange.isStream
    ? [await exchange.message()]
    : [await response.json()].flat() as Message[];
  if (exchange.isStream) await exchange.leave();
  for (const message of messages) {
    if (!message) continue;
    assert.equal(message.jsonrpc, "2.0");
    if (!message.error) continue;
    assert.deepEqual(await complaintsAbout("2025-11-25", message), []);
    assert.doesNotMatch(message.error.message, /\.ts:|\bat \w/);
    if (response.status !== 200) assert.equal("result" in message, false);
  }
}

const version = fc.constantFrom(...LEGACY_VERSIONS);

/** Valid messages, to be corrupted. */
const valid = fc.constantFrom<object>(
  initialize(),
  { jsonrpc: "2.0", id: 1, method: "ping" },
  { jsonrpc: "2.0", id: 1, method: "tools/list", params: { cursor: "x" } },
  {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "echo", arguments: { text: "" } },
  },
  { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "any", arguments: { a: [1] } } },
  {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "ask", _meta: { progressToken: 1 } },
  },
  {
    jsonrpc: "2.0",
    id: 1,
    method: "prompts/get",
    params: { name: "prompt", arguments: { a: "b" } },
  },
  { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: "notes://x" } },
  { jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "notes://x" } },
  { jsonrpc: "2.0", id: 1, method: "logging/setLevel", params: { level: "info" } },
  {
    jsonrpc: "2.0",
    id: 1,
    method: "completion/complete",
    params: { ref: { type: "ref/prompt", name: "prompt" }, argument: { name: "a", value: "" } },
  },
  { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1, reason: "r" } },
  { jsonrpc: "2.0", id: "elicit_x_1", result: { action: "accept", content: {} } },
  { jsonrpc: "2.0", id: "elicit_x_1", error: { code: 1, message: "no" } },
);

const odd = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(
    null,
    "__proto__",
    "constructor",
    -0,
    1e308,
    { toString: null },
    { valueOf: 1, toString: 1 },
    [[]],
    "\u0000",
    "\ud800",
  ),
);

/** Inserts something odd into a message, anywhere, or removes something. */
const spoilt = fc.tuple(
  valid,
  fc.array(fc.tuple(fc.nat(), fc.option(odd)), { minLength: 1, maxLength: 3 }),
)
  .map(([message, changes]) => {
    const copy = structuredClone(message);
    for (const [at, value] of changes) {
      const places = placesIn(copy);
      const [holder, key] = places[at % places.length]!;
      if (value === null) delete holder[key];
      else holder[key] = structuredClone(value);
    }
    return copy;
  });

function placesIn(value: unknown): [Record<string, unknown>, string][] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as Record<string, unknown>;
  return [
    [holder, "added"],
    ...Object.keys(holder).flatMap((key): [Record<string, unknown>, string][] => [
      [holder, key],
      ...placesIn(holder[key]),
    ]),
  ];
}

async function answers(bodies: fc.Arbitrary<string>, runs: number): Promise<void> {
  await serving({ serve }, async ({ parley }) => {
    await fc.assert(
      fc.asyncProperty(version, bodies, async (version, body) => {
        const client = await TestClient.connect(parley.fetch, { version, capabilities: ABLE });
        await assertWellFormed(await client.post(body));
        assert.deepEqual((await client.request("ping")).result, {});
        assert.equal((await client.end()).status, 204);
        assert.equal(parley.counts.streams, 0);
        assert.equal(parley.counts.live, 0);
      }),
      { numRuns: runs },
    );
    // Corrupted `initialize` requests have started their own sessions.
    assert.ok(parley.counts.clientSessions <= runs);
  });
}

describe("parley.fetch()", () => {
  it("gives a well-formed response to every text", () =>
    answers(fc.string({ maxLength: 50 }), 100));

  it("gives a well-formed response to every JSON value", () => answers(fc.json(), 200));

  it("gives a well-formed response to every almost valid message", () =>
    answers(spoilt.map((message) => JSON.stringify(message)), 600));

  it("gives a well-formed response to every batch of almost valid messages", () =>
    answers(fc.array(spoilt, { maxLength: 6 }).map((batch) => JSON.stringify(batch)), 150));

  it("gives a response to every set of headers", () =>
    serving({ serve }, async ({ parley }) => {
      const text = fc.string({ maxLength: 20 }).map((text) => text.replace(/[^\x21-\x7e]/g, "x"));
      const header = (...usual: string[]) => fc.option(fc.oneof(fc.constantFrom(...usual), text));
      const headers = fc.record({
        "accept": header("*/*", "text/event-stream", "application/json, text/event-stream"),
        "content-type": header("application/json"),
        "mcp-session-id": header(""),
        "mcp-protocol-version": header(...LEGACY_VERSIONS, "2026-07-28"),
        "last-event-id": header("0.0", "1.0", "1.0-0", "9.9"),
        "origin": header("http://localhost", "null"),
      });
      const method = fc.constantFrom("GET", "POST", "DELETE", "OPTIONS", "PUT");
      const client = await TestClient.connect(parley.fetch);
      const session = client.sessionId!;
      await fc.assert(
        fc.asyncProperty(method, headers, fc.boolean(), async (method, headers, own) => {
          client.sessionId = own && method !== "DELETE" ? session : undefined;
          const given = Object.fromEntries(
            Object.entries(headers).filter(([, value]) => value !== null),
          ) as Record<string, string>;
          if (own) delete given["mcp-session-id"];
          const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
          const { status, body } = await client.send(
            method,
            given,
            method === "POST" ? ping : undefined,
          );
          await body?.cancel();
          assert.ok(status >= 200 && status < 500 || status === 503, `${status}`);
          assert.equal(parley.counts.streams, 0);
        }),
        { numRuns: 300 },
      );
      client.sessionId = session;
      assert.deepEqual((await client.request("ping")).result, {});
    }));
});
