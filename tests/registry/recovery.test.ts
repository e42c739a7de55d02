import assert from "node:assert/strict";
import { run, suspend } from "effection";
import { SessionSetAsideError } from "../../src/model/errors.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { createManualClock } from "../../src/testing/manual-clock.ts";
import { describe, it } from "../suite.ts";
import { answer, askA, durableTool, MINUTE, serverOf, stored } from "./durable-kit.ts";
import { ended, idle, textOf, until } from "../support/registry.ts";

/** Asks, then runs for ever. */
const working = durableTool(function* (ctx) {
  yield* ctx.elicit("a", { message: "?" });
  yield* ctx.step("endless", () => suspend());
});

/** A store with a waiting call of a server that is gone. */
async function withCall(tool = askA, store = new InMemoryToolSessionStore()) {
  await Promise.resolve();
  const { registry } = serverOf(tool, { store });
  const session = registry.open(tool, {});
  await idle();
  if (tool === working) {
    answer(session, "a", 1);
    await idle();
  }
  await registry.close();
  return { store, id: session.id };
}

/** Changes the record as a server does that revives the session and dies. */
async function crash(store: InMemoryToolSessionStore, id: string, times = 1): Promise<void> {
  for (let n = 0; n < times; n++) await run(() => store.take(id));
}

/** A store that a dead server can no longer write to. */
class DyingStore extends InMemoryToolSessionStore {
  isDead = false;

  #refuseDead(): void {
    if (this.isDead) throw new Error("the server is dead");
  }

  override *set(...args: Parameters<InMemoryToolSessionStore["set"]>) {
    this.#refuseDead();
    yield* super.set(...args);
  }

  override *append(...args: Parameters<InMemoryToolSessionStore["append"]>) {
    this.#refuseDead();
    yield* super.append(...args);
  }
}

/** The server dies: nothing that it does while it closes reaches the store. */
async function die(registry: { close(): Promise<void> }, store: DyingStore): Promise<void> {
  store.isDead = true;
  await registry.close();
  store.isDead = false;
}

describe("a durable session that crashes its server", () => {
  it("is revived twice more, and reported each time; then it is set aside", async () => {
    const { store, id } = await withCall(working);
    for (const failed of [1, 2]) {
      await crash(store, id);
      // The first attempt counts too, unless the session survives it.
      const { registry, faults, clock } = serverOf(working, { store });
      assert.ok(await registry.lookup(id));
      assert.match(faults[0]!.what, /once more/, `after ${failed}`);
      assert.equal(faults[0]!.sessionId, id);
      clock.advance(5_000);
      await idle();
      await registry.close();
    }
    await crash(store, id, 3);
    const { registry, faults } = serverOf(working, { store });
    await assert.rejects(Promise.resolve(registry.lookup(id)), SessionSetAsideError);
    assert.match(faults[0]!.what, /set aside: the server crashed in each of 3 attempts/);
    assert.equal(faults[0]!.toolName, "t");
    await assert.rejects(Promise.resolve(registry.lookup(id)), SessionSetAsideError);
    assert.equal(faults.length, 1, "that is said once");
    const [call, ...more] = await registry.setAside.list();
    assert.deepEqual(more, []);
    assert.deepEqual([call!.sessionId, call!.attempts, call!.principal], [id, 3, ""]);
    assert.equal(await registry.setAside.revive("nobody"), false);
    await registry.close();
  });

  it("continues once it is revived by hand, and may fail as often again", async () => {
    const { store, id } = await withCall();
    await crash(store, id, 3);
    const { registry } = serverOf(askA, { store });
    await assert.rejects(Promise.resolve(registry.lookup(id)), SessionSetAsideError);
    assert.equal(await registry.setAside.revive(id), true);
    assert.deepEqual(await registry.setAside.list(), []);
    assert.equal(await registry.setAside.revive(id), false);
    const session = (await registry.lookup(id))!;
    await until(() => session.openRequests().length === 1);
    answer(session, "a", 3);
    assert.equal(await textOf(session), "3");
    await registry.close();
  });

  it("is set aside although it records one more event before every crash", async () => {
    let life = 0;
    const tool = durableTool(function* (ctx) {
      yield* ctx.elicit("a", { message: "?" });
      for (let n = 0; n < life; n++) yield* ctx.notify(`${n}`);
      yield* ctx.step("endless", () => suspend());
    });
    const store = new DyingStore();
    const first = serverOf(tool, { store });
    const { id } = first.registry.open(tool, {});
    await idle();
    answer((await first.registry.lookup(id))!, "a", 1);
    await idle();
    await die(first.registry, store);
    for (life = 1; life <= 3; life++) {
      const before = (await stored(store, id)).length;
      const { registry, clock } = serverOf(tool, { store });
      const found = Promise.resolve(registry.lookup(id));
      await idle();
      // The last attempt starts only now.
      if (life === 3) clock.advance(5_000);
      assert.ok(await found);
      await idle();
      assert.ok((await stored(store, id)).length > before, `life ${life} records something`);
      await die(registry, store);
    }
    const { registry } = serverOf(tool, { store });
    await assert.rejects(Promise.resolve(registry.lookup(id)), SessionSetAsideError);
    await registry.close();
  });

  it("keeps its turn while it records events, until it has worked for long enough", async () => {
    const tool = durableTool(function* (ctx) {
      yield* ctx.elicit("a", { message: "?" });
      yield* ctx.notify("going on");
      yield* ctx.step("endless", () => suspend());
    });
    const store = new InMemoryToolSessionStore();
    const { id: one } = await withCall(tool, store);
    const { id: two } = await withCall(tool, store);
    const before = serverOf(working, { store });
    for (const id of [one, two]) {
      const session = (await before.registry.lookup(id))!;
      await until(() => session.openRequests().length === 1);
      answer(session, "a", 1);
    }
    await idle();
    await before.registry.close();
    for (const id of [one, two]) await crash(store, id);
    const { registry, clock } = serverOf(tool, { store });
    const told = (await stored(store, one)).length;
    const found = Promise.all([registry.lookup(one), registry.lookup(two)]);
    await idle();
    assert.ok((await stored(store, one)).length > told, "it records something");
    assert.equal(registry.counts.live, 1);
    clock.advance(5_000);
    await found;
    assert.equal(registry.counts.live, 2);
    await registry.close();
  });

  it("gets its last attempt although the clock was set back", async () => {
    const { store, id } = await withCall(working);
    await crash(store, id, 2);
    const manual = createManualClock();
    let back = 0;
    const clock = { ...manual, now: () => manual.now() - back };
    const { registry } = serverOf(working, { store, clock });
    back = 60 * MINUTE;
    const found = Promise.resolve(registry.lookup(id));
    await idle();
    assert.equal(registry.counts.live, 0);
    manual.advance(5_000);
    assert.ok(await found);
    await registry.close();
  });

  it("is not woken by a server that starts, and blocks no other", async () => {
    const { store, id } = await withCall(working);
    const { registry: other } = serverOf(askA, { store });
    const innocent = other.open(askA, {});
    await idle();
    await other.close();
    await crash(store, id, 3);
    const { registry, faults } = serverOf(working, { store, find: () => askA });
    registry.wake();
    await until(() => faults.length > 0);
    await idle();
    assert.deepEqual((await registry.setAside.list()).map(({ sessionId }) => sessionId), [id]);
    const session = (await registry.lookup(innocent.id))!;
    await until(() => session.openRequests().length === 1);
    answer(session, "a", 3);
    assert.equal(await textOf(session), "3");
    await registry.close();
  });
});

