/**
 * Progress that is sent faster than it is read: all of it arrives, in order and in bounded memory.
 */
import assert from "node:assert/strict";
import { all, each, until as settled } from "effection";
import {
  createManualClock,
  createMcpTool,
  createParley,
  type ParleyOptions,
  type ToolSessionEvent,
} from "parley-mcp";
import { z } from "zod";
import { listen } from "../../src/platform/listen.ts";
import { KEEP_UP_TIME } from "../../src/session/pace.ts";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { useStdio } from "../transport/stdio/channel.ts";
import { describe, it } from "../suite.ts";
import type { Exchange } from "../support/exchange.ts";
import { TestClient, textOf } from "../support/legacy/client.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { serving as servingModern } from "../support/modern/server.ts";
import { serving } from "../support/legacy/server.ts";
import { idle, until } from "../support/turn.ts";

const PROGRESS = { progressToken: "p" };
const MAX_EVENTS = 1_000;

/** A tool that sends progress without waiting for anything else, and a counter of what it sent. */
function chatter() {
  const state = { told: 0, cleaned: 0 };
  const body = (count: number) =>
    // deno-lint-ignore no-explicit-any
    function* (ctx: any) {
      try {
        while (state.told < count) yield* ctx.notify(`${++state.told}`, state.told, count);
        return "said";
      } finally {
        state.cleaned++;
      }
    };
  const parameters = z.object({ count: z.int() });
  const tool = createMcpTool("chatter").description("Tells a lot").parameters(parameters)
    .execute(function* ({ count }, ctx) {
      return yield* body(count)(ctx);
    });
  const durable = createMcpTool("durable").description("Tells a lot").parameters(parameters)
    .durable({ version: "1" })
    .execute(function* ({ count }, ctx) {
      return yield* body(count)(ctx);
    });
  return { tool, durable, state };
}

/**
 * Reads a call to its end: everything must arrive, in order, and not be sent long before it is
 * read.
 */
async function readAll(call: Exchange, count: number, state: { told: number }): Promise<void> {
  let last = 0;
  let most = 0;
  for (let next = await call.message(); next; next = await call.message()) {
    if (next.result) {
      assert.equal(textOf(next.result), "said");
      assert.equal(last, count);
      // Some events are in transit, and some wait in the log.
      assert.ok(most <= 2 * MAX_EVENTS, `it was ${most} events ahead`);
      return;
    }
    assert.equal(next.method, "notifications/progress");
    assert.equal(next.params.progress, ++last);
    assert.equal(next.params.message, `${last}`);
    most = Math.max(most, state.told - last);
  }
  assert.fail(`the stream ended after ${last} events`);
}

/** Runs `body` with a server without schema checks: checking so many messages takes too long. */
async function unwatched(
  options: ParleyOptions,
  body: (fetch: (request: Request) => Promise<Response>) => Promise<void>,
): Promise<void> {
  // Leave the Effection step that the test runs in: platforms call a server from outside of one.
  await Promise.resolve();
  const parley = createParley({ clock: createManualClock(), ...options });
  try {
    await body(parley.fetch);
  } finally {
    await parley.close();
  }
}

async function legacyCall(
  fetch: ConstructorParameters<typeof TestClient>[0],
  name: string,
  count: number,
  url?: string,
): Promise<Exchange> {
  return await (await TestClient.connect(fetch, url ? { url } : {})).call(
    name,
    { count },
    PROGRESS,
  );
}

async function modernCall(
  fetch: ConstructorParameters<typeof TestClient>[0],
  name: string,
  count: number,
  url?: string,
): Promise<Exchange> {
  const client = new ModernClient(fetch, { meta: PROGRESS, ...(url && { url }) });
  return await client.start("tools/call", { name, arguments: { count } });
}

const eras = [["legacy", legacyCall], ["modern", modernCall]] as const;

