import assert from "node:assert/strict";
import { createMcpTool, ProtocolError } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../../suite.ts";
import { ABLE, TestClient } from "../../support/legacy/client.ts";
import type { Message } from "../../support/exchange.ts";
import { serving } from "../../support/legacy/server.ts";
import { ask, handTool } from "../../support/tools.ts";
import { until } from "../../support/turn.ts";

/** Sends progress and logs, asks, and sends more. */
const story = createMcpTool("story")
  .description("Tells and asks")
  .elicits({ number: { response: z.object({ number: z.number() }) } })
  .execute(function* (_params, ctx) {
    yield* ctx.notify("a", 10);
    yield* ctx.notify("b", 10);
    yield* ctx.log("info", "c");
    yield* ctx.notify("d", 3);
    const answer = yield* ctx.elicit("number", { message: "Which number?" });
    yield* ctx.notify("e", 12);
    yield* ctx.log("info", "f");
    return JSON.stringify(answer.action === "accept" && answer.content);
  });

async function answerTo(client: TestClient, message: Message | undefined): Promise<void> {
  if (message?.method !== "elicitation/create") return;
  await client.answer(message, { action: "accept", content: { number: 4 } });
}

describe("resuming a stream", () => {
  it("replays exactly what was missed and then follows, wherever it was cut", () =>
    serving({ serve: [story] }, async ({ fetch }) => {
      const whole: string[] = [];
      for (let cut = 0; cut <= 8; cut++) {
        const client = await TestClient.connect(fetch, { capabilities: ABLE });
        const call = await client.call("story", {}, { progressToken: 1 });
        await call.frame();
        const heard: Message[] = [];
        for (let i = 0; i < cut; i++) {
          const message = await call.message();
          heard.push(message!);
          await answerTo(client, message);
        }
        await call.leave();
        if (cut < 8) {
          const resumed = await client.listen(call.lastEventId);
          assert.equal(resumed.status, 200);
          const first = await resumed.frame();
          assert.deepEqual(first, { id: call.lastEventId, retry: 1_000, data: "" });
          for (let next = await resumed.message(); next; next = await resumed.message()) {
            heard.push(next);
            await answerTo(client, next);
          }
        }
        const text = JSON.stringify(heard).replace(/elicit_[^"]*/g, "elicit");
        whole.push(text);
        assert.equal(text, whole[0], `cut after ${cut}`);
        assert.equal(heard.length, 8);
        assert.equal((await client.listen(`1.9`)).status, 405);
      }
    }));

  it("works after the call has finished, until its grace time is over", async () => {
    const { tool, runs } = handTool();
    await serving(
      { serve: [tool], limits: { finishedTimeToLive: 60_000 } },
      async ({ fetch, clock, parley }) => {
        const client = await TestClient.connect(fetch);
        const calling = client.call("hand");
        await until(() => runs.length === 1);
        runs[0]!.log("before");
        const call = await calling;
        await call.expect("notifications/message");
        await call.leave();
        runs[0]!.log("meanwhile");
        runs[0]!.finish("over");
        assert.equal(parley.counts.finished, 1);
        for (let i = 0; i < 2; i++) {
          const resumed = await client.listen("1.1");
          assert.equal((await resumed.expect("notifications/message")).params.data, "meanwhile");
          assert.equal((await resumed.rest())[0]?.id, call.id);
        }
        clock.advance(60_000);
        assert.equal(parley.counts.finished, 0);
        assert.equal((await client.listen("1.1")).status, 405);
      },
    );
  });

  it("stays on the stream that was cut", () =>
    serving({ serve: [ask] }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const [one, two] = [await client.call("ask"), await client.call("ask")];
      const questions = [
        await one.expect("elicitation/create"),
        await two.expect("elicitation/create"),
      ];
      const standing = await client.listen();
      await standing.frame();
      parley.add(story);
      await one.leave();
      await two.leave();
      const again = await client.listen("2.0");
      assert.equal((await again.expect("elicitation/create")).id, questions[1]!.id);
      for (const question of questions) {
        await client.answer(question, { action: "accept", content: { number: 1 } });
      }
      assert.equal((await again.rest())[0]?.id, two.id);
      assert.equal((await (await client.listen(one.lastEventId)).rest())[0]?.id, one.id);
      await standing.expect("notifications/tools/list_changed");
    }));

  it("replaces the existing connection, so that nothing is sent twice", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      const calling = client.call("hand");
      await until(() => runs.length === 1);
      runs[0]!.log("one");
      const call = await calling;
      await call.expect("notifications/message");
      const second = await client.listen("1.1");
      const third = await client.listen("1.1");
      assert.deepEqual(await call.rest(), []);
      assert.deepEqual(await second.rest(), []);
      assert.equal(parley.counts.streams, 1);
      runs[0]!.log("two");
      runs[0]!.finish();
      assert.equal((await third.rest()).length, 2);
    });
  });

  it("answers 400 to an invalid event id, and 405 if there is nothing to follow", () =>
    serving({ serve: [ask] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const other = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("ask");
      await call.expect("elicitation/create");
      for (const id of ["x", "1", "1.", ".1", "1.x", "-1.0", "1.0-", "1e3.0", "1.0.0", "1. 0"]) {
        assert.equal((await client.listen(id)).status, 400, id);
      }
      for (const id of ["1.2", "1.0-0", "2.0", "999999999999999.0", "0.1", "0.0-0"]) {
        const { response } = await client.listen(id);
        assert.equal(response.status, 405, id);
        assert.match(response.headers.get("allow")!, /POST/);
      }
      // Another session has its own streams.
      assert.equal((await other.listen("1.0")).status, 405);
      assert.equal((await client.listen("1.0")).status, 200);
    }));

  it("is refused after the final response, and after the client has cancelled", async () => {
    const failing = createMcpTool("failing").description("Fails").execute(function* (_params, ctx) {
      yield* ctx.log("info", "before");
      throw new ProtocolError(-32000, "no");
    });
    await serving({ serve: [ask, failing] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const failed = await client.call("failing");
      assert.equal((await failed.rest())[1]?.error.code, -32000);
      assert.equal((await client.listen(failed.lastEventId)).status, 405);

      const call = await client.call("ask");
      await call.expect("elicitation/create");
      await client.notify("notifications/cancelled", { requestId: call.id });
      await call.expect("notifications/cancelled");
      assert.deepEqual(await call.rest(), []);
      assert.equal((await client.listen(call.lastEventId)).status, 405);
      // Events before the end are still available.
      assert.equal((await (await client.listen("2.0")).rest()).length, 2);
    });
  });

  it("leaves the existing connection alone if there is no room", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool], limits: { maxStreams: 1 } }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const calling = client.call("hand");
      await until(() => runs.length === 1);
      runs[0]!.log("one");
      const call = await calling;
      await call.expect("notifications/message");
      assert.equal((await client.listen("1.0")).status, 503);
      runs[0]!.finish();
      assert.equal(await call.text(), "done");
    });
  });
});
