import assert from "node:assert/strict";
import { type Operation, suspend } from "effection";
import { SessionSetAsideError } from "../../src/model/errors.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { describe, it } from "../suite.ts";
import { idle, until } from "../support/registry.ts";
import { answer, askA, durableTool, type Server, serverOf } from "./durable-kit.ts";

/** A store whose server dies: after a number of commits, it refuses everything. */
class MortalStore extends InMemoryToolSessionStore {
  #commitsLeft = Infinity;
  isDead = false;

  /** A new server opens the store. */
  startLife(commits = Infinity): void {
    this.#commitsLeft = commits;
    this.isDead = false;
  }

  die(): void {
    this.isDead = true;
  }

  *#commit<T>(operation: Operation<T>): Operation<T> {
    this.#refuseDead();
    const value = yield* operation;
    if (--this.#commitsLeft === 0) this.die();
    this.#refuseDead();
    return value;
  }

  #refuseDead(): void {
    if (this.isDead) throw new Error("the server is dead");
  }

  override *get(...args: Parameters<InMemoryToolSessionStore["get"]>) {
    this.#refuseDead();
    return yield* super.get(...args);
  }

  override *take(...args: Parameters<InMemoryToolSessionStore["take"]>) {
    return yield* this.#commit(super.take(...args));
  }

  override *set(...args: Parameters<InMemoryToolSessionStore["set"]>) {
    return yield* this.#commit(super.set(...args));
  }

  override *append(...args: Parameters<InMemoryToolSessionStore["append"]>) {
    return yield* this.#commit(super.append(...args));
  }
}

/** Asks, then runs for ever. */
const working = durableTool(function* (ctx) {
  yield* ctx.elicit("a", { message: "?" });
  yield* ctx.step("endless", () => suspend());
});

/** Opens calls that wait for an answer, and closes the server that opened them. */
async function park(store: MortalStore, count: number, tool = askA): Promise<string[]> {
  const { registry } = serverOf(tool, { store });
  const sessions = Array.from({ length: count }, () => registry.open(tool, {}));
  await idle();
  await registry.close();
  return sessions.map(({ id }) => id);
}

/** Revives a call and answers its question. */
async function answered({ registry }: Server, id: string, n: number): Promise<void> {
  const session = (await registry.lookup(id))!;
  await until(() => session.openRequests().length === 1);
  answer(session, "a", n);
  await idle();
}

/** The server dies: nothing that it does from now on reaches the store. */
async function end({ registry }: Server, store: MortalStore): Promise<void> {
  store.die();
  await registry.close();
}

describe("durable sessions that are under way while the server keeps dying", () => {
  it("are not set aside, no matter when each crash happens", async () => {
    const store = new MortalStore();
    const waiting = await park(store, 4, working);
    const atWork = await park(store, 4, working);
    const first = serverOf(working, { store });
    for (const id of atWork) await answered(first, id, 1);
    await end(first, store);
    const ids = waiting.flatMap((id, n) => [id, atWork[n]!]);
    for (let life = 0; life < 100; life++) {
      store.startLife(1 + life * 7 % 24);
      const server = serverOf(working, { store });
      const found = ids.map((id) => Promise.resolve(server.registry.lookup(id)).catch((e) => e));
      await idle();
      await end(server, store);
      for (const problem of await Promise.all(found)) {
        assert.ok(!(problem instanceof SessionSetAsideError), `life ${life}: ${problem}`);
      }
    }
    store.startLife();
    const { registry, clock } = serverOf(working, { store });
    const found = Promise.all(ids.map((id) => registry.lookup(id)));
    for (const _ of ids) {
      await idle();
      clock.advance(5_000);
    }
    assert.ok((await found).every((session) => session !== undefined));
    assert.deepEqual(await registry.setAside.list(), []);
    await registry.close();
  });

  it("run one at a time once they are suspects, even if requests wait for them", async () => {
    const store = new MortalStore();
    const ids = await park(store, 3, working);
    const first = serverOf(working, { store });
    for (const id of ids) await answered(first, id, 1);
    await end(first, store);

    store.startLife();
    const second = serverOf(working, { store });
    for (const id of ids) assert.ok(await second.registry.lookup(id), "nobody is a suspect yet");
    await end(second, store);

    store.startLife();
    const third = serverOf(working, { store });
    third.registry.wake();
    const asked = ids.map((id) => Promise.resolve(third.registry.lookup(id)));
    for (const size of [1, 2, 3]) {
      await until(() => third.registry.counts.live === size);
      await idle();
      assert.equal(third.registry.counts.live, size);
      third.clock.advance(5_000);
    }
    assert.ok((await Promise.all(asked)).every((session) => session !== undefined));
    await third.registry.close();
  });

  it("do not keep a server from closing while they wait for their turn", async () => {
    const store = new MortalStore();
    const ids = await park(store, 2);
    store.startLife(2);
    const dying = serverOf(askA, { store });
    await Promise.allSettled(ids.map((id) => dying.registry.lookup(id)));
    await end(dying, store);
    store.startLife(1);
    const again = serverOf(askA, { store });
    await Promise.allSettled([again.registry.lookup(ids[0]!)]);
    await end(again, store);
    store.startLife();
    const { registry } = serverOf(askA, { store });
    const waiting = assert.rejects(
      Promise.resolve(registry.lookup(ids[0]!)),
      { code: "PARLEY_CLOSED" },
    );
    await idle();
    assert.equal(registry.counts.live, 0);
    await registry.close();
    await waiting;
  });
});

describe("a durable session that ends the server, among others", () => {
  it("is set aside after three attempts, and none of the others is", async () => {
    const store = new MortalStore();
    let attempts = 0;
    const tool = durableTool(function* (ctx) {
      const { content: { n } } = yield* ctx.elicit("a", { message: "?" });
      yield* ctx.step("work", function* () {
        if (n === 0) {
          attempts++;
          store.die();
        }
        yield* suspend();
      });
    });
    const ids = await park(store, 5, tool);
    const first = serverOf(tool, { store });
    for (const [n, id] of ids.entries()) await answered(first, id, (n + 1) % ids.length);
    assert.equal(attempts, 1);
    await end(first, store);
    attempts = 0;

    let lives = 0;
    for (;;) {
      assert.ok(++lives < 20, "it is never set aside");
      store.startLife();
      const server = serverOf(tool, { store });
      server.registry.wake();
      for (const id of ids) Promise.resolve(server.registry.lookup(id)).catch(() => {});
      // Each suspect runs until it is known to survive.
      for (let turn = 0; turn < 10 && !store.isDead; turn++) {
        await idle();
        if (!store.isDead) server.clock.advance(5_000);
      }
      await idle();
      if (!store.isDead) {
        const aside = await server.registry.setAside.list();
        assert.deepEqual(aside.map((call) => [call.sessionId, call.attempts]), [[ids.at(-1), 3]]);
        assert.equal(server.registry.counts.live, ids.length - 1);
        await server.registry.close();
        break;
      }
      await end(server, store);
    }
    assert.equal(attempts, 3);
  });
});
