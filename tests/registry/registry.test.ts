import assert from "node:assert/strict";
import { action, createScope, run } from "effection";
import {
  RegistryClosedError,
  SessionGoneError,
  SessionLimitError,
} from "../../src/model/errors.ts";
import { createManualClock } from "../../src/testing/manual-clock.ts";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import { describe, it } from "../suite.ts";
import {
  accept,
  askTool,
  ended,
  follow,
  idle,
  tool,
  types,
  until,
  withRegistry,
} from "../support/registry.ts";

const HOUR = 3_600_000;
const done = tool(function* () {
  return "done";
});

describe("ToolSessionRegistry.create(), .get(), .acquire() and .release()", () => {
  it(
    "start a session, find it, hold it and release it",
    withRegistry(async ({ registry, clock }) => {
      await run(function* () {
        const session = yield* registry.create(askTool, {});
        assert.equal(yield* session.status(), "awaiting_elicit");
        assert.equal(session.toolName, "ask");
        assert.equal(yield* registry.get(session.id), session);
        assert.equal(yield* registry.acquire(session.id), session);
        clock.advance(10 * HOUR);
        assert.equal(yield* session.status(), "awaiting_elicit");
        yield* registry.release(session.id);
        yield* session.cancel();
        clock.advance(60_000);
        assert.equal(yield* registry.get(session.id), null);
      });
    }),
  );

  it(
    "report that a session is gone, or never existed",
    withRegistry(async ({ registry }) => {
      const acquired = await run(function* () {
        assert.equal(yield* registry.get("nobody"), null);
        yield* registry.release("nobody");
        try {
          return yield* registry.acquire("nobody");
        } catch (error) {
          return error;
        }
      });
      assert.ok(acquired instanceof SessionGoneError);
      assert.equal(acquired.sessionId, "nobody");
    }),
  );

  it(
    "give every session its own id",
    withRegistry(({ open }) => {
      assert.equal(new Set(Array.from({ length: 100 }, () => open(askTool).id)).size, 100);
    }),
  );
});

describe("a session that has finished", () => {
  it(
    "is kept for its grace time, and then forgotten",
    withRegistry(({ registry, open, clock }) => {
      const session = open(done);
      assert.deepEqual(registry.counts, { live: 0, finished: 1, deadlines: 1 });
      clock.advance(4_999);
      assert.equal(registry.find(session.id), session);
      clock.advance(1);
      assert.equal(registry.find(session.id), undefined);
      assert.deepEqual(registry.counts, { live: 0, finished: 0, deadlines: 0 });
    }, { limits: { finishedTimeToLive: 5_000 } }),
  );

  it(
    "is kept while it is held, and its grace time begins when the last holder releases it",
    withRegistry(({ registry, open, clock }) => {
      const session = open(done);
      registry.hold(session);
      registry.hold(session);
      clock.advance(HOUR);
      registry.letGo(session);
      clock.advance(HOUR);
      assert.equal(registry.find(session.id), session);
      registry.letGo(session);
      registry.letGo(session);
      assert.equal(session.holders, 0, "letting go too often takes nothing from others");
      clock.advance(59_999);
      assert.equal(registry.find(session.id), session);
      clock.advance(1);
      assert.equal(registry.find(session.id), undefined);
    }),
  );

  for (const graceTime of [0, 5_000]) {
    it(
      `delays neither others nor the end of the program while it is held, with ${graceTime} ms of grace`,
      withRegistry(({ registry, open, clock }) => {
        const held = open(done);
        registry.hold(held);
        const other = open(done);
        clock.advance(graceTime);
        assert.equal(registry.find(other.id), undefined);
        assert.equal(registry.find(held.id), held);
        assert.deepEqual(registry.counts, { live: 0, finished: 1, deadlines: 0 });
        registry.letGo(held);
        clock.advance(graceTime);
        assert.deepEqual(registry.counts, { live: 0, finished: 0, deadlines: 0 });
      }, { limits: { finishedTimeToLive: graceTime } }),
    );
  }

  it(
    "is kept as long as it is promised to a client, and no longer",
    withRegistry(({ registry, open, clock }) => {
      const [first, second] = [open(done), open(done)];
      registry.promise(first, clock.now() + HOUR);
      // There is no room for all of these, and the promised one is evicted last.
      for (let n = 0; n < 5; n++) open(done);
      assert.equal(registry.find(second.id), undefined);
      clock.advance(HOUR - 1);
      assert.equal(registry.find(first.id), first);
      clock.advance(1);
      assert.deepEqual(registry.counts, { live: 0, finished: 0, deadlines: 0 });
    }, { limits: { maxFinishedSessions: 3, finishedTimeToLive: 5_000 } }),
  );

  it(
    "is evicted, oldest first, when there are too many, but never while it is held",
    withRegistry(({ registry, open }) => {
      const [a, b, c, d] = ["a", "b", "c", "d"].map((name, nth) => {
        const session = open(done);
        if (nth === 0) registry.hold(session);
        return Object.assign(session, { name });
      }) as [Named, Named, Named, Named];
      type Named = ReturnType<typeof open> & { name: string };
      const kept = [a, b, c, d].filter(({ id }) => registry.find(id)).map(({ name }) => name);
      assert.deepEqual(kept, ["a", "d"]);
      assert.deepEqual(registry.counts, { live: 0, finished: 2, deadlines: 1 });
      assert.equal(registry.find(c.id), undefined);
      assert.equal(types(b), "result", "whoever still has it can read it");
    }, { limits: { maxFinishedSessions: 2 } }),
  );

  it(
    "is evicted when all together take too much memory",
    withRegistry(({ registry, open }) => {
      const heavy = tool(function* () {
        return "x".repeat(10_000);
      });
      const sessions = Array.from({ length: 10 }, () => open(heavy));
      assert.equal(registry.counts.finished, 3);
      assert.deepEqual(
        sessions.filter(({ id }) => registry.find(id)),
        sessions.slice(-3),
      );
      const huge = open(tool(function* () {
        return "x".repeat(100_000);
      }));
      assert.equal(registry.find(huge.id), undefined, "not even one that is too heavy alone");
      assert.equal(registry.counts.finished, 0);
      open(done);
      assert.equal(registry.counts.finished, 1, "and nothing is left of its weight");
    }, { limits: { maxFinishedMemory: 35_000 } }),
  );

  it(
    "can be forgotten at once unless somebody holds it, and is reported gone once",
    withRegistry(({ registry }) => {
      let gone = 0;
      const session = registry.open(done, {}, {}, { gone: () => void gone++ });
      registry.hold(session);
      registry.forget(session);
      assert.equal(gone, 0);
      registry.letGo(session);
      registry.forget(session);
      registry.forget(session);
      assert.deepEqual([gone, registry.find(session.id)], [1, undefined]);
    }),
  );
});

