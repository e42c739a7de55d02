/** A program's own registry with a store: what it does after a restart, and while a server closes. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type Operation, scoped, spawn, suspend, until as wait } from "effection";
import {
  createManualClock,
  createMcpTool,
  InMemoryToolSessionStore,
  type ManualClock,
  openStore,
  RegistryClosedError,
  type RegistryOptions,
  Sealer,
  StoreError,
  type ToolSessionEntry,
  useParley,
  useToolSessionRegistry,
  type Wake,
} from "parley-mcp";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { ABLE, TestClient } from "../support/legacy/client.ts";
import { asDurable, askTool } from "../support/registry.ts";
import { idle, until } from "../support/turn.ts";

const HOUR = 3_600_000;

/** A durable tool that sleeps for an hour, and a log of what its runs did. */
function sleeper() {
  const log: string[] = [];
  const tool = createMcpTool("sleeper").description("Sleeps.").durable()
    .execute(function* (_, ctx) {
      yield* ctx.step("before", function* () {
        log.push("before");
      });
      yield* ctx.sleep(HOUR);
      log.push("after");
      return "rested";
    });
  const find = (_kind: string, name: string) => name === "sleeper" ? tool : undefined;
  return { log, tool, find };
}

/** A store in which one operation waits until `goOn`. */
class HeldStore extends InMemoryToolSessionStore {
  held = false;
  #operation = "";
  readonly #released = Promise.withResolvers<void>();

  hold(operation: "wakes" | "take"): void {
    this.#operation = operation;
  }

  goOn(): void {
    this.#released.resolve();
  }

  override *wakes(limit: number, after?: Wake): Operation<readonly Wake[]> {
    yield* this.#wait("wakes");
    return yield* super.wakes(limit, after);
  }

  override *take(id: string): Operation<ToolSessionEntry | null> {
    yield* this.#wait("take");
    return yield* super.take(id);
  }

