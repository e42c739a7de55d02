import assert from "node:assert/strict";
import { run, suspend } from "effection";
import { SessionSetAsideError } from "../../src/model/errors.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { describe, it } from "../suite.ts";
import { answer, askA, durableTool, serverOf } from "./durable-kit.ts";
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

describe("a durable session that its server did not survive", () => {
  it("is revived twice more, and reported each time; then it is set aside", async () => {
    const { store, id } = await withCall(working);
    for (const failed of [1, 2]) {
      await crash(store, id);
      // Taken up once by nobody, that is: it counts as well, unless it survives.
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
    assert.match(faults[0]!.what, /set aside: the server did not survive 3 attempts/);
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
  it("is never set aside: it waits, leaves in order, records something, or works on", async () => {
    for (const survive of ["wait", "leave", "record", "work"] as const) {
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
        if (survive === "record" && times === 7) {
          answer(session, "a", 1);
          await ended(session);
        }
        await idle();
        await registry.close();
      }
    }
  });

  it("causes no extra writes if it records something soon", async () => {
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

  it("starts counting at its first revival if its record is of an earlier version, whatever its epoch", async () => {
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
