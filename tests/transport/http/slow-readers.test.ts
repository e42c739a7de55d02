import assert from "node:assert/strict";
import { all } from "effection";
import { describe, it } from "../../suite.ts";
import { ABLE, TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { handTool } from "../../support/tools.ts";
import { idle, until } from "../../support/turn.ts";
import { KEEP_UP_TIME } from "../../../src/session/pace.ts";

describe("a reader that stalls", () => {
  it("is disconnected after the stall timeout, while its call continues within its limit", async () => {
    const { tool, runs } = handTool();
    const limits = { stallTimeout: 30_000 };
    await serving(
      { serve: [tool], limits: { ...limits, maxEventsPerSession: 50 } },
      async ({ parley, clock }) => {
        const client = await TestClient.connect(parley.fetch);
        const calling = client.call("hand");
        await until(() => runs.length === 1);
        runs[0]!.log(0);
        const call = await calling;
        for (let i = 1; i <= 500; i++) runs[0]!.log(i);
        clock.advance(29_999);
        assert.equal(parley.counts.streams, 1);
        clock.advance(1);
        assert.equal(parley.counts.streams, 0);
        assert.equal(runs[0]!.ended, false);
        // Only the first chunk was prepared.
        assert.deepEqual(await call.frames.rest(), [{ id: "1.0", retry: 1_000, data: "" }]);
        const resumed = await client.listen("1.0");
        runs[0]!.finish();
        const [notice, ...data] = (await resumed.rest()).map(({ params }) => params?.data);
        assert.equal(notice, "452 events were lost: they arrived faster than they were read");
        assert.deepEqual(data, [...Array.from({ length: 49 }, (_, i) => 452 + i), undefined]);
      },
    );
  });
});

describe("a slow reader", () => {
  it("misses old events, but no open question and not the result", async () => {
    const { tool, runs } = handTool();
    await serving(
      { serve: [tool], limits: { maxEventsPerSession: 10 } },
      async ({ fetch, clock }) => {
        const client = await TestClient.connect(fetch, { capabilities: ABLE });
        const calling = client.call("hand");
        await until(() => runs.length === 1);
        const [run] = runs;
        run!.do(function* (ctx) {
          yield* ctx.branch(function* (branch) {
            // A question that stays open while many events follow.
            yield* all([
              branch.elicit("number", { message: "Which number?" }),
              (function* () {
                for (let i = 0; i < 100; i++) yield* branch.log("info", i);
              })(),
            ]);
          });
        });
        const call = await calling;
        clock.advance(KEEP_UP_TIME);
        await idle();
        assert.match((await call.message())?.params.data, /^\d+ events were lost/);
        const messages = [await call.message(), await call.message()];
        assert.equal(messages[0]?.method, "elicitation/create");
        assert.equal(messages[1]?.params.data, 90);
        assert.equal((await client.answer(messages[0]!, { action: "decline" })).status, 202);
        run!.finish("still there");
        const rest = await call.rest();
        assert.equal(rest.at(-1)?.result.content[0].text, "still there");
      },
    );
  });
});
