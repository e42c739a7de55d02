import assert from "node:assert/strict";
import { action, suspend } from "effection";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { describe, it } from "../suite.ts";
import { idle } from "../support/registry.ts";
import { answer, durableTool, type Server, serverOf } from "./durable-kit.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** A store that a dead server can no longer write to. */
class DyingStore extends InMemoryToolSessionStore {
  isDead = false;

  #refuseDead(): void {
    if (this.isDead) throw new Error("the server is dead");
  }

  override *take(...args: Parameters<InMemoryToolSessionStore["take"]>) {
    this.#refuseDead();
    return yield* super.take(...args);
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

/** Asks, then works for ever. */
const working = durableTool(function* (ctx) {
  yield* ctx.elicit("a", { message: "?" });
  yield* ctx.step("endless", () => suspend());
});

/** Opens calls of a tool, and answers their question, so that they work when the server dies. */
async function atWork(tool = working, count = 1) {
  const store = new DyingStore();
  const { registry } = serverOf(tool, { store });
  const sessions = Array.from({ length: count }, () => registry.open(tool, {}));
  await idle();
  for (const session of sessions) answer(session, "a", 1);
  await idle();
  await die(registry, store);
  return { store, ids: sessions.map(({ id }) => id) };
}

/** The server dies: nothing that it does while it closes reaches the store. */
async function die(registry: Server["registry"], store: DyingStore): Promise<void> {
  store.isDead = true;
  await registry.close();
  store.isDead = false;
}

interface Life {
  /** The calls that were set aside when the server died. */
  readonly aside: readonly string[];
  /** How long each call ran, in milliseconds. */
  readonly ran: ReadonlyMap<string, number>;
}

/**
 * One life of a server, second by second: it starts, continues all calls, and dies after `max`
 * milliseconds, or as soon as `ends` says so.
 */
async function live(
  store: DyingStore,
  ids: readonly string[],
  max: number,
  ends: (ran: ReadonlyMap<string, number>) => boolean = () => false,
  tool = working,
): Promise<Life> {
  const { registry, clock } = serverOf(tool, { store });
  for (const id of ids) Promise.resolve(registry.lookup(id)).catch(() => {});
  const ran = new Map<string, number>();
  await idle();
  for (let now = 0; now < max && !ends(ran); now += SECOND) {
    for (const id of ids) if (registry.find(id)) ran.set(id, (ran.get(id) ?? 0) + SECOND);
    clock.advance(SECOND);
    await idle();
  }
  const aside = (await registry.setAside.list()).map(({ sessionId }) => sessionId);
  await die(registry, store);
  return { aside, ran };
}

describe("a durable session that crashes the server after long work", () => {
  for (
    const [work, most] of [[4, 3], [10, 3], [40, 4], [600, 6]] as const
  ) {
    it(`is set aside after ${most} crashes, if each comes after ${work} s`, async () => {
      const { store, ids } = await atWork();
      const [id] = ids;
      for (let crashes = 0;; crashes++) {
        const { aside, ran } = await live(
          store,
          ids,
          3 * work * SECOND + MINUTE,
          (ran) => ran.get(id!) === work * SECOND,
        );
        if (aside.length > 0) {
          assert.equal(crashes, most);
          assert.equal(ran.size, 0, "it does not run");
          break;
        }
        assert.ok(crashes < 20, "it is never set aside");
      }
    });
  }

  it("is the only one that is set aside, although others work for as long", async () => {
    for (const culprit of [0, 1, 2]) {
      const { store, ids } = await atWork(working, 3);
      const id = ids[culprit]!;
      for (let lives = 0;; lives++) {
        const { aside, ran } = await live(
          store,
          ids,
          20 * MINUTE,
          (ran) => ran.get(id) === 30 * SECOND,
        );
        if (aside.length > 0) {
          assert.deepEqual(aside, [id], `culprit ${culprit}, after ${lives} crashes`);
          assert.equal(ran.size, 2, "the others work");
          break;
        }
        assert.ok(lives < 20, "it is never set aside");
      }
    }
  });

  it("may be revived, and gets as many attempts as a new one", async () => {
    const { store, ids } = await atWork();
    const [id] = ids;
    const crashes = async () => {
      for (let crashes = 0; crashes < 20; crashes++) {
        const { aside } = await live(store, ids, MINUTE, (ran) => ran.get(id!) === 10 * SECOND);
        if (aside.length > 0) return crashes;
      }
      assert.fail("it is never set aside");
    };
    assert.equal(await crashes(), 3);
    const { registry } = serverOf(working, { store });
    assert.equal(await registry.setAside.revive(id!), true);
    await registry.close();
    assert.equal(await crashes(), 3);
  });
});

describe("a durable session that works for long while the server keeps crashing", () => {
  it("is not set aside if it records a step between crashes", async () => {
    let finish = () => {};
    const tool = durableTool(function* (ctx) {
      yield* ctx.elicit("a", { message: "?" });
      for (let n = 0; n < 12; n++) {
        yield* ctx.step(`step ${n}`, () =>
          action<void>((resolve) => {
            finish = resolve;
            return () => {};
          }));
      }
    });
    const { store, ids } = await atWork(tool);
    for (let lives = 0; lives < 12; lives++) {
      let seconds = 0;
      const ends = () => {
        if (++seconds === 30) finish();
        return seconds > 40;
      };
      const { aside, ran } = await live(store, ids, 10 * MINUTE, ends, tool);
      assert.deepEqual(aside, [], `life ${lives}`);
      assert.equal(ran.size, 1, `life ${lives}`);
    }
    const { registry } = serverOf(tool, { store });
    assert.deepEqual((await registry.lookup(ids[0]!))?.outcome?.status, "completed");
    await registry.close();
  });

  it("is not set aside if the server crashes for another reason, at any interval", async () => {
    for (const seconds of [3, 8, 60, 300]) {
      const { store, ids } = await atWork(working, 2);
      for (let lives = 0; lives < 12; lives++) {
        const { aside } = await live(store, ids, seconds * SECOND);
        assert.deepEqual(aside, [], `every ${seconds} s, life ${lives}`);
      }
    }
  });
});
