import assert from "node:assert/strict";
import { z } from "zod";
import { createMcpTool } from "../../src/mod.ts";
import type { Exchange } from "../support/exchange.ts";
import { ABLE, TestClient, textOf } from "../support/legacy/client.ts";
import { serving, type TestServer } from "../support/legacy/server.ts";
import { until } from "../support/turn.ts";
import { describe, it } from "../suite.ts";

const name = { response: z.object({ name: z.string() }) };

const order = createMcpTool("order").description("d").durable().elicits({ who: name, gift: name })
  .execute(function* (_params, ctx) {
    const who = yield* ctx.elicit("who", { message: "Who?" });
    const gift = yield* ctx.elicit("gift", { message: "What?" });
    if (who.action !== "accept" || gift.action !== "accept") return "nothing";
    return `${gift.content.name} for ${who.content.name}`;
  });

const announced = createMcpTool("announced").description("d").durable().elicits({ who: name })
  .execute(function* (_params, ctx) {
    yield* ctx.log("error", "I am about to ask");
    return (yield* ctx.elicit("who", { message: "Who?" })).action;
  });

/** A client that was away when its call left memory. */
async function left(server: TestServer): Promise<{ client: TestClient; call: Exchange }> {
  const client = await TestClient.connect(server.fetch, { capabilities: ABLE });
  const call = await client.call("order");
  await call.expect("elicitation/create");
  await call.leave();
  server.clock.advance(60_000);
  await until(() => server.parley.counts.live === 0);
  return { client, call };
}

const answer = (name: string) => ({ action: "accept", content: { name } });

describe("a durable call of a legacy client, after it has left memory", () => {
  it("is revived by the answer, and continues where it was", () =>
    serving({ serve: [order] }, async (server) => {
      const client = await TestClient.connect(server.fetch, { capabilities: ABLE });
      const call = await client.call("order");
      const who = await call.expect("elicitation/create");
      const { lastEventId } = call;
      await call.leave();
      server.clock.advance(60_000);
      await until(() => server.parley.counts.live === 0);
      assert.equal((await client.answer(who, answer("Ada"))).status, 202);
      const resumed = await client.listen(lastEventId);
      const gift = await resumed.expect("elicitation/create");
      assert.equal((await client.answer(gift, answer("a book"))).status, 202);
      const [last] = await resumed.rest();
      assert.equal(last?.id, call.id);
      assert.equal(textOf(last!.result), "a book for Ada");
    }));

  it("is revived by its stream", () =>
    serving({ serve: [order] }, async (server) => {
      const { client, call } = await left(server);
      const resumed = await client.listen(`${call.lastEventId!.split(".")[0]}.0`);
      const who = await resumed.expect("elicitation/create");
      assert.equal((await client.answer(who, { action: "decline" })).status, 202);
      const gift = await resumed.expect("elicitation/create");
      assert.equal((await client.answer(gift, { action: "decline" })).status, 202);
      assert.equal(textOf((await resumed.rest())[0]!.result), "nothing");
    }));

  it("can be cancelled", () =>
    serving({ serve: [order] }, async (server) => {
      const { client, call } = await left(server);
      await client.notify("notifications/cancelled", { requestId: call.id });
      await until(() => server.parley.counts.finished === 1);
      assert.equal(server.parley.counts.live, 0);
    }));

  it("repeats its deferral on its stream", () =>
    serving({ serve: [announced] }, async (server) => {
      const client = await TestClient.connect(server.fetch, { capabilities: {} });
      const call = await client.call("announced");
      const { result } = (await call.rest()).find(({ id }) => id === call.id)!;
      assert.match(textOf(result), /Who\?/);
      server.clock.advance(60_000);
      await until(() => server.parley.counts.live === 0);
      const resumed = await client.listen(`${call.lastEventId!.split(".")[0]}.0`);
      const again = (await resumed.rest()).find(({ id }) => id === call.id)!;
      assert.deepEqual(again.result, result);
    }));
});
