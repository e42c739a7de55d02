import assert from "node:assert/strict";
import { describe, it } from "../../suite.ts";
import { ABLE, initialize, TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { ask, echo, handTool } from "../../support/tools.ts";
import { until } from "../../support/turn.ts";

function assertBusy({ status, headers }: Response, expected: number): void {
  assert.equal(status, expected);
  assert.match(headers.get("retry-after")!, /^\d+$/);
}

describe("limits", () => {
  it("on running calls of one client session answer 429, and leave other clients alone", () =>
    serving({ serve: [ask], limits: { maxCallsPerClientSession: 2 } }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const calls = [await client.call("ask"), await client.call("ask")];
      const refused = await client.call("ask");
      assertBusy(refused.response, 429);
      assert.equal((await refused.response.json()).id, refused.id);
      const other = await TestClient.connect(fetch, { capabilities: ABLE });
      assert.equal((await other.call("ask")).status, 200);
      await client.answer(await calls[0]!.expect("elicitation/create"), { action: "decline" });
      assert.equal(await calls[0]!.text(), "decline");
      assert.equal((await client.call("ask")).status, 200);
    }));

  it("on all running calls answer 503", () =>
    serving({ serve: [ask], limits: { maxSessions: 1 } }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const first = await client.call("ask");
      assertBusy((await client.call("ask")).response, 503);
      await client.notify("notifications/cancelled", { requestId: first.id });
      assert.equal(parley.counts.live, 0);
      assert.equal((await client.call("ask")).status, 200);
    }));

  it("on open streams answer 503 before anything runs, so that a retry repeats nothing", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool, echo], limits: { maxStreams: 1 } }, async (server) => {
      const { fetch, parley } = server;
      const client = await TestClient.connect(fetch);
      const standing = await client.listen();
      const call = await client.call("hand");
      assertBusy(call.response, 503);
      assert.equal((await call.response.json()).id, call.id);
      assert.equal(runs.length, 0);
      assert.equal(parley.counts.live, 0);
      // Requests that never need a stream are still served.
      assert.ok((await client.request("tools/list")).result);
      await standing.leave();
      assert.equal(await (await client.call("echo", { text: "hi" })).text(), "hi");
    });
  });

  it("on client sessions make room by ending the one that was idle longest", () =>
    serving({ serve: [ask], limits: { maxClientSessions: 3 } }, async (server) => {
      const { fetch, clock, parley } = server;
      const clients: TestClient[] = [];
      for (let i = 0; i < 3; i++) {
        clients.push(await TestClient.connect(fetch, { capabilities: ABLE }));
        clock.advance(1_000);
      }
      // The oldest is used all the time, never with a long pause in between.
      for (let i = 0; i < 5; i++) {
        clock.advance(30_000);
        await clients[0]!.request("ping");
      }
      const fourth = await TestClient.connect(fetch);
      assert.equal(parley.counts.clientSessions, 3);
      assert.equal((await clients[0]!.start("ping")).status, 200);
      assert.equal((await clients[1]!.start("ping")).status, 404);
      assert.equal((await clients[2]!.start("ping")).status, 200);
      assert.equal((await fourth.start("ping")).status, 200);
    }));

  it("on client sessions answer 503 if all of them are in use", () =>
    serving({ serve: [ask], limits: { maxClientSessions: 2 } }, async ({ fetch }) => {
      const calling = await TestClient.connect(fetch, { capabilities: ABLE });
      const listening = await TestClient.connect(fetch);
      const call = await calling.call("ask");
      await call.expect("elicitation/create");
      await call.leave();
      const stream = await listening.listen();
      assertBusy(await new TestClient(fetch).post(initialize()), 503);
      await stream.leave();
      await TestClient.connect(fetch);
      assert.equal((await listening.start("ping")).status, 404);
      assert.equal((await calling.start("ping")).status, 200);
    }));
});

describe("timeouts", () => {
  it("end a client session that nobody uses", () =>
    serving(
      { serve: [ask], limits: { clientSessionTimeToLive: 60_000 } },
      async ({ fetch, clock, parley }) => {
        const client = await TestClient.connect(fetch);
        clock.advance(59_999);
        await client.request("ping");
        clock.advance(59_999);
        assert.equal(parley.counts.clientSessions, 1);
        clock.advance(1);
        assert.equal(parley.counts.clientSessions, 0);
        assert.equal((await client.start("ping")).status, 404);
        assert.equal(clock.timers, 0);
      },
    ));

  it("do not end a session that listens or has a running call, until that is over", () =>
    serving({
      serve: [ask],
      limits: { clientSessionTimeToLive: 60_000, waitingTimeToLive: 600_000 },
    }, async ({ fetch, clock, parley }) => {
      const listening = await TestClient.connect(fetch);
      const stream = await listening.listen();
      await stream.frame();
      const calling = await TestClient.connect(fetch, { capabilities: ABLE });
      await (await calling.call("ask")).leave();
      for (let i = 0; i < 60; i++) {
        const frame = stream.frame();
        await until(() => clock.timers > 0);
        clock.advance(8_000);
        await frame;
      }
      assert.equal(parley.counts.clientSessions, 2);
      await stream.leave();
      // Nobody came back to answer: the call expires first, then the session.
      clock.advance(130_000);
      assert.equal(parley.counts.live, 0);
      clock.advance(130_000);
      assert.deepEqual(parley.counts, { live: 0, finished: 0, streams: 0, clientSessions: 0 });
      assert.equal(clock.timers, 0);
    }));

  it("end a question that nobody is there to answer, and say so to later callers", () =>
    serving({ serve: [ask], limits: { waitingTimeToLive: 60_000 } }, async ({ fetch, clock }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("ask");
      const question = await call.expect("elicitation/create");
      await call.leave();
      clock.advance(60_000);
      const resumed = await client.listen(call.lastEventId);
      const [withdrawn, answer] = await resumed.rest();
      assert.equal(withdrawn?.method, "notifications/cancelled");
      assert.match(answer?.error.message, /nobody answered in time/);
      assert.equal((await client.answer(question, { action: "decline" })).status, 202);
    }));
});
