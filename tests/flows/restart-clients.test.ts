/**
 * The records of legacy clients: that they are correct, stay small, and belong to one principal.
 */
import assert from "node:assert/strict";
import { run } from "effection";
import { z } from "zod";
import { createManualClock, createMcpTool } from "../../src/mod.ts";
import { ABLE, TestClient } from "../support/legacy/client.ts";
import { type Life, living } from "../support/life.ts";
import { describe, it } from "../suite.ts";

const name = { response: z.object({ name: z.string() }) };
const ping = { jsonrpc: "2.0", id: "ping", method: "ping" };

const noisy = createMcpTool("noisy").description("d").execute(function* (_params, ctx) {
  yield* ctx.notify("hello");
  return "done";
});

const asking = createMcpTool("asking").description("d").elicits({ who: name })
  .execute(function* (_params, ctx) {
    yield* ctx.elicit("who", { message: "Who?" });
    return "done";
  });

/** Sends progress, sleeps, and ends. */
const sleeper = createMcpTool("sleeper").description("d").durable()
  .execute(function* (_params, ctx) {
    yield* ctx.notify("tired");
    yield* ctx.sleep(3_600_000);
    return "done";
  });

async function connect(life: Life, options: object = {}): Promise<TestClient> {
  const fetch = (request: Request) => life.parley.fetch(request);
  return await TestClient.connect(fetch, { capabilities: ABLE, ...options });
}

async function recordOf(life: Life, client: TestClient): Promise<Kept> {
  const record = await run(() => life.stores.clients.get(client.sessionId!));
  return record!.state as unknown as Kept;
}