describe("a session that waits without readers", () => {
  it(
    "is halted after its time to live, and later answers are refused with the reason",
    withRegistry(async ({ registry, open, clock }) => {
      const log: string[] = [];
      const session = open(tool(function* (ctx) {
        try {
          yield* ctx.elicit("n", { message: "?" });
        } finally {
          log.push("finally");
        }
        return "";
      }));
      const { id } = session.openRequests()[0]!;
      clock.advance(HOUR - 1);
      assert.equal(session.currentStatus(), "awaiting_elicit");
      clock.advance(1);
      assert.equal((await ended(session)).status, "cancelled");
      assert.deepEqual(log, ["finally"]);
      assert.equal(session.respond(id, { action: "decline" }), "ended");
      assert.deepEqual(session.log.after(2)[0], {
        lsn: 3,
        type: "cancelled",
        reason: "nobody answered in time",
        by: "server",
      });
      clock.advance(60_000);
      assert.equal(registry.find(session.id), undefined);
    }),
  );

  it(
    "lives while somebody holds it; its time starts again when they release it",
    withRegistry(({ registry, open, clock }) => {
      const session = open(askTool);
      registry.hold(session);
      clock.advance(100 * HOUR);
      registry.letGo(session);
      clock.advance(HOUR - 1);
      assert.equal(session.currentStatus(), "awaiting_elicit");
      clock.advance(1);
      assert.equal(session.outcome?.status, "cancelled");
    }),
  );

  it(
    "gets its full time again for every question",
    withRegistry(({ open, clock }) => {
      const session = open(tool(function* (ctx) {
        for (;;) yield* ctx.elicit("n", { message: "?" });
      }));
      for (let n = 0; n < 5; n++) {
        clock.advance(HOUR - 1);
        accept(session, { n });
      }
      assert.equal(session.currentStatus(), "awaiting_elicit");
    }),
  );

  it(
    "does not expire while it is running",
    withRegistry(async ({ open, clock, registry }) => {
      let go!: () => void;
      const session = open(tool(function* () {
        yield* action<void>((resolve) => {
          go = resolve;
          return () => {};
        });
        return "worked";
      }));
      assert.equal(registry.counts.deadlines, 0);
      clock.advance(100 * HOUR);
      go();
      assert.equal((await ended(session)).status, "completed");
    }),
  );
});

describe("ToolSessionRegistry, at its limit", () => {
  it(
    "refuses another session until one ends, and starts nothing",
    withRegistry(async ({ registry, open }) => {
      const [first] = [open(askTool), open(askTool)];
      let ran = false;
      const refused = () =>
        open(tool(function* () {
          ran = true;
          return "";
        }));
      assert.throws(refused, (error) => error instanceof SessionLimitError && error.limit === 2);
      assert.equal(ran, false);
      accept(first, { n: 1 });
      await ended(first);
      assert.equal(refused().outcome?.status, "completed", "finished ones do not count");
      assert.equal(registry.counts.live, 1);
    }, { limits: { maxSessions: 2 } }),
  );
});