  *#wait(operation: string): Operation<void> {
    if (operation !== this.#operation) return;
    this.held = true;
    yield* wait(this.#released.promise);
  }
}

/** Starts a session in a registry whose scope ends at once, as when the program stops. */
function startAndStop(
  options: RegistryOptions,
  { tool }: ReturnType<typeof sleeper>,
): Operation<string> {
  return scoped(function* () {
    const registry = yield* useToolSessionRegistry(options);
    return (yield* registry.create(tool, {})).id;
  });
}

/** Moves the clock until a condition holds: a sleep may be set only after some turns. */
function* advanceUntil(clock: ManualClock, isSo: () => boolean): Operation<void> {
  for (let minutes = 0; minutes < 120 && !isSo(); minutes++) {
    clock.advance(60_000);
    yield* wait(idle());
  }
  assert.ok(isSo());
}

describe("useToolSessionRegistry() with a store and a way to find tools", () => {
  it("continues sessions of an earlier registry when they are due, without a request", function* () {
    const clock = createManualClock();
    const store = new InMemoryToolSessionStore();
    const one = sleeper();
    const options = { clock, store, find: one.find };
    yield* startAndStop(options, one);
    yield* scoped(function* () {
      const registry = yield* useToolSessionRegistry(options);
      yield* wait(idle());
      assert.deepEqual(one.log, ["before"]);
      yield* advanceUntil(clock, () => one.log.length === 2);
      assert.deepEqual(one.log, ["before", "after"]);
      assert.equal(registry.counts.live, 0);
    });
    assert.equal(clock.timers, 0);
  });

  it("continues them after a restart with the same file", function* () {
    const clock = createManualClock();
    const address = `sqlite:${join(yield* useFolder(), "own.db")}`;
    const sealer = new Sealer("a key that outlasts the program");
    const one = sleeper();
    const id = yield* scoped(function* () {
      const stores = yield* wait(openStore(address));
      const { sessions: store } = stores;
      const id = yield* startAndStop({ clock, store, sealer, find: one.find }, one);
      stores.close();
      return id;
    });
    clock.advance(HOUR);
    const stores = yield* wait(openStore(address));
    yield* scoped(function* () {
      const { sessions: store } = stores;
      const registry = yield* useToolSessionRegistry({ clock, store, sealer, find: one.find });
      yield* advanceUntil(clock, () => registry.counts.finished === 1);
      assert.deepEqual(one.log, ["before", "after"]);
      const session = yield* registry.acquire(id);
      assert.equal(yield* session.status(), "completed");
      yield* registry.release(id);
    });
    stores.close();
    assert.equal(clock.timers, 0);
  });

  for (const [operation, doing] of [["wakes", "looks for"], ["take", "continues"]] as const) {
    it(`leaves sessions in the store if it is halted while it ${doing} them`, function* () {
      const clock = createManualClock();
      const store = new HeldStore();
      const one = sleeper();
      const options = { clock, store, find: one.find };
      yield* startAndStop(options, one);
      clock.advance(HOUR);
      store.hold(operation);
      const task = yield* spawn(function* () {
        yield* useToolSessionRegistry(options);
        yield* suspend();
      });
      yield* wait(until(() => store.held));
      const halted = task.halt();
      yield* wait(idle());
      // Halting waits for a session that is being continued.
      store.goOn();
      yield* halted;
      assert.deepEqual(one.log, ["before"]);
      assert.equal(store.size, 1);
      assert.equal(clock.timers, 0);
    });
  }

  it("leaves sessions whose tool it cannot find to a server that can", function* () {
    const clock = createManualClock();
    const store = new InMemoryToolSessionStore();
    const one = sleeper();
    yield* startAndStop({ clock, store, find: one.find }, one);
    clock.advance(HOUR);
    yield* useToolSessionRegistry({ clock, store, find: () => undefined });
    yield* wait(idle());
    assert.deepEqual(one.log, ["before"]);
    const parley = yield* useParley({ serve: [one.tool] });
    yield* advanceUntil(clock, () => one.log.length === 2);
    assert.equal(parley.counts.live, 0);
  });

  it("refuses a store whose waiting sessions were sealed with another key", function* () {
    const clock = createManualClock();
    const stores = yield* wait(openStore(`sqlite:${join(yield* useFolder(), "own.db")}`));
    const { sessions: store } = stores;
    yield* scoped(function* () {
      const sealer = new Sealer("the first key");
      const registry = yield* useToolSessionRegistry({ clock, store, sealer });
      yield* registry.create(asDurable(askTool), {});
    });
    let refused: unknown;
    try {
      yield* scoped(() =>
        useToolSessionRegistry({ clock, store, sealer: new Sealer("another key") })
      );
    } catch (error) {
      refused = error;
    }
    assert.ok(refused instanceof StoreError, String(refused));
    stores.close();
    assert.equal(clock.timers, 0);
  });
});

describe("ToolSessionRegistry.create()", () => {
  it("refuses at once while the server that uses the registry drains, and then works", function* () {
    const clock = createManualClock();
    const registry = yield* useToolSessionRegistry({ clock });
    const busy = createMcpTool("busy").description("Works.").execute(() => suspend());
    const parley = yield* useParley({ serve: [busy] });
    const client = yield* wait(TestClient.connect(parley.fetch, { capabilities: ABLE }));
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "busy" } };
    const response = client.post(call).then((response) => response.text());
    yield* wait(until(() => parley.counts.live === 1));
    const closing = parley.close({ grace: 1_000 });
    const refused = yield* failureOf(registry.create(askTool, {}));
    assert.ok(refused instanceof RegistryClosedError);
    assert.match(refused.message, /the server that uses this registry is closing/);
    // The drain sets its timer only after this step.
    yield* wait(idle());
    clock.advance(1_000);
    yield* wait(closing);
    yield* wait(response);
    const session = yield* registry.create(askTool, {});
    assert.equal(yield* session.status(), "awaiting_elicit");
  });

  it("refuses at once when the scope of the registry has ended", function* () {
    const registry = yield* scoped(() => useToolSessionRegistry({ clock: createManualClock() }));
    const refused = yield* failureOf(registry.create(askTool, {}));
    assert.ok(refused instanceof RegistryClosedError);
    assert.match(refused.message, /its scope has ended/);
  });
});

function* failureOf(operation: Operation<unknown>): Operation<unknown> {
  try {
    yield* operation;
    return undefined;
  } catch (error) {
    return error;
  }
}
