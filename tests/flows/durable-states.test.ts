import assert from "node:assert/strict";
import { z } from "zod";
import { createManualClock, createMcpTool } from "../../src/mod.ts";
import { type Life, living } from "../support/life.ts";
import { TestClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const order = createMcpTool("order").description("d").durable()
  .elicits({ who: { response: z.object({ name: z.string() }) } })
  .execute(function* (_params, ctx) {
    yield* ctx.elicit("who", { message: "?" });
    return "done";
  });
const call = { name: "order", arguments: {} };
const inputResponses = { who: { action: "accept", content: { name: "Ada" } } };

const clientOf = (life: Life) => new TestClient((request) => life.parley.fetch(request));

/** A turn of the event loop, in which a store may finish its work. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("the state of a durable call", () => {
  it("is valid until it expires, even if it was issued again", () => {
    const clock = createManualClock();
    return living({ serve: [order], clock, limits: { durableTimeToLive: DAY } }, async (life) => {
      await life.start();
      const first = await clientOf(life).result("tools/call", call);
      clock.advance(DAY - MINUTE);
      const { requestState, resultType } = await clientOf(life).result("tools/call", {
        ...call,
        requestState: first.requestState,
      });
      assert.equal(resultType, "input_required");
      for (let minutes = 0; minutes < 10; minutes++) {
        clock.advance(MINUTE);
        for (let turns = 0; turns < 20; turns++) await turn();
      }
      const last = await clientOf(life).result("tools/call", {
        ...call,
        requestState,
        inputResponses,
      });
      assert.match(JSON.stringify(last), /done/);
    });
  });

  it("is valid for the next server if it arrives just when its server closes", () =>
    living({ serve: [order] }, async (life) => {
      await life.start();
      const { requestState } = await clientOf(life).result("tools/call", call);
      await life.start();
      const again = { ...call, requestState, inputResponses };
      const retry = clientOf(life).request("tools/call", again).catch((error) => error);
      for (let turns = 0; turns < 20; turns++) await Promise.resolve();
      await life.parley.close();
      await retry;
      await life.start();
      assert.match(JSON.stringify(await clientOf(life).result("tools/call", again)), /done/);
    }));
});