describe("a durable session that survives its revival", () => {
  it("is never set aside: it waits, leaves in order, ends, or works on", async () => {
    for (const survive of ["wait", "leave", "end", "work"] as const) {
      const tool = survive === "work" ? working : askA;
      const { store, id } = await withCall(tool);
      for (let times = 0; times < 8; times++) {
        await crash(store, id);
        const { registry, clock } = serverOf(tool, { store });
        const session = (await registry.lookup(id))!;
        assert.ok(session, `${survive}, ${times}`);
        await idle();
        if (survive === "work") clock.advance(5_000);
        if (survive === "leave") registry.suspend(session);
        if (survive === "end" && times === 7) {
          answer(session, "a", 1);
          await ended(session);
        }
        await idle();
        await registry.close();
      }
    }
  });

  it("causes no extra writes if it waits and then records something", async () => {
    class Counting extends InMemoryToolSessionStore {
      sets = 0;
      override *set(...args: Parameters<InMemoryToolSessionStore["set"]>) {
        this.sets++;
        yield* super.set(...args);
      }
    }
    const store = new Counting();
    const { id } = await withCall(askA, store);
    store.sets = 0;
    const { registry } = serverOf(askA, { store });
    const session = (await registry.lookup(id))!;
    await until(() => session.openRequests().length === 1);
    answer(session, "a", 3);
    await ended(session);
    assert.equal(store.sets, 0);
    await registry.close();
  });

  it("starts counting at its first revival if its record is of an earlier version, at any epoch", async () => {
    const { store, id } = await withCall(working);
    await run(function* () {
      const { meta, ...entry } = (yield* store.get(id))!;
      const { settled: _settled, ...old } = meta!;
      yield* store.set(id, { ...entry, epoch: 57, meta: old });
    });
    const first = serverOf(working, { store });
    assert.ok(await first.registry.lookup(id));
    assert.deepEqual(first.faults, []);
    const { meta } = (await run(() => store.get(id)))!;
    assert.equal(meta!["settled"], 57, "this attempt is counted until it survives");
    await first.registry.close();
    await crash(store, id, 3);
    const { registry } = serverOf(working, { store });
    await assert.rejects(Promise.resolve(registry.lookup(id)), SessionSetAsideError);
    await registry.close();
  });
});
