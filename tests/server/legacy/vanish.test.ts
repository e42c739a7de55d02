/**
 * Clients that vanish at every possible point. What they leave behind is either kept for them for
 * a limited time, or gone at once.
 */
import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../../suite.ts";
import { Exchange, ORIGIN } from "../../support/exchange.ts";
import { ABLE, initialize, TestClient } from "../../support/legacy/client.ts";
import { serving, type TestServer } from "../../support/legacy/server.ts";
import { turn } from "../../support/turn.ts";

let cleaned = 0;
const story = createMcpTool("story")
  .description("Tells, asks the person, asks the model, tells")
  .elicits({ number: { response: z.object({ number: z.number() }) } })
  .execute(function* (_params, ctx) {
    try {
      yield* ctx.notify("begun");
      const { action } = yield* ctx.elicit("number", { message: "Which number?" });
      yield* ctx.log("info", action);
      const { text } = yield* ctx.sample({ prompt: "Say something" });
      return text;
    } finally {
      cleaned++;
    }
  });

/** What a client does, step by step; it vanishes after any of them. */
const steps: ((walk: Walk) => Promise<void>)[] = [
  async (walk) => {
    const { headers } = await walk.client.post(initialize({ capabilities: ABLE }));
    walk.client.sessionId = headers.get("mcp-session-id")!;
  },
  (walk) => walk.client.notify("notifications/initialized").then(() => {}),
  async (walk) => {
    walk.standing = await walk.client.listen();
  },
  (walk) => walk.standing!.frame().then(() => {}),
  async (walk) => {
    walk.call = await walk.client.call("story", {}, { progressToken: 1 });
  },
  (walk) => walk.call!.frame().then(() => {}),
  (walk) => walk.call!.expect("notifications/progress").then(() => {}),
  async (walk) => {
    walk.question = (await walk.call!.expect("elicitation/create")).id!;
  },
  async (walk) => {
    await walk.client.answer({ id: walk.question! }, {
      action: "accept",
      content: { number: 1 },
    });
  },
  (walk) => walk.call!.expect("notifications/message").then(() => {}),
  async (walk) => {
    walk.question = (await walk.call!.expect("sampling/createMessage")).id!;
  },
  async (walk) => {
    const content = { type: "text", text: "something" };
    await walk.client.answer({ id: walk.question! }, { role: "assistant", content, model: "m" });
  },
  (walk) => walk.call!.rest().then(() => {}),
];

interface Walk {
  client: TestClient;
  standing?: Exchange;
  call?: Exchange;
  question?: string | number;
}

/** Takes this many steps, then disconnects everything. */
async function vanishAfter({ parley }: TestServer, count: number): Promise<void> {
  const walk: Walk = { client: new TestClient(parley.fetch) };
  for (const step of steps.slice(0, count)) await step(walk);
  await walk.standing?.leave();
  await walk.call?.leave();
}

const NOTHING = { live: 0, finished: 0, streams: 0, clientSessions: 0 };

describe("a client that vanishes", () => {
  it("leaves no stream behind, wherever it was, and after its time nothing at all", () =>
    serving(
      { serve: [story], limits: { finishedTimeToLive: 60_000, waitingTimeToLive: 600_000 } },
      async (server) => {
        const { parley, clock } = server;
        cleaned = 0;
        for (let count = 0; count <= steps.length; count++) {
          await vanishAfter(server, count);
          await turn();
          assert.equal(parley.counts.streams, 0, `after ${count} steps`);
        }
        assert.equal(parley.counts.clientSessions, steps.length);
        // One deadline for each client session, and one for each call that waits or is kept.
        clock.advance(600_000);
        assert.equal(parley.counts.live, 0);
        assert.equal(cleaned, steps.length - 4);
        clock.advance(60_000);
        assert.equal(parley.counts.finished, 0);
        clock.advance(2 * 3_600_000);
        assert.deepEqual(parley.counts, NOTHING);
        assert.equal(clock.timers, 0);
      },
    ));

  it("before reading its response leaves nothing behind after a timeout", () =>
    serving({ serve: [story] }, async ({ parley, clock }) => {
      const client = await TestClient.connect(parley.fetch, { capabilities: ABLE });
      await client.call("story");
      await client.listen();
      assert.equal(parley.counts.streams, 2);
      clock.advance(30_000);
      assert.equal(parley.counts.streams, 0);
    }));

  it("while it sends is forgotten", () =>
    serving({ serve: [story] }, async ({ parley, clock }) => {
      const text = JSON.stringify(initialize());
      for (const end of [0, 1, text.length - 1]) {
        let controller!: ReadableStreamDefaultController<Uint8Array>;
        const body = new ReadableStream<Uint8Array>({ start: (its) => void (controller = its) });
        const headers = { "content-type": "application/json", accept: "*/*" };
        const init = { method: "POST", headers, body, duplex: "half" };
        const response = parley.fetch(new Request(`${ORIGIN}/mcp`, init as RequestInit));
        controller.enqueue(new TextEncoder().encode(text.slice(0, end)));
        await turn();
        controller.error(new Error("reset"));
        assert.equal((await response).status, 400);
        assert.equal(clock.timers, 0);
      }
      assert.deepEqual(parley.counts, NOTHING);
    }));

  it("and comes back finds its call where it left it", () =>
    serving({ serve: [story] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("story", {}, { progressToken: 1 });
      await call.leave();
      let id = "1.0";
      const methods: (string | undefined)[] = [];
      // It reads one message, disconnects, and comes back, again and again.
      for (;;) {
        const resumed = await client.listen(id);
        const message = await resumed.message();
        await resumed.leave();
        id = resumed.lastEventId!;
        methods.push(message?.method);
        if (message?.result) break;
        if (message?.method === "elicitation/create") {
          await client.answer(message, { action: "decline" });
        } else if (message?.method === "sampling/createMessage") {
          const content = { type: "text", text: "something" };
          await client.answer(message, { role: "assistant", content, model: "m" });
        }
      }
      assert.deepEqual(methods, [
        "notifications/progress",
        "elicitation/create",
        "notifications/message",
        "sampling/createMessage",
        undefined,
      ]);
      assert.equal((await client.listen(id)).status, 405);
    }));
});
