import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { LEGACY_VERSIONS } from "../../../src/wire/versions.ts";
import { describe, it } from "../../suite.ts";
import type { Exchange } from "../../support/exchange.ts";
import { ABLE, TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { ask, echo, handTool } from "../../support/tools.ts";
import { turn, until } from "../../support/turn.ts";

describe("the response to a call", () => {
  it("is JSON if the call ends at once", () =>
    serving({ serve: [echo] }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      const call = await client.call("echo", { text: "hi" });
      assert.equal(call.isStream, false);
      assert.equal(await call.text(), "hi");
      assert.deepEqual([parley.counts.live, parley.counts.finished], [0, 0]);
    }));

  it("is JSON if the call ends soon without sending anything else", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch, clock }) => {
      const client = await TestClient.connect(fetch);
      const calling = client.call("hand");
      await until(() => runs.length === 1);
      clock.advance(99);
      runs[0]!.finish("soon");
      const call = await calling;
      assert.equal(call.isStream, false);
      assert.equal(await call.text(), "soon");
    });
  });

  it("is a stream as soon as there is an event", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const calling = client.call("hand");
      await until(() => runs.length === 1);
      runs[0]!.log("news");
      const call = await calling;
      assert.equal(call.isStream, true);
      assert.equal((await call.expect("notifications/message")).params.data, "news");
      runs[0]!.finish();
      assert.equal(await call.text(), "done");
    });
  });

  it("is a stream once the time to decide is over", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch, clock }) => {
      const client = await TestClient.connect(fetch);
      const calling = client.call("hand");
      await until(() => runs.length === 1);
      clock.advance(100);
      const call = await calling;
      assert.equal(call.isStream, true);
      assert.deepEqual(await call.frame(), { id: "1.0", retry: 1_000, data: "" });
      runs[0]!.finish();
      assert.equal(await call.text(), "done");
    });
  });

  it("is a stream that no proxy may cache or change", () =>
    serving({ serve: [ask] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const { headers } = (await client.call("ask")).response;
      assert.equal(headers.get("content-type"), "text/event-stream");
      assert.equal(headers.get("x-accel-buffering"), "no");
      assert.equal(headers.get("cache-control"), "no-cache, no-transform");
    }));

  it("is a stream of everything in order, however early the call has ended", () =>
    serving({ serve: [chatty] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const call = await client.call("chatty", {}, { progressToken: "t" });
      const messages = await call.rest();
      assert.deepEqual(
        messages.map(({ params, result }) =>
          params?.progress ?? params?.data ?? result.content[0].text
        ),
        [1, "a", 2, "b", 3, "end"],
      );
      assert.deepEqual(call.frames.chunks, [7]);
    }));
});

const chatty = createMcpTool("chatty").description("Talks").execute(function* (_params, ctx) {
  yield* ctx.notify("one");
  yield* ctx.log("info", "a");
  yield* ctx.notify("two");
  yield* ctx.log("info", "b");
  yield* ctx.log("debug", "too much");
  yield* ctx.notify("three");
  return "end";
});

