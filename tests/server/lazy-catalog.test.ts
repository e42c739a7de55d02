import assert from "node:assert/strict";
import { until as untilDone } from "effection";
import { createMcpTool, createParley, type FinalizedMcpTool, type ParleyOptions } from "parley-mcp";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { useStdio } from "../transport/stdio/channel.ts";
import { describe, it } from "../suite.ts";
import { initialize, TestClient } from "../support/legacy/client.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { serving } from "../support/legacy/server.ts";
import { idle } from "../support/turn.ts";

const hello = createMcpTool("hello").description("Greets.").execute(function* () {
  return "hello";
});

/** Tools that are loaded when the test says so. */
class Later {
  asked = 0;
  readonly #tools = Promise.withResolvers<readonly FinalizedMcpTool[]>();

  get serve(): NonNullable<ParleyOptions["serve"]> {
    return {
      kinds: ["tool"],
      load: () => {
        this.asked++;
        return this.#tools.promise;
      },
    };
  }

  come(tools: readonly FinalizedMcpTool[] = [hello]): void {
    this.#tools.resolve(tools);
  }

  fail(): void {
    this.#tools.reject(new Error("no such tool"));
  }
}

/** Tracks whether and how a promise settled. */
function watched<T>(promise: Promise<T>): { value: T | undefined } {
  const seen: { value: T | undefined } = { value: undefined };
  promise.then((value) => seen.value = value);
  return seen;
}

describe("a server whose tools are loaded later", () => {
  it("greets a client at once, announces what it will have, and loads nothing for that", async () => {
    const later = new Later();
    await serving({ serve: later.serve }, async ({ fetch }) => {
      const client = new TestClient(fetch);
      const { result } = await (await client.post(initialize())).json();
      assert.deepEqual(result.capabilities.tools, { listChanged: true });
      assert.equal(result.capabilities.prompts, undefined);
      assert.equal(later.asked, 0);
      // Tools that are not loaded yet may have views.
      const ui = "io.modelcontextprotocol/ui";
      const capabilities = { extensions: { [ui]: {} } };
      const shown = await (await new TestClient(fetch).post(initialize({ capabilities }))).json();
      assert.deepEqual(shown.result.capabilities.resources, {});
      assert.deepEqual(shown.result.capabilities.extensions, { [ui]: { elicitation: {} } });
    });
  });

  it("makes every other request wait until they are loaded, and loads them once", async () => {
    const later = new Later();
    await serving({ serve: later.serve }, async ({ fetch, parley }) => {
      const client = new TestClient(fetch);
      const greeting = await client.post(initialize());
      await greeting.text();
      client.sessionId = greeting.headers.get("mcp-session-id")!;
      const ask = async (method: string, params = {}) =>
        (await client.post({ jsonrpc: "2.0", id: client.nextId(), method, params })).json();
      const initialized = client.notify("notifications/initialized");
      const waiting = [
        ask("tools/list"),
        ask("tools/call", { name: "hello" }),
        new ModernClient(parley.fetch).result("tools/call", { name: "hello" }),
        new ModernClient(parley.fetch).result("server/discover"),
      ];
      const seen = waiting.map(watched);
      await idle();
      assert.deepEqual(seen.map(({ value }) => value), Array(4).fill(undefined));
      assert.equal(later.asked, 1);
      later.come();
      assert.equal((await initialized).status, 202);
      const [list, call, modern, discovered] = await Promise.all(waiting);
      assert.deepEqual(list.result.tools.map(({ name }: { name: string }) => name), ["hello"]);
      assert.equal(call.result.content[0].text, "hello");
      assert.equal(modern.content[0].text, "hello");
      assert.deepEqual(discovered.capabilities.tools, { listChanged: true });
      assert.equal((await ask("tools/call", { name: "hello" })).result.isError, undefined);
      assert.equal(later.asked, 1);
    });
  });

  it("tells the operator if they cannot be loaded, and continues without them", async () => {
    const later = new Later();
    await serving({ serve: later.serve }, async ({ fetch, faults }) => {
      later.fail();
      const client = await TestClient.connect(fetch);
      const list = await client.post({ jsonrpc: "2.0", id: 1, method: "tools/list" });
      assert.deepEqual((await list.json()).result.tools, []);
      const [fault, ...others] = faults.splice(0);
      assert.match(String(fault?.error), /no such tool/);
      assert.deepEqual(others, []);
    });
  });

  it("can be closed while they are being loaded", async () => {
    const later = new Later();
    const store = new InMemoryToolSessionStore();
    const faults: unknown[] = [];
    const report = (fault: unknown) => faults.push(fault);
    const parley = createParley({ serve: later.serve, store, report });
    assert.equal(later.asked, 1);
    await parley.close();
    later.come();
    await idle();
    assert.deepEqual(faults, []);
  });

  it("handles lines in their order, and all of them before the input ends", function* () {
    const later = new Later();
    const { client, ended } = yield* useStdio({ serve: later.serve });
    client.initialize();
    const list = client.request("tools/list");
    const call = client.request("tools/call", { name: "hello" });
    const again = client.initialize();
    client.raw(`{"jsonrpc":"2.0","id":"last","method":"ping"}`);
    client.end();
    yield* untilDone(idle());
    assert.equal(client.messages.length, 1);
    assert.ok("capabilities" in client.messages[0]!.result!);
    later.come();
    yield* untilDone(ended);
    const ids = client.messages.map(({ id }) => id);
    assert.deepEqual(ids.slice(0, 2), [1, list]);
    assert.deepEqual(new Set(ids), new Set([1, list, call, again, "last"]));
  });

  it("can be stopped while a line waits for them, which is then not handled", function* () {
    const later = new Later();
    const { client, ended, abort, parley } = yield* useStdio({ serve: later.serve });
    client.modern("tools/call", { name: "hello" });
    yield* untilDone(idle());
    assert.equal(later.asked, 1);
    abort.abort();
    yield* untilDone(ended);
    later.come();
    yield* untilDone(idle());
    assert.deepEqual(client.messages, []);
    assert.equal(parley.counts.live, 0);
  });

  it("reads invalid lines while they are being loaded", function* () {
    const later = new Later();
    const { client } = yield* useStdio({ serve: later.serve });
    client.raw("{ what\n[]\n");
    later.come();
    const refusal = yield* untilDone(client.find(({ error }) => error !== undefined));
    assert.equal(refusal.error?.code, -32700);
  });
});
