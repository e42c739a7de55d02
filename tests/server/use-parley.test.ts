import assert from "node:assert/strict";
import { createContext, scoped, spawn, suspend, until } from "effection";
import {
  createManualClock,
  createMcpTool,
  InMemoryToolSessionStore,
  type Parley,
  type ToolSessionRegistry,
  ToolSessionRegistryContext,
  ToolSessionStoreContext,
  useParley,
  useToolSessionRegistry,
} from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../suite.ts";
import { ABLE, TestClient } from "../support/legacy/client.ts";
import { turn } from "../support/turn.ts";

const form = { response: z.object({ n: z.int() }) };
const ask = createMcpTool("ask").description("Asks.").elicits({ n: form })
  .execute(function* (_, ctx) {
    const answer = yield* ctx.elicit("n", { message: "?" });
    return answer.action === "accept" ? `${answer.content.n}` : answer.action;
  });
const order = createMcpTool("order").description("Asks, and is durable.").elicits({ n: form })
  .durable()
  .execute(function* (_, ctx) {
    const answer = yield* ctx.elicit("n", { message: "?" });
    return answer.action;
  });

const call = (name: string) => ({
  jsonrpc: "2.0",
  id: 7,
  method: "tools/call",
  params: { name },
});

/** Calls a tool, and waits until it runs. */
function* startCall(parley: Parley, name: string) {
  const { live } = parley.counts;
  const client = yield* until(TestClient.connect(parley.fetch, { capabilities: ABLE }));
  const response = client.post(call(name));
  while (parley.counts.live === live) yield* until(turn());
  return { client, text: response.then((response) => response.text()) };
}

describe("useParley()", () => {
  it("closes the server when its scope ends, and its calls with it", function* () {
    const clock = createManualClock();
    const { parley, text } = yield* scoped(function* () {
      const parley = yield* useParley({ serve: [ask], clock });
      return { parley, ...(yield* startCall(parley, "ask")) };
    });
    assert.match(yield* until(text), /shutting down/);
    assert.deepEqual(parley.counts, { live: 0, finished: 0, streams: 0, clientSessions: 0 });
    assert.equal(clock.timers, 0);
  });

  it("closes the server when its scope is halted", function* () {
    const clock = createManualClock();
    const calls: Promise<string>[] = [];
    const task = yield* spawn(function* () {
      const parley = yield* useParley({ serve: [ask], clock });
      calls.push((yield* startCall(parley, "ask")).text);
      yield* suspend();
    });
    while (calls.length === 0) yield* until(turn());
    yield* task.halt();
    assert.match(yield* until(calls[0]!), /shutting down/);
    assert.equal(clock.timers, 0);
  });

  it("uses the store of its scope by default", function* () {
    const [outer, given] = [new InMemoryToolSessionStore(), new InMemoryToolSessionStore()];
    const clock = createManualClock();
    yield* ToolSessionStoreContext.set(outer);
    for (const [options, sizes] of [[{}, [1, 0]], [{ store: given }, [1, 1]]] as const) {
      const text = yield* scoped(function* () {
        const parley = yield* useParley({ serve: [order], clock, ...options });
        const { text } = yield* startCall(parley, "order");
        while (outer.size + given.size < sizes[0] + sizes[1]) yield* until(turn());
        assert.deepEqual([outer.size, given.size], sizes);
        return text;
      });
      yield* until(text);
    }
  });

  it("runs its calls in the registry of its scope, where tools see the scope's contexts", function* () {
    const clock = createManualClock();
    const Tenant = createContext<string>("test.tenant");
    const who = createMcpTool("who").description("Tells the tenant.").execute(function* () {
      return yield* Tenant.expect();
    });
    yield* Tenant.set("acme");
    const registry = yield* useToolSessionRegistry({ clock });
    const parley = yield* useParley({ serve: [ask, who] });
    const client = yield* until(TestClient.connect(parley.fetch));
    const answer = yield* until(client.post(call("who")));
    assert.match(yield* until(answer.text()), /acme/);
    yield* startCall(parley, "ask");
    assert.equal(registry.counts.live, 1);
    yield* registry.create(ask, {});
    assert.equal(parley.counts.live, 2);
  });

  it("ends its own calls when it closes, and leaves those of the program running", function* () {
    const clock = createManualClock();
    const registry = yield* useToolSessionRegistry({ clock });
    const mine = yield* registry.create(ask, {});
    const text = yield* scoped(function* () {
      const parley = yield* useParley({ serve: [ask] });
      return (yield* startCall(parley, "ask")).text;
    });
    assert.match(yield* until(text), /shutting down/);
    assert.equal(registry.counts.live, 1);
    assert.equal(yield* mine.status(), "awaiting_elicit");
    // The registry takes new sessions, and another server.
    yield* registry.create(ask, {});
    const again = yield* useParley({ serve: [ask] });
    yield* startCall(again, "ask");
    assert.equal(registry.counts.live, 3);
  });

  it("suspends its durable calls when it closes, and the next server continues them", function* () {
    const clock = createManualClock();
    const ids: string[] = [];
    const store = new InMemoryToolSessionStore();
    yield* ToolSessionStoreContext.set(store);
    const noted = createMcpTool("order").description("Asks, and is durable.").elicits({ n: form })
      .durable().execute(function* (_, ctx) {
        ids.push(ctx.sessionId);
        return (yield* ctx.elicit("n", { message: "?" })).action;
      });
    const registry = yield* useToolSessionRegistry({ clock });
    const text = yield* scoped(function* () {
      const parley = yield* useParley({ serve: [noted] });
      return (yield* startCall(parley, "order")).text;
    });
    yield* until(text);
    while (registry.counts.live > 0) yield* until(turn());
    assert.equal(store.size, 1);
    yield* useParley({ serve: [noted] });
    const session = yield* registry.acquire(ids[0]!);
    assert.deepEqual(ids, [session.id, session.id]);
    assert.equal(yield* session.status(), "awaiting_elicit");
    yield* session.cancel();
  });

  it("refuses options that the registry of its scope decides", function* () {
    yield* useToolSessionRegistry({ clock: createManualClock() });
    const cases = [
      { store: new InMemoryToolSessionStore() },
      { clock: createManualClock() },
      { onCall: () => {} },
      { limits: { maxSessions: 5 } },
    ];
    for (const options of cases) {
      yield* refused(() => useParley(options), /Cannot use the option "[\w.]+": this scope/);
    }
    yield* useParley({ limits: { maxBody: 1_000 } });
  });

  it("refuses a registry that serves another server, or is not Parley's", function* () {
    yield* scoped(function* () {
      yield* useToolSessionRegistry({ clock: createManualClock() });
      yield* useParley();
      yield* refused(() => useParley(), /another server uses it/);
    });
    yield* ToolSessionRegistryContext.set({} as ToolSessionRegistry);
    yield* refused(() => useParley(), /Parley did not create it/);
  });
});

function* refused(start: () => ReturnType<typeof useParley>, problem: RegExp) {
  let error: unknown;
  try {
    yield* scoped(start);
  } catch (thrown) {
    error = thrown;
  }
  assert.ok(error instanceof TypeError);
  assert.match(error.message, problem);
}
