import assert from "node:assert/strict";
import { all } from "effection";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import type { Exchange } from "../../support/exchange.ts";
import { accept, asked, TestClient, textOf } from "../../support/modern/client.ts";
import { serving, type TestServer } from "../../support/modern/server.ts";
import { Gate } from "../../support/gate.ts";
import { KEEP_UP_TIME } from "../../../src/session/pace.ts";
import { idle, until } from "../../support/turn.ts";
import { describe, it } from "../../suite.ts";

const question = { go: { response: z.object({ go: z.boolean() }) } };

interface Kit extends TestServer {
  readonly client: TestClient;
  readonly gate: Gate;
  /** What the tool has done. */
  readonly done: string[];
}

function testing(body: (kit: Kit) => Promise<void>): () => Promise<void> {
  return () => {
    const gate = new Gate();
    const done: string[] = [];
    const works = createMcpTool("works").description("Asks, then works").elicits(question)
      .parameters(z.object({ ask: z.boolean().default(false) }))
      .execute(function* ({ ask }, ctx) {
        try {
          if (ask) yield* ctx.elicit("go", { message: "Go?" });
          done.push("began");
          yield* gate.pass();
          done.push("worked");
          return "worked";
        } finally {
          done.push("cleaned up");
        }
      });
    const both = createMcpTool("both").description("Asks twice at once").elicits(question)
      .execute(function* (_params, ctx) {
        try {
          yield* all([
            ctx.elicit("go", { message: "One?" }),
            ctx.elicit("go", { message: "Two?" }),
          ]);
          return "both";
        } finally {
          done.push("cleaned up");
        }
      });
    return serving({ serve: [works, both] }, async (server) => {
      await body({ ...server, client: new TestClient(server.fetch), gate, done });
    });
  };
}

const go = { go: accept({ go: true }) };
const CANCELLED = ["began", "cleaned up"];

/** A running call whose response is a stream. */
async function streaming(
  { client, clock, gate }: Kit,
  params: { readonly [key: string]: unknown } = {},
): Promise<Exchange> {
  const { waiting } = gate;
  const call = client.start("tools/call", { name: "works", arguments: {}, ...params });
  await until(() => gate.waiting > waiting);
  clock.advance(100);
  const exchange = await call;
  assert.equal(exchange.isStream, true);
  return exchange;
}

describe("closing the response of a call", () => {
  it(
    "cancels the call: the generator's finally has run, and nothing is left",
    testing(async (kit) => {
      const exchange = await streaming(kit);
      assert.equal(kit.parley.counts.streams, 1);
      await exchange.leave();
      await until(() => kit.parley.counts.live === 0);
      assert.deepEqual(kit.done, CANCELLED);
      assert.equal(kit.parley.counts.streams, 0);
    }),
  );

  it(
    "cancels it after a round too, and later requests with the state learn that",
    testing(async (kit) => {
      const { requestState } = await kit.client.call("works", { ask: true });
      const retry = { arguments: { ask: true }, requestState, inputResponses: go };
      await (await streaming(kit, retry)).leave();
      await until(() => kit.parley.counts.live === 0);
      assert.deepEqual(kit.done, CANCELLED);
      const error = await kit.client.error("tools/call", { name: "works", ...retry });
      assert.equal(error.code, -32603);
      assert.match(error.message, /the client closed the connection; call again/);
    }),
  );

  it(
    "changes nothing after the final response",
    testing(async (kit) => {
      const exchange = await streaming(kit);
      kit.gate.open();
      assert.equal(await exchange.text(), "worked");
      await exchange.leave();
      assert.deepEqual(kit.done, ["began", "worked", "cleaned up"]);
      assert.deepEqual(kit.parley.counts, { live: 0, finished: 0, streams: 0, clientSessions: 0 });
    }),
  );

  it(
    "cancels before a question was sent, because nobody could answer it",
    testing(async ({ client, parley, clock, done }) => {
      const leaving = new AbortController();
      const { signal } = leaving;
      const call = client.start("tools/call", { name: "both" }, { signal });
      await idle();
      clock.advance(19);
      leaving.abort();
      assert.equal((await call).status, 499);
      await until(() => parley.counts.live === 0);
      assert.deepEqual(done, ["cleaned up"]);
    }),
  );

  it(
    "does not cancel while it waits for answers whose state was sent",
    testing(async ({ client, parley, clock, done }) => {
      const call = client.start("tools/call", { name: "both" });
      await idle();
      clock.advance(20);
      const { requestState, inputRequests } = await (await call).result();
      assert.deepEqual(Object.keys(inputRequests), ["go", "go_2"]);
      const leaving = new AbortController();
      const retry = { name: "both", arguments: {}, requestState, inputResponses: go };
      const second = client.start("tools/call", retry, { signal: leaving.signal });
      await idle();
      leaving.abort();
      assert.equal((await second).status, 499);
      assert.equal(parley.counts.live, 1);
      assert.deepEqual(done, []);
      const inputResponses = { go_2: accept({ go: true }) };
      assert.equal(textOf(await client.call("both", {}, { requestState, inputResponses })), "both");
    }),
  );

  it(
    "does not cancel if another identical retry is open; closing the last one does",
    testing(async (kit) => {
      const { requestState } = await kit.client.call("works", { ask: true });
      const retry = { arguments: { ask: true }, requestState, inputResponses: go };
      const first = await streaming(kit, retry);
      const second = kit.client.start("tools/call", { name: "works", ...retry });
      await idle();
      kit.clock.advance(100);
      const other = await second;
      await first.leave();
      await idle();
      assert.equal(kit.parley.counts.live, 1);
      assert.deepEqual(kit.done, ["began"]);
      await other.leave();
      await until(() => kit.parley.counts.live === 0);
      assert.deepEqual(kit.done, CANCELLED);
    }),
  );

  it(
    "leaves the result to the other of two identical retries",
    testing(async (kit) => {
      const { requestState } = await kit.client.call("works", { ask: true });
      const retry = { arguments: { ask: true }, requestState, inputResponses: go };
      const first = await streaming(kit, retry);
      const second = kit.client.start("tools/call", { name: "works", ...retry });
      await idle();
      await first.leave();
      kit.gate.open();
      assert.equal(await (await second).text(), "worked");
      assert.deepEqual(kit.done, ["began", "worked", "cleaned up"]);
    }),
  );
});