describe("ToolSessionRegistry.close()", () => {
  /** A registry on a manual clock, without withRegistry(), which would close it. */
  function bare() {
    const clock = createManualClock();
    return { clock, registry: new LiveToolSessionRegistry({ clock }) };
  }

  it("halts every session, waits for slow finally blocks, and leaves nothing", async () => {
    await Promise.resolve();
    const { clock, registry } = bare();
    const log: string[] = [];
    let go!: () => void;
    const slow = registry.open(
      tool(function* (ctx) {
        try {
          yield* ctx.elicit("n", { message: "?" }, { timeout: HOUR });
        } finally {
          yield* action<void>((resolve) => {
            go = resolve;
            return () => {};
          });
          log.push("slow");
        }
        return "";
      }, { timeout: 2 * HOUR }),
      {},
    );
    const parked = registry.open(askTool, {});
    const finished = registry.open(done, {});
    const readers = [slow, parked].map((session) => follow(session));
    let closed = false;
    const closing = registry.close().then(() => closed = true);
    await idle();
    assert.deepEqual([closed, parked.outcome?.status, slow.outcome], [
      false,
      "cancelled",
      undefined,
    ]);
    go();
    await closing;
    assert.deepEqual(log, ["slow"]);
    assert.equal(slow.outcome?.status, "cancelled");
    assert.equal(finished.outcome?.status, "completed");
    assert.deepEqual(registry.counts, { live: 0, finished: 0, deadlines: 0 });
    assert.equal(clock.timers, 0);
    await until(() => readers.every(({ outcome }) => outcome?.status === "cancelled"));
  });

  it("refuses to start anything afterwards, even while it is closing", async () => {
    await Promise.resolve();
    const { registry } = bare();
    let refused: unknown;
    registry.open(
      tool(function* (ctx) {
        try {
          yield* ctx.elicit("n", { message: "?" });
        } finally {
          try {
            registry.open(askTool, {});
          } catch (error) {
            refused = error;
          }
        }
        return "";
      }),
      {},
    );
    await registry.close();
    assert.ok(refused instanceof RegistryClosedError);
    assert.throws(() => registry.open(askTool, {}), RegistryClosedError);
  });

  it("may be called twice, also at the same time", async () => {
    await Promise.resolve();
    const { registry } = bare();
    registry.open(askTool, {});
    registry.open(
      tool(function* (ctx) {
        yield* ctx.branch((inner: typeof ctx) => inner.elicit("n", { message: "?" }), {
          timeout: HOUR,
        });
        return "";
      }),
      {},
    );
    await Promise.all([registry.close(), registry.close()]);
    await registry.close();
    assert.equal(registry.counts.live, 0);
  });

  it("leaves a released session alone afterwards", async () => {
    await Promise.resolve();
    const { registry, clock } = bare();
    const session = registry.open(askTool, {});
    registry.hold(session);
    await registry.close();
    registry.letGo(session);
    assert.deepEqual([registry.counts.deadlines, clock.timers], [0, 0]);
  });

  it("halts tools that were promoted to tasks, in a scope under another", async () => {
    await Promise.resolve();
    const [parent, destroy] = createScope();
    const registry = new LiveToolSessionRegistry({ clock: createManualClock() }, parent);
    const session = registry.open(
      tool(function* (ctx) {
        yield* ctx.branch((inner: typeof ctx) => inner.elicit("n", { message: "?" }), {
          timeout: HOUR,
        });
        return "";
      }),
      {},
    );
    await until(() => session.openRequests().length === 1);
    await registry.close();
    assert.equal(session.outcome?.status, "cancelled");
    await destroy();
  });
});

describe("the capacity of a registry", () => {
  it("cannot be used up by one named caller", async () => {
    const registry = new LiveToolSessionRegistry({
      limits: { maxSessions: 10, maxSessionsPerPrincipal: 2 },
    });
    const open = (principal: string) => registry.open(askTool, {}, { principal });
    const mine = [open("mallory"), open("mallory")];
    assert.throws(() => open("mallory"), SessionLimitError);
    open("alice");
    mine[0]!.halt("no longer wanted");
    await ended(mine[0]!);
    open("mallory");
    for (let i = 0; i < 5; i++) open("");
    await registry.close();
  });

  it("is freed first by sessions that are not promised to a client", async () => {
    const registry = new LiveToolSessionRegistry({
      limits: { maxFinishedSessions: 2 },
      clock: createManualClock(),
    });
    const [promised, other] = [registry.open(askTool, {}), registry.open(askTool, {})];
    promised.promiseUntil(Infinity);
    for (const session of [promised, other]) session.halt("over");
    registry.open(done, {});
    assert.equal(registry.find(promised.id), promised);
    assert.equal(registry.find(other.id), undefined);
    await registry.close();
  });
});
