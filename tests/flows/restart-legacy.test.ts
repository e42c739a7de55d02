import assert from "node:assert/strict";
import { z } from "zod";
import { createManualClock, createMcpResource, createMcpTool } from "../../src/mod.ts";
import type { Exchange } from "../support/exchange.ts";
import { ABLE, TestClient, textOf } from "../support/legacy/client.ts";
import { type Life, living } from "../support/life.ts";
import { describe, it } from "../suite.ts";

const name = { response: z.object({ name: z.string() }) };
const answer = (name: string) => ({ action: "accept", content: { name } });

/** An order that pays in between; `paid` is called for every payment. */
function orderTool(paid: string[] = []) {
  return createMcpTool("order").description("d").durable().elicits({ who: name, gift: name })
    .execute(function* (_params, ctx) {
      const who = yield* ctx.elicit("who", { message: "Who?" });
      yield* ctx.step("pay", function* (key) {
        paid.push(key);
      });
      yield* ctx.notify("paid");
      const gift = yield* ctx.elicit("gift", { message: "What?" });
      if (who.action !== "accept" || gift.action !== "accept") return "nothing";
      return `${gift.content.name} for ${who.content.name}`;
    });
}

const forgetful = createMcpTool("forgetful").description("d").elicits({ who: name })
  .execute(function* (_params, ctx) {
    yield* ctx.elicit("who", { message: "Who?" });
    return "done";
  });

/** A client that continues with the current server. */
async function connect(life: Life, options: object = {}): Promise<TestClient> {
  const fetch = (request: Request) => life.parley.fetch(request);
  return await TestClient.connect(fetch, { capabilities: ABLE, ...options });
}

async function asked(client: TestClient, tool = "order"): Promise<Exchange> {
  const call = await client.call(tool, {}, { progressToken: "p" });
  await call.frame();
  return call;
}

describe("a legacy client whose server is restarted", () => {
  it("answers, resumes its stream after the last event it saw, and nothing is done twice", () => {
    const paid: string[] = [];
    return living({ serve: [orderTool(paid)] }, async (life) => {
      await life.start();
      const client = await connect(life);
      const call = await client.call("order", {}, { progressToken: "p" });
      const who = await call.expect("elicitation/create");
      await life.start();
      assert.equal((await client.answer(who, answer("Ada"))).status, 202);
      let resumed = await client.listen(call.lastEventId);
      assert.equal((await resumed.expect("notifications/progress")).params.progressToken, "p");
      const gift = await resumed.expect("elicitation/create");
      const { lastEventId } = resumed;
      await life.start();
      resumed = await client.listen(lastEventId);
      assert.equal((await client.answer(gift, answer("a book"))).status, 202);
      const [last, ...more] = await resumed.rest();
      assert.deepEqual(more, []);
      assert.equal(last?.id, call.id);
      assert.equal(textOf(last!.result), "a book for Ada");
      assert.equal(paid.length, 1);
    });
  });

  it("gets the result of a call that ended while it was disconnected, even after another restart", () =>
    living({ serve: [orderTool()] }, async (life) => {
      await life.start();
      const client = await connect(life);
      const call = await client.call("order");
      const who = await call.expect("elicitation/create");
      await call.leave();
      await client.answer(who, answer("Ada"));
      const resumed = await client.listen(call.lastEventId);
      const gift = await resumed.expect("elicitation/create");
      const { lastEventId } = resumed;
      await resumed.leave();
      await client.answer(gift, answer("tea"));
      await life.start();
      await life.start();
      const [last] = await (await client.listen(lastEventId)).rest();
      assert.equal(textOf(last!.result), "tea for Ada");
    }));

  it("keeps its version, level and subscriptions, and ids that are never reused", () => {
    const notes = createMcpResource("notes").uri("notes://all").description("d")
      .read(function* () {
        return "text";
      });
    const chatty = createMcpTool("chatty").description("d").durable().elicits({ who: name })
      .execute(function* (_params, ctx) {
        yield* ctx.log("info", "quiet");
        yield* ctx.log("error", "loud");
        yield* ctx.elicit("who", { message: "?" });
        return "done";
      });
    return living({ serve: [notes, chatty] }, async (life) => {
      await life.start();
      const client = await connect(life, { version: "2025-06-18" });
      const standing = await client.listen();
      await client.request("logging/setLevel", { level: "error" });
      await client.request("resources/subscribe", { uri: "notes://all" });
      const first = await client.call("chatty");
      assert.equal((await first.expect("notifications/message")).params.data, "loud");
      life.parley.resourceUpdated("notes://all");
      await standing.expect("notifications/resources/updated");
      await life.start();
      const resumed = await client.listen(standing.lastEventId);
      life.parley.resourceUpdated("notes://all");
      await resumed.expect("notifications/resources/updated");
      assert.notEqual(resumed.lastEventId, standing.lastEventId);
      const second = await client.call("chatty");
      assert.equal((await second.expect("notifications/message")).params.data, "loud");
      assert.notEqual(second.lastEventId, first.lastEventId);
      await Promise.all([first.leave(), second.leave(), resumed.leave()]);
    });
  });

  it("can cancel a call that is only on record, and end its session", () => {
    const paid: string[] = [];
    return living({ serve: [orderTool(paid)] }, async (life) => {
      await life.start();
      const client = await connect(life);
      const call = await client.call("order");
      const who = await call.expect("elicitation/create");
      await life.start();
      await client.notify("notifications/cancelled", { requestId: call.id });
      const resumed = await client.listen(call.lastEventId);
      const heard = (await resumed.rest()).map(({ method }) => method);
      assert.deepEqual(heard, ["notifications/cancelled"], "its question is taken back");
      await client.answer(who, answer("Ada"));
      assert.equal(paid.length, 0);
      assert.equal((await client.end()).status, 204);
      await life.start();
      assert.equal((await client.post({ jsonrpc: "2.0", id: 9, method: "ping" })).status, 404);
    });
  });

  it("learns that a call whose tool is not durable is gone", () =>
    living({ serve: [forgetful] }, async (life) => {
      await life.start();
      const client = await connect(life);
      const call = await client.call("forgetful");
      const who = await call.expect("elicitation/create");
      await life.start();
      const refused = await client.answer(who, answer("Ada"));
      assert.equal(refused.status, 400);
      assert.match((await refused.json()).error.message, /the server was restarted.*call it again/);
      const resumed = await client.listen(call.lastEventId);
      const [told, ...more] = await resumed.rest();
      assert.deepEqual(more, []);
      assert.equal(told?.id, call.id);
      assert.match(told!.error!.message, /the server was restarted.*call it again/);
      assert.equal((await client.listen(resumed.lastEventId)).status, 405);
      assert.equal(
        await (await client.call("forgetful")).expect("elicitation/create").then(() => 1),
        1,
      );
    }));

  it("cannot be used by another principal", () =>
    living({
      serve: [orderTool()],
      principal: (request) => request.headers.get("authorization") ?? "nobody",
    }, async (life) => {
      await life.start();
      const mine = await connect(life, { headers: { authorization: "me" } });
      const theirs = new TestClient((request) => life.parley.fetch(request), {
        headers: { authorization: "them" },
      });
      theirs.sessionId = mine.sessionId;
      await life.start();
      const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
      assert.equal((await theirs.post(ping)).status, 404);
      assert.equal((await mine.post(ping)).status, 200);
      assert.equal((await theirs.post(ping)).status, 404);
    }));

  it("is revived once for many requests at once", () =>
    living({ serve: [orderTool()] }, async (life) => {
      await life.start();
      const client = await connect(life);
      await life.start();
      const pings = Array.from(
        { length: 20 },
        (_, id) => client.post({ jsonrpc: "2.0", id, method: "ping" }),
      );
      for (const response of await Promise.all(pings)) assert.equal(response.status, 200);
      assert.equal(life.parley.counts.clientSessions, 1);
    }));
});

