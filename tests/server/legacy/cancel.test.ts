import assert from "node:assert/strict";
import { action, type Operation } from "effection";
import { createMcpPrompt } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../../suite.ts";
import { ABLE, TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { ask, handTool } from "../../support/tools.ts";
import { until } from "../../support/turn.ts";

describe("notifications/cancelled", () => {
  it("stops the call, withdraws its question, and ends the stream without a response", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const calling = client.call("hand");
      await until(() => runs.length === 1);
      runs[0]!.ask();
      const call = await calling;
      const question = await call.expect("elicitation/create");
      const reason = "changed my mind";
      await client.notify("notifications/cancelled", { requestId: call.id, reason });
      assert.equal(runs[0]!.ended, true);
      const [withdrawn, ...rest] = await call.rest();
      assert.equal(withdrawn?.method, "notifications/cancelled");
      assert.equal(withdrawn?.params.requestId, question.id);
      assert.deepEqual(rest, []);
      assert.equal(parley.counts.live, 0);
      // Too late, and harmless.
      assert.equal((await client.answer(question, { action: "cancel" })).status, 202);
      await client.notify("notifications/cancelled", { requestId: call.id });
    });
  });

  it("ends the response if there is no stream yet, and leaves nothing to resume", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      const calling = client.call("hand");
      await until(() => runs.length === 1);
      await client.notify("notifications/cancelled", { requestId: 1 });
      const call = await calling;
      assert.equal(call.status, 200);
      // Without an id, no client will try to resume it.
      assert.deepEqual(await call.frames.rest(), [{ comment: "keep-alive" }]);
      assert.deepEqual([parley.counts.live, parley.counts.finished], [0, 0]);
      assert.equal((await client.listen("1.0")).status, 405);
    });
  });

  it("is ignored for a request that is not under way", () =>
    serving({ serve: [ask] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("ask");
      const question = await call.expect("elicitation/create");
      for (const requestId of [99, "1", null, undefined, question.id]) {
        assert.equal((await client.notify("notifications/cancelled", { requestId })).status, 202);
      }
      await client.answer(question, { action: "decline" });
      assert.equal(await call.text(), "decline");
    }));

  it("is ignored for another client's call", () =>
    serving({ serve: [ask] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const other = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("ask");
      const question = await call.expect("elicitation/create");
      await other.notify("notifications/cancelled", { requestId: call.id });
      await client.answer(question, { action: "decline" });
      assert.equal(await call.text(), "decline");
    }));

  it("stops a slow completion, and so does the end of the session", async () => {
    let running = 0;
    function* slowly(): Operation<readonly string[]> {
      running++;
      try {
        yield* action<void>(() => () => {});
        return [];
      } finally {
        running--;
      }
    }
    const prompt = createMcpPrompt("slow").description("Completes slowly")
      .arguments(z.object({ a: z.string() }))
      .completes({ a: slowly })
      .execute(function* () {
        return "text";
      });
    const params = {
      ref: { type: "ref/prompt", name: "slow" },
      argument: { name: "a", value: "" },
    };
    await serving({ serve: [prompt] }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      const cancelled = client.start("completion/complete", params, "c");
      await until(() => running === 1);
      const twice = await client.start("completion/complete", params, "c");
      assert.equal((await twice.message())?.error.code, -32600);
      await client.notify("notifications/cancelled", { requestId: "c" });
      assert.equal(running, 0);
      assert.equal((await (await cancelled).message())?.error.code, -32603);

      const left = client.start("completion/complete", params, "d");
      await until(() => running === 1);
      await client.end();
      assert.equal(running, 0);
      assert.ok((await (await left).message())?.error);

      const other = await TestClient.connect(fetch);
      const closed = other.start("completion/complete", params);
      await until(() => running === 1);
      await parley.close();
      assert.equal(running, 0);
      assert.ok((await (await closed).message())?.error);
    });
  });
});

describe("DELETE", () => {
  it("halts the client's calls and ends its streams", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch, parley, clock }) => {
      const client = await TestClient.connect(fetch);
      const started = [client.call("hand"), client.call("hand")];
      await until(() => runs.length === 2);
      runs[0]!.log("begun");
      const streaming = await started[0]!;
      const standing = await client.listen();
      assert.equal((await client.end()).status, 204);
      assert.deepEqual(runs.map(({ ended }) => ended), [true, true]);
      assert.equal((await streaming.rest()).length, 1);
      assert.deepEqual(await standing.rest(), []);
      // One was still undecided: its session is gone.
      clock.advance(100);
      assert.equal((await started[1]!).status, 404);
      assert.equal(parley.counts.streams, 0);
      assert.equal(parley.counts.clientSessions, 0);
    });
  });
});