describe("leaving before the response begins", () => {
  it(
    "cancels within the time to decide",
    testing(async ({ client, parley, gate, clock, done }) => {
      const leaving = new AbortController();
      const { signal } = leaving;
      const call = client.start("tools/call", { name: "works" }, { signal });
      await until(() => gate.waiting === 1);
      clock.advance(50);
      leaving.abort();
      assert.equal((await call).status, 499);
      await until(() => parley.counts.live === 0);
      assert.deepEqual(done, CANCELLED);
    }),
  );

  it(
    "cancels if the client had left before the call began",
    testing(async ({ fetch, parley, done }) => {
      const leaving = new AbortController();
      // The client leaves between the body and the call.
      const client = new TestClient(async (request) => {
        const response = fetch(request);
        leaving.abort();
        return await response;
      });
      const { signal } = leaving;
      const exchange = await client.start("tools/call", { name: "works" }, { signal })
        .catch(() => undefined);
      if (exchange) assert.ok(exchange.status >= 400);
      await until(() => parley.counts.live === 0);
      assert.ok(done.length === 0 || done.join() === CANCELLED.join());
    }),
  );
});

describe("a reader that stalls", () => {
  it(
    "is disconnected after 30 s, and its call is cancelled",
    testing(async (kit) => {
      const exchange = await streaming(kit);
      kit.clock.advance(29_999);
      assert.equal(kit.parley.counts.live, 1);
      kit.clock.advance(1);
      await until(() => kit.parley.counts.live === 0);
      assert.deepEqual(kit.done, CANCELLED);
      assert.equal(kit.parley.counts.streams, 0);
      kit.watch.complaints.length = 0;
      await exchange.leave();
    }),
  );

  it("costs no more memory than the log keeps", async () => {
    const gate = new Gate();
    const floods = createMcpTool("floods").description("Says too much")
      .execute(function* (_params, ctx) {
        yield* gate.pass();
        for (let i = 1; i <= 5_000; i++) yield* ctx.notify("x".repeat(100), i);
        return "said";
      });
    await serving(
      { serve: [floods], limits: { maxEventsPerSession: 50 } },
      async ({ fetch, clock, parley }) => {
        const client = new TestClient(fetch, { meta: { progressToken: 1 } });
        const call = client.start("tools/call", { name: "floods" });
        await until(() => gate.waiting === 1);
        clock.advance(100);
        const exchange = await call;
        gate.open();
        await idle();
        assert.equal(parley.counts.live, 1, "it waits for its reader");
        clock.advance(KEEP_UP_TIME);
        await until(() => parley.counts.live === 0);
        const [notice, ...messages] = await exchange.rest();
        assert.match(notice?.params.message, /^49\d\d events were lost/);
        assert.ok(messages.length <= 50, `${messages.length}`);
        assert.equal(messages.at(-2)?.params.progress, 5_000);
        assert.equal(textOf(messages.at(-1)!.result), "said");
      },
    );
  });
});

describe("a question that is withdrawn", () => {
  it("before anybody has read it is not asked, and the call continues", async () => {
    const gate = new Gate();
    const impatient = createMcpTool("impatient").description("Does not wait long").elicits(question)
      .parameters(z.object({ again: z.boolean() }))
      .execute(function* ({ again }, ctx) {
        yield* ctx.notify("hello", 1);
        yield* gate.pass();
        const answer = yield* ctx.elicit("go", { message: "Go?" }, { timeout: 1_000 });
        if (again) yield* ctx.elicit("go", { message: "And now?" });
        return answer.action;
      });
    await serving({ serve: [impatient] }, async ({ fetch, clock }) => {
      const client = new TestClient(fetch, { meta: { progressToken: 1 } });
      const call = (again: boolean) =>
        client.start("tools/call", { name: "impatient", arguments: { again } });
      const [once, twice] = await Promise.all([call(false), call(true)]);
      gate.open();
      // The readers have not asked for more, so nothing was sent.
      clock.advance(1_000);
      assert.equal(textOf((await once.rest()).at(-1)!.result), "timeout");
      assert.deepEqual(asked((await twice.rest()).at(-1)!.result), ["go_2"]);
    });
  });
});