describe("a legacy client that is silent for long", () => {
  it("leaves memory with its calls, and gets them back", () => {
    const clock = createManualClock();
    return living({ serve: [orderTool()], clock }, async (life) => {
      await life.start();
      const client = await connect(life);
      const call = await asked(client);
      const who = await call.expect("elicitation/create");
      await call.leave();
      clock.advance(60_000);
      while (life.parley.counts.live > 0) await new Promise((done) => setImmediate(done));
      clock.advance(3 * 3_600_000);
      assert.equal(life.parley.counts.clientSessions, 0);
      assert.equal((await client.answer(who, answer("Ada"))).status, 202);
      const resumed = await client.listen(call.lastEventId);
      await resumed.expect("notifications/progress");
      await resumed.expect("elicitation/create");
      await resumed.leave();
    });
  });

  it("is forgotten when its record expires, and not before", () => {
    const clock = createManualClock();
    return living({ serve: [orderTool()], clock }, async (life) => {
      await life.start();
      const client = await connect(life);
      const ping = async () => {
        const response = await client.post({ jsonrpc: "2.0", id: 1, method: "ping" });
        await response.body?.cancel();
        return response.status;
      };
      for (let hours = 0; hours < 10; hours++) {
        clock.advance(50 * 60_000);
        assert.equal(await ping(), 200, `after ${hours} hours`);
        await life.start();
      }
      clock.advance(3 * 3_600_000);
      assert.equal(await ping(), 404);
    });
  });
});

describe("a store that cannot write a legacy client's record", () => {
  const failing = (life: Life, fails: () => boolean) => ({
    clients: {
      get: (id: string) => life.stores.clients.get(id),
      delete: (id: string) => life.stores.clients.delete(id),
      sweep: (now: number) => life.stores.clients.sweep(now),
      *set(id: string, record: never) {
        if (fails()) throw new Error("disk full");
        yield* life.stores.clients.set(id, record);
      },
    },
    report: () => {},
  });

  it("accepts no client, starts no durable call, and says so", () => {
    const paid: string[] = [];
    return living({ serve: [orderTool(paid)] }, async (life) => {
      let fails = false;
      await life.start(failing(life, () => fails));
      const client = await connect(life);
      fails = true;
      const refused = await client.call("order");
      assert.equal(refused.status, 503);
      assert.match(JSON.stringify(await refused.message()), /could not be stored; try again later/);
      const level = await client.start("logging/setLevel", { level: "error" });
      assert.equal(level.status, 503);
      const newcomer = await client.post({
        jsonrpc: "2.0",
        id: 0,
        method: "initialize",
        params: {
          protocolVersion: "2025-11-25",
          capabilities: {},
          clientInfo: { name: "n", version: "1" },
        },
      });
      assert.equal(newcomer.status, 503);
      fails = false;
      const call = await client.call("order");
      await call.expect("elicitation/create");
      await call.leave();
      assert.equal(paid.length, 0);
    });
  });
});
