import assert from "node:assert/strict";
import { until as settled } from "effection";
import { createMcpPrompt, createMcpTool } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../../suite.ts";
import { type Exchange, type Fetch, ORIGIN } from "../../support/exchange.ts";
import { ABLE, initialize, TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { ask, echo, handTool } from "../../support/tools.ts";
import { HandStore } from "../../support/hand-store.ts";
import { idle, turn, until } from "../../support/turn.ts";

const version = "2024-11-05";
const legacySse = true;

/** A client of the old transport: its posts, and its one stream. */
async function open(fetch: Fetch): Promise<{ client: TestClient; stream: Exchange }> {
  const stream = await new TestClient(fetch, { url: `${ORIGIN}/sse` }).listen();
  assert.equal(stream.status, 200);
  const { event, data } = (await stream.frame())!;
  assert.equal(event, "endpoint");
  return { client: new TestClient(fetch, { url: `${ORIGIN}${data}` }), stream };
}

async function connect(fetch: Fetch, capabilities: object = ABLE) {
  const { client, stream } = await open(fetch);
  assert.equal((await client.post(initialize({ version, capabilities }))).status, 202);
  assert.equal((await stream.message())?.result.protocolVersion, version);
  assert.equal((await client.notify("notifications/initialized")).status, 202);
  return { client, stream };
}

const post = (client: TestClient, id: number, name: string, args: object = {}) =>
  client.post({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });

describe("HTTP+SSE", () => {
  it("exists only if it is enabled", () =>
    serving({ serve: [echo] }, async ({ fetch }) => {
      const old = new TestClient(fetch, { url: `${ORIGIN}/sse` });
      assert.equal((await old.listen()).status, 404);
    }));

  it("keeps its paths, even if the server is configured for one of them", () =>
    serving({ serve: [echo], legacySse, path: "/messages" }, async ({ fetch }) => {
      const { client, stream } = await connect(fetch);
      assert.equal((await post(client, 1, "echo", { text: "hi" })).status, 202);
      assert.equal((await stream.message())?.result.content[0].text, "hi");
    }));

  it("answers everything on its one stream", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [echo, tool], legacySse }, async ({ fetch, parley }) => {
      const { client, stream } = await connect(fetch, { sampling: {} });
      assert.equal((await post(client, 1, "echo", { text: "hi" })).status, 202);
      assert.equal((await stream.message())?.result.content[0].text, "hi");
      assert.equal((await post(client, 2, "hand")).status, 202);
      runs[0]!.log("news");
      assert.equal((await stream.expect("notifications/message")).params.data, "news");
      runs[0]!.do((ctx) => ctx.sample({ prompt: "Say yes" }));
      const question = await stream.expect("sampling/createMessage");
      await client.answer(question, {
        role: "assistant",
        content: { type: "text", text: "yes" },
        model: "m",
      });
      parley.remove("tool", "echo");
      await stream.expect("notifications/tools/list_changed");
      runs[0]!.finish();
      assert.equal((await stream.message())?.id, 2);
      assert.deepEqual([parley.counts.live, parley.counts.clientSessions], [0, 1]);
      await stream.leave();
      assert.equal(parley.counts.clientSessions, 0);
    });
  });

  it("acknowledges a query before its answer is ready", async () => {
    const found = Promise.withResolvers<string[]>();
    const prompt = createMcpPrompt("greet").description("Greets.")
      .arguments(z.object({ name: z.string() }))
      .completes({ name: () => settled(found.promise) })
      .execute(function* () {
        return "Hello";
      });
    await serving({ serve: [prompt], legacySse }, async ({ fetch }) => {
      const { client, stream } = await connect(fetch);
      const ref = { type: "ref/prompt", name: "greet" };
      const params = { ref, argument: { name: "name", value: "" } };
      const sent = client.post({ jsonrpc: "2.0", id: 1, method: "completion/complete", params });
      assert.equal((await sent).status, 202);
      found.resolve(["Ada"]);
      assert.deepEqual((await stream.message())?.result.completion.values, ["Ada"]);
    });
  });

  it("sends progress as heartbeat to a caller that asked for progress", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool], legacySse }, async ({ fetch, clock }) => {
      const { client, stream } = await connect(fetch);
      await client.post({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "hand", arguments: {}, _meta: { progressToken: "t" } },
      });
      const seen: number[] = [];
      for (let beat = 0; beat < 3; beat++) {
        clock.advance(20_000);
        const { params } = await stream.expect("notifications/progress");
        assert.equal(params.progressToken, "t");
        seen.push(params.progress);
      }
      assert.ok(seen[0]! < seen[1]! && seen[1]! < seen[2]!, `${seen}`);
      runs[0]!.finish();
      assert.equal((await stream.message())?.id, 1);
      await stream.leave();
    });
  });

  it("refuses what Streamable HTTP refuses", () =>
    serving({ serve: [echo], legacySse }, async ({ fetch, parley }) => {
      const { client, stream } = await connect(fetch);
      assert.equal((await client.post("{")).status, 400);
      assert.equal((await client.post([])).status, 400);
      assert.equal((await client.post({ jsonrpc: "2.0", id: 1, method: 5 })).status, 400);
      assert.equal((await client.answer({ id: "x" }, {})).status, 400);
      assert.equal((await client.post({}, { "content-type": "text/plain" })).status, 415);
      assert.equal((await client.listen()).status, 405);
      assert.equal((await client.end()).status, 405);
      for (const query of ["", "?sessionId=", "?sessionId=other"]) {
        const stranger = new TestClient(fetch, { url: `${ORIGIN}/messages${query}` });
        assert.equal((await stranger.post(initialize())).status, 404);
      }
      // Its session does not exist for Streamable HTTP.
      const other = new TestClient(fetch);
      other.sessionId = new URL(`${ORIGIN}/x`).pathname;
      assert.equal((await other.start("ping")).status, 404);
      await stream.leave();
      assert.equal((await client.post({ jsonrpc: "2.0", id: 1, method: "ping" })).status, 404);
      assert.equal(parley.counts.streams, 0);
    }));

  it("must be initialized before anything else but a ping", () =>
    serving({ serve: [echo], legacySse }, async ({ fetch }) => {
      const { client, stream } = await open(fetch);
      await client.post({ jsonrpc: "2.0", id: 1, method: "ping" });
      assert.deepEqual((await stream.message())?.result, {});
      await post(client, 2, "echo", { text: "hi" });
      assert.equal((await stream.message())?.error.code, -32600);
      await stream.leave();
    }));

  it("ends the calls of a client whose stream is gone: nothing could be resumed", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool], legacySse }, async ({ fetch, parley }) => {
      const { client, stream } = await connect(fetch);
      await post(client, 1, "hand");
      await stream.leave();
      assert.equal(runs[0]!.ended, true);
      assert.deepEqual([parley.counts.live, parley.counts.streams], [0, 0]);
    });
  });

  it("sends heartbeats, and ends with the server", () =>
    serving({ serve: [ask], legacySse }, async ({ fetch, clock, parley }) => {
      const { stream } = await connect(fetch);
      const frame = stream.frame();
      await turn();
      clock.advance(8_000);
      assert.deepEqual(await frame, { comment: "keep-alive" });
      await parley.close();
      assert.deepEqual(await stream.rest(), []);
    }));

  it("refuses requests while too much of its stream is unread, and accepts them again", () =>
    serving({ serve: [echo], legacySse }, async ({ fetch }) => {
      const { client, stream } = await connect(fetch);
      const text = "x".repeat(1_000_000);
      const statuses: number[] = [];
      for (let id = 1; id <= 10; id++) {
        statuses.push((await post(client, id, "echo", { text })).status);
      }
      // 4 MiB may wait, and the message that exceeds it.
      const accepted = statuses.filter((status) => status === 202).length;
      assert.ok(accepted >= 4 && accepted <= 6, `${statuses}`);
      assert.equal(statuses.at(-1), 503);
      assert.equal((await client.notify("notifications/initialized")).status, 202);
      for (let id = 1; id <= accepted; id++) assert.equal((await stream.message())?.id, id);
      assert.equal((await post(client, 11, "echo", { text: "hi" })).status, 202);
      assert.equal((await stream.message())?.id, 11);
      await stream.leave();
    }));

  it("disconnects a client that does not read what it asked for", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool], legacySse }, async ({ fetch, parley, clock }) => {
      const { client, stream } = await connect(fetch);
      await post(client, 1, "hand");
      for (let i = 0; i < 20; i++) runs[0]!.log("x".repeat(1_000_000));
      assert.equal(runs[0]!.ended, false);
      clock.advance(30_000);
      assert.equal(runs[0]!.ended, true);
      assert.deepEqual([parley.counts.live, parley.counts.clientSessions], [0, 0]);
      await stream.leave();
    });
  });

  it("accepts an answer to a durable call once it is recorded, and reports a failure to record", async () => {
    const durable = createMcpTool("durable").description("d").durable()
      .execute(function* (_params, ctx) {
        yield* ctx.sample({ prompt: "Say yes" });
        yield* ctx.sample({ prompt: "Say no" });
        return "done";
      });
    const store = new HandStore();
    await serving({ serve: [durable], store, legacySse }, async ({ fetch, faults }) => {
      const { client, stream } = await connect(fetch, { sampling: {} });
      const said = { role: "assistant", content: { type: "text", text: "yes" }, model: "m" };
      const commit = async () => {
        await until(() => store.commits.length > 0);
        store.commit();
      };
      await post(client, 1, "durable");
      await commit();
      const answered = client.answer(await stream.expect("sampling/createMessage"), said);
      let isAnswered = false;
      answered.then(() => isAnswered = true);
      await until(() => store.commits.length > 0);
      await idle();
      assert.equal(isAnswered, false);
      await commit();
      assert.equal((await answered).status, 202);
      await commit();
      const refused = client.answer(await stream.expect("sampling/createMessage"), said);
      await until(() => store.commits.length > 0);
      store.commits.shift()!.fail(new Error("disk full"));
      assert.equal((await refused).status, 503);
      assert.equal(faults.splice(0).length, 1);
      store.release();
      await stream.leave();
    });
  });

  it("has no more streams than the server allows", () =>
    serving({ legacySse, limits: { maxStreams: 1 } }, async ({ fetch }) => {
      const { stream } = await open(fetch);
      const { status, response } = await new TestClient(fetch, { url: `${ORIGIN}/sse` }).listen();
      assert.equal(status, 503);
      assert.ok(response.headers.get("retry-after"));
      await stream.leave();
    }));
});
