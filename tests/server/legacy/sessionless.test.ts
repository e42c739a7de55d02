/** Legacy requests without a session id. */
import assert from "node:assert/strict";
import { createMcpResource, createMcpTool } from "parley-mcp";
import { InMemoryToolSessionStore } from "../../../src/store/memory.ts";
import { describe, it } from "../../suite.ts";
import { ABLE, initialize, TestClient, textOf } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { ask, echo, handTool } from "../../support/tools.ts";
import { idle, until } from "../../support/turn.ts";

const page = createMcpResource("page").uri("notes://x").read(function* () {
  return "text";
});
const announcing = createMcpTool("announcing").description("d").execute(function* (_params, ctx) {
  yield* ctx.listChanged("tools");
  yield* ctx.resourceUpdated("notes://x");
  return "announced";
});

/** A client that was initialized, and lost its session id. */
async function forgetful(fetch: ConstructorParameters<typeof TestClient>[0], headers = {}) {
  const client = new TestClient(fetch, { headers });
  assert.equal((await client.post(initialize({ capabilities: ABLE }))).status, 200);
  assert.equal((await client.notify("notifications/initialized")).status, 202);
  return client;
}

describe("a legacy request without a session id", () => {
  it("is answered by itself, call after call", () =>
    serving({ serve: [echo, page] }, async ({ fetch, parley }) => {
      const client = await forgetful(fetch);
      const { result: { tools } } = await client.request("tools/list");
      assert.deepEqual(tools.map(({ name }: { name: string }) => name), ["echo"]);
      for (const text of ["one", "two"]) {
        const { result } = await client.request("tools/call", {
          name: "echo",
          arguments: { text },
        });
        assert.equal(textOf(result), text);
      }
      const { result } = await client.request("resources/read", { uri: "notes://x" });
      assert.equal(result.contents[0].text, "text");
      assert.deepEqual((await client.request("ping")).result, {});
      assert.equal(parley.counts.clientSessions, 1, "only the one that initialize opened");
      assert.deepEqual([parley.counts.live, parley.counts.finished], [0, 0]);
    }));

  it("is answered by a server that was never initialized", () =>
    serving({ serve: [echo] }, async ({ fetch, parley }) => {
      const params = { name: "echo", arguments: { text: "hi" } };
      const { result } = await new TestClient(fetch).request("tools/call", params);
      assert.equal(textOf(result), "hi");
      assert.equal(parley.counts.clientSessions, 0);
    }));

  it("has no capabilities, whatever initialize declared", () =>
    serving({ serve: [ask], doors: ["form"] }, async ({ fetch }) => {
      const client = await forgetful(fetch);
      const { result } = await client.request("tools/call", { name: "ask" });
      assert.equal(result.isError, true);
      assert.match(textOf(result), /this client does not support elicitation/);
    }));

  it("gets progress on a stream without event ids, in every revision", async () => {
    for (const version of ["2025-11-25", "2025-06-18", undefined]) {
      const { tool, runs } = handTool();
      await serving({ serve: [tool] }, async ({ fetch, parley }) => {
        const headers = version ? { "mcp-protocol-version": version } : {};
        const client = await forgetful(fetch, headers);
        const calling = client.call("hand", {}, { progressToken: "p" });
        await until(() => runs.length === 1);
        runs[0]!.notify("half", 1, 2);
        const call = await calling;
        runs[0]!.finish("whole");
        const frames = await call.frames.rest();
        assert.deepEqual(frames.map(({ id }) => id).filter((id) => id !== undefined), []);
        const messages = frames.flatMap(({ data }) => data ? [JSON.parse(data)] : []);
        assert.equal(messages[0].params.message, "half");
        assert.equal(messages[1].result.content[0].text, "whole");
        assert.deepEqual([parley.counts.live, parley.counts.finished], [0, 0]);
      });
    }
  });

  it("is cancelled with its connection: nobody could resume it", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch, parley }) => {
      const client = await forgetful(fetch);
      const calling = client.call("hand", {}, { progressToken: "p" });
      await until(() => runs.length === 1);
      runs[0]!.notify("begun");
      const call = await calling;
      await call.leave();
      await until(() => runs[0]!.ended);
      assert.equal(parley.counts.live, 0);
      assert.equal(parley.counts.streams, 0);
    });
  });

  it("is not revived after a restart, even if its tool is durable", async () => {
    const store = new InMemoryToolSessionStore();
    let starts = 0;
    const slow = createMcpTool("slow").description("d").durable({ version: "1" })
      .execute(function* (_params, ctx) {
        starts++;
        yield* ctx.notify("begun");
        yield* ctx.sleep(60_000);
        return "done";
      });
    await serving({ serve: [slow], store }, async ({ fetch, parley }) => {
      const call = await (await forgetful(fetch)).call("slow", {}, { progressToken: "p" });
      await parley.close();
      const [, last] = await call.rest();
      assert.match(last?.error.message, /the server is shutting down; call again/);
    });
    await serving({ serve: [slow], store }, async ({ clock }) => {
      await idle();
      clock.advance(120_000);
      await idle();
      assert.equal(starts, 1);
    });
  });

  it("is a single call: a batch is refused, and two calls may have the same id", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool, echo] }, async ({ fetch }) => {
      const client = await forgetful(fetch);
      const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
      const response = await client.post([ping]);
      assert.equal(response.status, 400);
      assert.match(await response.text(), /has no session id/);
      const calls = [1, 1].map((id) => client.start("tools/call", { name: "hand" }, id));
      await until(() => runs.length === 2);
      runs.forEach((run, i) => run.finish(`${i}`));
      const texts = await Promise.all(calls.map(async (call) => await (await call).text()));
      assert.deepEqual(texts.sort(), ["0", "1"]);
    });
  });

  it("reaches nothing that belongs to a session", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool, ask, page, announcing] }, async ({ fetch }) => {
      const owner = await TestClient.connect(fetch, { capabilities: ABLE });
      const asking = await owner.call("ask");
      const question = await asking.expect("elicitation/create");
      const working = owner.start("tools/call", { name: "hand" }, "w");
      await until(() => runs.length === 1);

      const stranger = await forgetful(fetch);
      assert.equal((await stranger.answer(question, { action: "decline" })).status, 400);
      await stranger.notify("notifications/cancelled", { requestId: "w" });
      assert.equal(runs[0]!.ended, false);
      for (
        const [method, params] of [
          ["logging/setLevel", { level: "debug" }],
          ["resources/subscribe", { uri: "notes://x" }],
          ["resources/unsubscribe", { uri: "notes://x" }],
        ] as const
      ) {
        const { error } = await stranger.request(method, params);
        assert.match(error.message, /has no session id/);
      }
      assert.equal((await stranger.listen("1.0")).status, 405);
      const { result } = await stranger.request("tools/call", { name: "announcing" });
      assert.equal(textOf(result), "announced");

      await owner.answer(question, { action: "accept", content: { number: 4 } });
      assert.equal(await asking.text(), "It is 4");
      runs[0]!.finish("kept");
      assert.equal(await (await working).text(), "kept");
    });
  });

  it("still gets 404 for a session that is gone", () =>
    serving({ serve: [echo] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      await client.end();
      assert.equal((await client.start("tools/list")).status, 404);
    }));
});