interface Kept {
  readonly logLevel: string;
  readonly streams: readonly { readonly calls: readonly { readonly session: string }[] }[];
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Waits until running work has finished. */
async function rest(): Promise<void> {
  for (let turns = 0; turns < 30; turns++) await turn();
}

describe("a legacy client's calls that have ended", () => {
  it("do not count against it after a restart", () =>
    living({ serve: [noisy], limits: { maxCallsPerClientSession: 3 } }, async (life) => {
      await life.start();
      const client = await connect(life);
      for (let calls = 0; calls < 4; calls++) {
        const call = await client.call("noisy", {}, { progressToken: calls });
        assert.equal((await call.rest()).at(-1)?.id, call.id);
      }
      await life.start();
      const call = await client.call("noisy", {}, { progressToken: "again" });
      assert.equal(call.status, 200);
      assert.equal((await call.rest()).at(-1)?.id, call.id);
    }));

  it("do not count against it if they ended while no server knew of it", () => {
    const clock = createManualClock();
    return living(
      { serve: [sleeper], clock, limits: { maxCallsPerClientSession: 2 } },
      async (life) => {
        await life.start();
        const client = await connect(life);
        for (let calls = 0; calls < 2; calls++) {
          const call = await client.call("sleeper", {}, { progressToken: calls });
          await call.expect("notifications/progress");
          await call.leave();
        }
        await life.start();
        const third = await client.call("sleeper", {}, { progressToken: 3 });
        assert.equal(third.status, 429, "both are still asleep");
        await third.message();
        await life.start();
        await rest();
        clock.advance(3_600_000);
        while (life.parley.counts.finished < 2) {
          clock.advance(1);
          await turn();
        }
        const fourth = await client.call("sleeper", {}, { progressToken: 4 });
        assert.equal(fourth.status, 200);
        await fourth.leave();
      },
    );
  });

  it("are forgotten once their loss was reported", () =>
    living({ serve: [asking] }, async (life) => {
      await life.start();
      const client = await connect(life);
      for (let restarts = 0; restarts < 3; restarts++) {
        const call = await client.call("asking");
        await call.expect("elicitation/create");
        await life.start();
        const { streams } = await recordOf(life, client);
        assert.equal(streams.length, 1, `after ${restarts} restarts`);
        const [told] = await (await client.listen(call.lastEventId)).rest();
        assert.equal(told?.id, call.id);
      }
    }));

  it("are not kept longer than their records, even if their client never returns", () => {
    const clock = createManualClock();
    return living(
      { serve: [sleeper], clock, limits: { durableTimeToLive: 3_600_000 } },
      async (life) => {
        await life.start();
        const client = await connect(life);
        for (let calls = 0; calls < 5; calls++) {
          const call = await client.call("sleeper", {}, { progressToken: calls });
          await call.expect("notifications/progress");
          await call.leave();
        }
        assert.equal((await recordOf(life, client)).streams.length, 5);
        for (let minutes = 0; minutes < 400; minutes += 10) {
          clock.advance(600_000);
          await rest();
          assert.equal((await client.post(ping)).status, 200);
        }
        await client.request("logging/setLevel", { level: "error" });
        assert.deepEqual((await recordOf(life, client)).streams, []);
      },
    );
  });
});

describe("the record of a legacy client", () => {
  it("is deleted once its client has ended its session, even if other requests arrive at the same time", () =>
    living({ serve: [noisy] }, async (life) => {
      await life.start();
      const client = await connect(life);
      const [ended] = await Promise.all([client.end(), client.post(ping)]);
      assert.equal(ended.status, 204);
      await rest();
      assert.equal((await client.post(ping)).status, 404);
      assert.equal(life.parley.counts.clientSessions, 0);
    }));

  it("has a batch's changes before they are acknowledged", () =>
    living({ serve: [noisy] }, async (life) => {
      await life.start();
      const client = await connect(life, { version: "2025-03-26" });
      const params = { level: "error" };
      const batch = [{ jsonrpc: "2.0", id: 5, method: "logging/setLevel", params }];
      const response = await client.post(batch);
      assert.equal(response.status, 200);
      await response.body?.cancel();
      assert.equal((await recordOf(life, client)).logLevel, "error");
    }));

  it("still works for its own client after another caller has tried to use it", () =>
    living({
      serve: [noisy],
      principal: (request) => request.headers.get("authorization") ?? "nobody",
    }, async (life) => {
      await life.start();
      const mine = await connect(life, { headers: { authorization: "me" } });
      const theirs = new TestClient((request) => life.parley.fetch(request), {
        headers: { authorization: "them" },
      });
      theirs.sessionId = mine.sessionId;
      await life.start();
      const responses = await Promise.all([theirs.post(ping), mine.post(ping)]);
      assert.deepEqual(responses.map(({ status }) => status), [404, 200]);
    }));

  it("is not reported as gone if there is only no room for it", () =>
    living({ serve: [noisy], limits: { maxClientSessions: 1 } }, async (life) => {
      await life.start();
      const one = await connect(life);
      await life.start();
      const two = await connect(life);
      const held = await two.listen();
      const response = await one.post(ping);
      assert.equal(response.status, 503);
      assert.match(
        (await response.json()).error.message,
        /the server has reached its limit; try again later/,
      );
      await held.leave();
      await rest();
      assert.equal((await one.post(ping)).status, 200);
    }));

  it("has the changes that could not be stored at first, once the store works again", () =>
    living({ serve: [noisy] }, async (life) => {
      let fails = false;
      await life.start({
        report: () => {},
        clients: {
          get: (id) => life.stores.clients.get(id),
          delete: (id) => life.stores.clients.delete(id),
          sweep: (now) => life.stores.clients.sweep(now),
          *set(id, record) {
            if (fails) throw new Error("disk full");
            yield* life.stores.clients.set(id, record);
          },
        },
      });
      const client = await connect(life, { version: "2025-03-26" });
      fails = true;
      const level = {
        jsonrpc: "2.0",
        id: 1,
        method: "logging/setLevel",
        params: { level: "error" },
      };
      for (const message of [level, [level]]) {
        const response = await client.post(message);
        assert.equal(response.status, 503);
        await response.body?.cancel();
      }
      assert.equal((await recordOf(life, client)).logLevel, "info");
      fails = false;
      assert.equal((await client.post(ping)).status, 200);
      assert.equal((await recordOf(life, client)).logLevel, "error");
    }));
});
