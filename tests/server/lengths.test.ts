/** Limits on what the server keeps of a caller's own text. */
import assert from "node:assert/strict";
import { createMcpResource, type EndedCall } from "parley-mcp";
import { describe, it } from "../suite.ts";
import { ABLE, initialize, TestClient } from "../support/legacy/client.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { serving as servingModern } from "../support/modern/server.ts";
import { serving } from "../support/legacy/server.ts";
import { ask, echo } from "../support/tools.ts";
import { until } from "../support/turn.ts";

const LONG = "ü".repeat(100_000);
const META = "io.modelcontextprotocol/";

describe("a client's name and version", () => {
  it("are truncated in the modern era as in the legacy era", () => {
    const calls: EndedCall[] = [];
    const onCall = (call: EndedCall) => void calls.push(call);
    return servingModern({ serve: [echo], onCall }, async ({ fetch, parley }) => {
      const clientInfo = { name: LONG, version: LONG };
      const modern = new ModernClient(fetch, { meta: { [`${META}clientInfo`]: clientInfo } });
      await modern.call("echo", { text: "hi" });
      const legacy = new TestClient(parley.fetch);
      const opened = await legacy.post({
        ...initialize(),
        params: { ...initialize().params, clientInfo },
      });
      legacy.sessionId = opened.headers.get("mcp-session-id")!;
      await legacy.call("echo", { text: "hi" });
      assert.deepEqual(
        calls.map(({ client: { name, version } }) => [name, version]),
        Array(2).fill(["ü".repeat(200), "ü".repeat(200)]),
      );
    });
  });
});

describe("a client's capabilities", () => {
  it("are refused in the modern era above the limit of the legacy era", () =>
    servingModern({ serve: [echo] }, async ({ fetch }) => {
      const call = (experimental: object) =>
        new ModernClient(fetch, { capabilities: { experimental } })
          .start("tools/call", { name: "echo", arguments: { text: "hi" } });
      const refused = await call({ long: { text: LONG } });
      assert.equal(refused.status, 400);
      const { error } = (await refused.rest())[0]!;
      assert.equal(error.code, -32602);
      assert.match(error.message, /clientCapabilities.* is larger than 16384 bytes/);
      // Many short ones take more memory than their length.
      const many = (length: number) => ({ many: { lists: Array.from({ length }, () => []) } });
      assert.equal((await call(many(600))).status, 400);
      assert.equal((await call(many(400))).status, 200);
    }));
});

describe("a progress token and an id", () => {
  it("are refused above the limit", () =>
    servingModern({ serve: [ask] }, async ({ fetch, parley }) => {
      const modern = await new ModernClient(fetch, { meta: { progressToken: LONG } })
        .start("tools/call", { name: "ask" });
      assert.equal(modern.status, 400);
      assert.match((await modern.rest())[0]!.error.message, /progressToken is longer than 1024/);
      const legacy = await TestClient.connect(parley.fetch, { capabilities: ABLE });
      const token = await (await legacy.call("ask", {}, { progressToken: LONG })).response.json();
      assert.match(token.error.message, /progressToken is longer than 1024/);
      const id = await legacy.post({ jsonrpc: "2.0", id: LONG, method: "ping" });
      assert.equal(id.status, 400);
      assert.match((await id.json()).error.message, /id is longer than 1024/);
      assert.equal(parley.counts.live, 0);
    }));
});

describe("the reason for a cancellation", () => {
  it("is truncated", () => {
    const calls: EndedCall[] = [];
    const onCall = (call: EndedCall) => void calls.push(call);
    return serving({ serve: [ask], onCall }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("ask");
      await call.expect("elicitation/create");
      await client.notify("notifications/cancelled", { requestId: call.id, reason: LONG });
      await until(() => calls.length > 0);
      const { outcome } = calls[0]!;
      assert.deepEqual(outcome, { status: "cancelled", reason: "ü".repeat(500) });
      await call.rest();
    });
  });
});

describe("a trace context", () => {
  it("is dropped if it is longer than the standard allows", () => {
    const traces: unknown[] = [];
    const tracing = createMcpResource("trace").uri("trace://here").description("A trace")
      .read(function* (_variables, ctx) {
        traces.push(ctx.trace);
        return "";
      });
    return servingModern({ serve: [tracing] }, async ({ fetch }) => {
      const meta = { traceparent: "00-1-2-01", tracestate: LONG, baggage: "a=1" };
      await new ModernClient(fetch, { meta }).result("resources/read", { uri: "trace://here" });
      assert.deepEqual(traces, [{ traceparent: "00-1-2-01", baggage: "a=1" }]);
    });
  });
});

describe("subscriptions/listen", () => {
  const item = createMcpResource("item").uri("item://{n}").description("An item")
    .read(function* () {
      return "";
    });
  const listen = (client: ModernClient, notifications: object) =>
    client.start("subscriptions/listen", { notifications });
  const uris = (length: number) => Array.from({ length }, (_, n) => `item://${n}`);

  it("accepts as many resources as the legacy era, and no more", () =>
    servingModern({ serve: [item] }, async ({ fetch, parley }) => {
      const client = new ModernClient(fetch);
      const most = await listen(client, { resourceSubscriptions: uris(1_000) });
      const { params } = await most.expect("notifications/subscriptions/acknowledged");
      assert.equal(params.notifications.resourceSubscriptions.length, 1_000);
      const more = await listen(client, { resourceSubscriptions: uris(1_001) });
      const { error } = (await more.rest())[0]!;
      assert.equal(error.code, -32602);
      assert.match(
        error.message,
        /^Cannot listen: the request names 1001 resources and tasks; name at most 1000/,
      );
      assert.equal(parley.counts.streams, 1);
      await most.leave();
    }));

  it("counts tasks too", () =>
    servingModern({ serve: [item] }, async ({ fetch }) => {
      const capabilities = { extensions: { [`${META}tasks`]: {} } };
      const client = new ModernClient(fetch, { capabilities });
      const taskIds = uris(1);
      const refused = await listen(client, { resourceSubscriptions: uris(1_000), taskIds });
      assert.match((await refused.rest())[0]!.error.message, /names 1001 resources and tasks/);
    }));
});