describe("progress that is sent in a loop", () => {
  for (const [era, start] of eras) {
    it(`arrives completely, in the ${era} era`, async () => {
      for (const count of [1, 499, 500, 501, 999, 1_000, 1_001, 5_000]) {
        const { tool, state } = chatter();
        await unwatched({ serve: [tool] }, async (fetch) => {
          await readAll(await start(fetch, "chatter", count), count, state);
        });
      }
    });

    it(`arrives completely if it is recorded, in the ${era} era`, async () => {
      const { durable, state } = chatter();
      await unwatched(
        { serve: [durable], store: new InMemoryToolSessionStore() },
        async (fetch) => {
          await readAll(await start(fetch, "durable", 3_000), 3_000, state);
        },
      );
    });

    it(`arrives completely with 100,000 events, in the ${era} era`, async () => {
      const { tool, state } = chatter();
      await unwatched({ serve: [tool] }, async (fetch) => {
        await readAll(await start(fetch, "chatter", 100_000), 100_000, state);
      });
    });

    it(`arrives completely from 3,000 branches at once, in the ${era} era`, async () => {
      const branches = createMcpTool("branches").description("Tells in many branches")
        .parameters(z.object({ count: z.int() }))
        .execute(function* ({ count }, ctx) {
          yield* all(
            Array.from({ length: count }, (_, i) => ctx.branch((branch) => branch.notify(`${i}`))),
          );
          return "said";
        });
      await unwatched({ serve: [branches] }, async (fetch) => {
        const messages = await (await start(fetch, "branches", 3_000)).rest();
        const told = messages.flatMap(({ params }) => params ? [Number(params.message)] : []);
        assert.deepEqual(told.sort((a, b) => a - b), Array.from({ length: 3_000 }, (_, i) => i));
      });
    });
  }

  it("arrives completely after a question, in the modern era", async () => {
    const asks = createMcpTool("asks").description("Asks, then tells a lot")
      .elicits({ go: { response: z.object({ go: z.boolean() }) } })
      .execute(function* (_params, ctx) {
        yield* ctx.elicit("go", { message: "Go?" });
        for (let i = 1; i <= 5_000; i++) yield* ctx.notify(`${i}`, i);
        return "said";
      });
    await unwatched({ serve: [asks] }, async (fetch) => {
      const client = new ModernClient(fetch, { meta: PROGRESS });
      const { requestState } = await client.call("asks");
      const inputResponses = { go: { action: "accept", content: { go: true } } };
      const params = { name: "asks", arguments: {}, requestState, inputResponses };
      await readAll(await client.start("tools/call", params), 5_000, { told: 0 });
    });
  });

  it("arrives completely over real sockets, in both eras", async () => {
    await Promise.resolve();
    for (const [, start] of eras) {
      const { tool, state } = chatter();
      const parley = createParley({ serve: [tool] });
      const listening = await listen(parley.fetch, { port: 0, hostname: "127.0.0.1" });
      try {
        const url = `http://127.0.0.1:${listening.port}/mcp`;
        const call = await start(fetch, "chatter", 100_000, url);
        // Sockets buffer too: the log alone does not determine how far the tool is ahead.
        await readAll(call, 100_000, { told: 0 });
        assert.equal(state.cleaned, 1);
      } finally {
        await parley.close();
        await listening.stop();
      }
    }
  });

  it("arrives completely over stdio, in both eras", function* () {
    for (const era of ["request", "modern"] as const) {
      const { tool, state } = chatter();
      const { client } = yield* useStdio({ serve: [tool], clock: createManualClock() });
      yield* settled(client.answerTo(client.initialize()));
      client.messages.length = 0;
      const params = { name: "chatter", arguments: { count: 100_000 }, _meta: PROGRESS };
      const id = client[era]("tools/call", params);
      yield* settled(client.answerTo(id));
      const progress = client.messages.slice(0, -1).map(({ params }) => params?.progress);
      assert.equal(progress.length, 100_000);
      assert.ok(progress.every((value, i) => value === i + 1), "in order");
      assert.equal(state.told, 100_000);
      // Not all at once: the output buffer is bounded.
      assert.ok(Math.max(...client.writes) < 5 * 1024 * 1024, `${client.writes}`);
    }
  });

  it("pauses over stdio while nobody reads, and continues when somebody does", function* () {
    const { tool, state } = chatter();
    const { client } = yield* useStdio({ serve: [tool], clock: createManualClock() });
    const { promise, resolve } = Promise.withResolvers<void>();
    client.gate = promise;
    const params = { name: "chatter", arguments: { count: 100_000 }, _meta: PROGRESS };
    const id = client.modern("tools/call", params);
    yield* settled(until(() => state.told > 0));
    yield* settled(idle());
    assert.ok(state.told < 50_000, `${state.told}`);
    const toldBefore = state.told;
    yield* settled(idle());
    assert.equal(state.told, toldBefore);
    client.gate = undefined;
    resolve();
    yield* settled(client.answerTo(id));
    assert.equal(client.messages.length, 100_001);
  });

  it("arrives completely at a reader inside the program", function* () {
    const { tool } = chatter();
    const registry = new LiveToolSessionRegistry({ clock: createManualClock() });
    const session = yield* registry.create(tool, { count: 5_000 });
    const events: ToolSessionEvent[] = [];
    for (const event of yield* each(session.getEvents())) {
      events.push(event);
      yield* each.next();
    }
    assert.deepEqual(events.map(({ lsn }) => lsn), Array.from({ length: 5_001 }, (_, i) => i + 1));
    yield* settled(registry.close());
  });

  it("does not wait for a reader if the call has none", async () => {
    const { tool, state } = chatter();
    await Promise.resolve();
    const registry = new LiveToolSessionRegistry({ clock: createManualClock() });
    const session = registry.open(tool, { count: 5_000 });
    assert.equal(session.outcome?.status, "completed");
    assert.equal(state.told, 5_000);
    await registry.close();
  });
});