describe("a stream", () => {
  it("begins with an event id and a retry time in 2025-11-25, with a comment before", () =>
    serving({ serve: [ask], limits: { reconnectDelay: 777 } }, async ({ fetch }) => {
      for (const version of LEGACY_VERSIONS) {
        const client = await TestClient.connect(fetch, { version, capabilities: { roots: {} } });
        const stream = await client.listen();
        const first = await stream.frame();
        if (version === "2025-11-25") assert.deepEqual(first, { id: "0.0", retry: 777, data: "" });
        else assert.deepEqual(first, { comment: "keep-alive" });
        await stream.leave();
      }
    }));

  it("has ids only on real events before 2025-11-25", () =>
    serving({ serve: [chatty] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { version: "2025-06-18" });
      const call = await client.call("chatty", {}, { progressToken: "t" });
      const frames = await call.frames.rest();
      assert.deepEqual(frames.map(({ id, retry }) => [id, retry]), [
        [undefined, undefined],
        ["1.1", undefined],
        ["1.2", undefined],
        ["1.3", undefined],
        ["1.4", undefined],
        ["1.6", undefined],
        ["1.7", undefined],
      ]);
    }));

  it("sends heartbeats in a silence: comments, and growing progress to those who asked for it", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch, clock }) => {
      const client = await TestClient.connect(fetch);
      const started = [client.call("hand"), client.call("hand", {}, { progressToken: 7 })];
      await until(() => runs.length === 2);
      runs[0]!.notify("begun", 5);
      runs[1]!.notify("begun", 5);
      clock.advance(100);
      const [plain, asking] = await Promise.all(started) as [Exchange, Exchange];
      await plain.frame();
      await asking.frame();
      assert.equal((await asking.expect("notifications/progress")).params.progress, 5);

      const heard: (readonly [string | undefined, number | undefined])[] = [];
      for (let i = 0; i < 6; i++) {
        const frames = [plain.frame(), asking.frame()];
        await turn();
        clock.advance(8_000);
        const [first, second] = await Promise.all(frames);
        assert.deepEqual(first, { comment: "keep-alive" });
        const progress = second?.data && JSON.parse(second.data).params.progress;
        heard.push([second?.comment, progress && Number(progress.toFixed(6))]);
      }
      const comment = ["keep-alive", undefined] as const;
      const beats = [5.001, 5.002].map((beat) => [undefined, beat] as const);
      assert.deepEqual(heard, [comment, comment, beats[0], comment, comment, beats[1]]);

      runs[1]!.notify("on", 5.0005);
      assert.equal(
        (await asking.expect("notifications/progress")).params.progress.toFixed(6),
        "5.003000",
      );
      runs.forEach((run) => run.finish());
      assert.equal(await plain.text(), "done");
      assert.equal(await asking.text(), "done");
    });
  });

  it("belongs to one call: many run at once, answered in any order", () =>
    serving({ serve: [ask, echo] }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const calls = await Promise.all(Array.from({ length: 20 }, () => client.call("ask")));
      const questions = await Promise.all(calls.map((call) => call.expect("elicitation/create")));
      assert.equal(new Set(questions.map(({ id }) => id)).size, 20);
      assert.equal(parley.counts.streams, 20);
      for (let i = 19; i >= 0; i--) {
        await client.answer(questions[i]!, { action: "accept", content: { number: i } });
        assert.equal(await (await client.call("echo", { text: "between" })).text(), "between");
      }
      const texts = await Promise.all(calls.map((call) => call.text()));
      assert.deepEqual(texts, calls.map((_, i) => `It is ${i}`));
      assert.equal(parley.counts.streams, 0);
    }));

  it("may be left by its client without harm to the call", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch, parley, clock }) => {
      const client = await TestClient.connect(fetch);
      const calling = client.call("hand");
      await until(() => runs.length === 1);
      clock.advance(100);
      await (await calling).leave();
      assert.equal(parley.counts.streams, 0);
      assert.equal(runs[0]!.ended, false);
      runs[0]!.finish("late");
      assert.equal(await (await client.listen("1.0")).rest().then((all) => all.length), 1);
    });
  });

  it("reports the end of its call when the server closes", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch, parley, clock }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const calling = client.call("hand");
      await until(() => runs.length === 1);
      clock.advance(100);
      const call = await calling;
      const standing = await client.listen();
      runs[0]!.ask();
      const question = await call.expect("elicitation/create");
      const closed = parley.close();
      const withdrawn = await call.expect("notifications/cancelled");
      assert.equal(withdrawn.params.requestId, question.id);
      const [answer] = await call.rest();
      assert.equal(answer?.id, call.id);
      assert.match(answer?.error.message, /shutting down/);
      await closed;
      assert.deepEqual(await standing.rest(), []);
      assert.equal(runs[0]!.ended, true);
    });
  });
});

describe("ctx.hangUp()", () => {
  it("ends the connection, and keeps the rest until the client reconnects", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      const calling = client.call("hand");
      await until(() => runs.length === 1);
      runs[0]!.log("before");
      const call = await calling;
      runs[0]!.do((ctx) => ctx.hangUp());
      assert.equal((await call.rest()).length, 1);
      assert.equal(parley.counts.streams, 0);
      runs[0]!.log("meanwhile");
      const resumed = await client.listen(call.lastEventId);
      assert.equal((await resumed.expect("notifications/message")).params.data, "meanwhile");
      runs[0]!.finish("done");
      assert.equal((await resumed.rest())[0]?.result.content[0].text, "done");
    });
  });

  it("works before there is a stream too", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch, clock }) => {
      const client = await TestClient.connect(fetch);
      const calling = client.call("hand");
      await until(() => runs.length === 1);
      runs[0]!.do((ctx) => ctx.hangUp());
      clock.advance(100);
      const call = await calling;
      assert.deepEqual(await call.frames.rest(), [{ id: "1.0", retry: 1_000, data: "" }]);
      runs[0]!.finish("done");
      assert.equal((await (await client.listen("1.0")).rest())[0]?.id, call.id);
    });
  });

  it("does nothing for older clients, which need not reconnect", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { version: "2025-06-18" });
      const calling = client.call("hand");
      await until(() => runs.length === 1);
      runs[0]!.log("before");
      const call = await calling;
      runs[0]!.do((ctx) => ctx.hangUp());
      runs[0]!.finish("done");
      assert.equal((await call.rest()).length, 2);
    });
  });
});
