import assert from "node:assert/strict";
import { run } from "effection";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { describe, it } from "../suite.ts";
import { answer, askA, DAY, durableTool, MINUTE, type Server, serverOf } from "./durable-kit.ts";
import { ended, idle, textOf, until } from "../support/registry.ts";

/** Advances the clock, and lets periodic work happen. */
async function pass({ clock }: Server, ms: number): Promise<void> {
  for (let minutes = 0; minutes < ms / MINUTE; minutes += 10) {
    clock.advance(10 * MINUTE);
    await idle();
  }
}

describe("a durable session that lives longer than its record is kept", () => {
  it("stays on record as long as somebody holds it, and not much longer", async () => {
    await Promise.resolve();
    const store = new InMemoryToolSessionStore();
    const server = serverOf(askA, { store, limits: { durableTimeToLive: DAY } });
    const { registry, faults } = server;
    registry.wake();
    const session = registry.open(askA, {});
    registry.hold(session);
    await pass(server, 3 * DAY);
    answer(session, "a", 5);
    assert.equal(await textOf(session), "5");
    registry.letGo(session);
    assert.deepEqual(faults, []);
    await pass(server, 2 * DAY);
    assert.equal(store.size, 0);
    await registry.close();
  });

  it("stays on record if it was revived, even after the machine was suspended", async () => {
    await Promise.resolve();
    const store = new InMemoryToolSessionStore();
    const first = serverOf(askA, { store, limits: { durableTimeToLive: DAY } });
    const { id } = first.registry.open(askA, {});
    await idle();
    await first.registry.close();
    const second = serverOf(askA, { store, limits: { durableTimeToLive: DAY } });
    second.registry.wake();
    const session = (await second.registry.lookup(id))!;
    second.registry.hold(session);
    await until(() => session.openRequests().length === 1);
    second.clock.advance(5 * DAY);
    await idle();
    answer(session, "a", 6);
    assert.equal(await textOf(session), "6");
    await second.registry.close();
  });

  it("fails with its own message if its record is gone", async () => {
    await Promise.resolve();
    const store = new InMemoryToolSessionStore();
    const { registry, faults } = serverOf(askA, { store });
    const session = registry.open(askA, {}, { needsCaller: true });
    await idle();
    await run(() => store.delete(session.id));
    answer(session, "a", 5);
    assert.deepEqual(await ended(session), {
      status: "failed",
      error: {
        code: -32603,
        message:
          "Cannot continue the call: the record of this call is no longer in the store; send the same request again",
      },
    });
    assert.match(
      String(faults[0]!.error),
      /it is not in the store; stop this run, its record is gone/,
    );
    await registry.close();
  });
});

describe("a durable session that is promised to a client", () => {
  const tool = durableTool(function* (ctx) {
    return (yield* ctx.elicit("a", { message: "?" })).content.n;
  });

  it("stays on record until then", async () => {
    await Promise.resolve();
    const store = new InMemoryToolSessionStore();
    const server = serverOf(tool, { store, limits: { durableTimeToLive: DAY } });
    const { registry, clock } = server;
    const session = registry.open(tool, {}, { needsCaller: true });
    await idle();
    const expiry = async () => (await run(() => store.get(session.id)))!.expiresAt!;
    const before = await expiry();
    registry.promise(session, clock.now() + DAY);
    await idle();
    assert.equal(await expiry(), before, "what is long enough is not written again");
    const until = clock.now() + 3 * DAY;
    registry.promise(session, until);
    await idle();
    assert.equal(await expiry(), until);
    registry.promise(session, clock.now());
    await idle();
    assert.equal(await expiry(), until, "a promise is not taken back");
    await registry.close();
  });
});