describe("a reader that is too slow", () => {
  /** Calls, reads nothing until the run no longer waits, and then reads. */
  async function late(
    start: () => Promise<Exchange>,
    clock: { advance(ms: number): void },
    state: { cleaned: number },
  ) {
    const call = await start();
    await idle();
    assert.equal(state.cleaned, 0, "it waits for its reader");
    clock.advance(KEEP_UP_TIME - 1);
    await idle();
    assert.equal(state.cleaned, 0);
    clock.advance(1);
    await until(() => state.cleaned === 1);
    return await call.rest();
  }

  it("learns from a log message how much it missed, if it accepts those", async () => {
    const legacy = chatter();
    await serving({ serve: [legacy.tool] }, async ({ fetch, clock }) => {
      const start = () => legacyCall(fetch, "chatter", 5_000);
      const messages = await late(start, clock, legacy.state);
      const notice = messages.findIndex(({ method }) => method === "notifications/message");
      const { level, data } = messages[notice]!.params;
      assert.deepEqual([level, data], ["warning", missed(messages, notice)]);
    });
    const modern = chatter();
    await servingModern({ serve: [modern.tool] }, async ({ fetch, clock }) => {
      const meta = { ...PROGRESS, "io.modelcontextprotocol/logLevel": "info" };
      const client = new ModernClient(fetch, { meta });
      const params = { name: "chatter", arguments: { count: 5_000 } };
      const start = () => client.start("tools/call", params);
      const messages = await late(start, clock, modern.state);
      const notice = messages.findIndex(({ method }) => method === "notifications/message");
      assert.equal(messages[notice]!.params.data, missed(messages, notice));
    });
  });

  it("learns it from progress otherwise", async () => {
    const legacy = chatter();
    await serving({ serve: [legacy.tool] }, async ({ fetch, clock }) => {
      const client = await TestClient.connect(fetch);
      await client.request("logging/setLevel", { level: "error" });
      const start = () => client.call("chatter", { count: 5_000 }, PROGRESS);
      const messages = await late(start, clock, legacy.state);
      const notice = messages.findIndex(({ params }) => / events were lost/.test(params?.message));
      assert.equal(messages[notice]!.params.message, missed(messages, notice));
    });
    const modern = chatter();
    await servingModern({ serve: [modern.tool] }, async ({ fetch, clock }) => {
      const start = () => modernCall(fetch, "chatter", 5_000);
      const messages = await late(start, clock, modern.state);
      const notice = messages.findIndex(({ params }) => / events were lost/.test(params?.message));
      assert.equal(messages[notice]!.params.message, missed(messages, notice));
      const told = messages.flatMap(({ params }) => params ? [params.progress] : []);
      assert.ok(told.every((value, i) => i === 0 || value > told[i - 1]), "it grows all the same");
    });
  });

  /** The number that the notice must contain, from what came before and after it. */
  // deno-lint-ignore no-explicit-any
  function missed(messages: readonly any[], notice: number): string {
    const before = notice === 0 ? 0 : Number(messages[notice - 1].params.message);
    const after = Number(messages[notice + 1].params.message);
    assert.equal(Number(messages.at(-2).params.message), 5_000);
    assert.ok(after - before > 1_000);
    return `${after - before - 1} events were lost: they arrived faster than they were read`;
  }
});

describe("a run that waits for its reader", () => {
  it("cleans up when its modern client leaves, and leaves no timer behind", async () => {
    const { tool, state } = chatter();
    await servingModern({ serve: [tool] }, async ({ fetch, parley }) => {
      const call = await modernCall(fetch, "chatter", 100_000);
      await idle();
      await call.leave();
      await until(() => state.cleaned === 1);
      assert.ok(state.told < 2_000, `${state.told}`);
      assert.equal(parley.counts.live, 0);
    });
  });

  it("is cancelled by its legacy client, and leaves no timer behind", async () => {
    const { tool, state } = chatter();
    await serving({ serve: [tool] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const params = { name: "chatter", arguments: { count: 100_000 }, _meta: PROGRESS };
      const call = await client.start("tools/call", params, "c");
      await idle();
      await client.notify("notifications/cancelled", { requestId: "c" });
      await until(() => state.cleaned === 1);
      await call.rest();
    });
  });

  it("continues by itself when its legacy client loses the connection", async () => {
    const { tool, state } = chatter();
    await serving({ serve: [tool] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const call = await client.call("chatter", { count: 5_000 }, PROGRESS);
      await idle();
      assert.equal(state.cleaned, 0);
      await call.leave();
      await until(() => state.cleaned === 1);
      const resumed = await client.listen("1.0");
      const messages = await resumed.rest();
      assert.match(messages[0]?.params.data, /^4001 events were lost/);
      assert.equal(messages.length, 1 + 1_000);
      assert.equal(textOf(messages.at(-1)!.result), "said");
    });
  });

  it("is halted with the server", async () => {
    const { tool, state } = chatter();
    await servingModern({ serve: [tool] }, async ({ fetch, parley }) => {
      const call = await modernCall(fetch, "chatter", 100_000);
      await idle();
      await parley.close();
      assert.equal(state.cleaned, 1);
      await call.rest();
    });
  });
});
