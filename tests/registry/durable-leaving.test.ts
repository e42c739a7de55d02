import assert from "node:assert/strict";
import { all, type Operation, until as wait } from "effection";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { describe, it } from "../suite.ts";
import { answer, DAY, durableTool, MINUTE, serverOf, stored } from "./durable-kit.ts";
import { idle, textOf, until } from "../support/registry.ts";

describe("a durable session that runs a step while it waits", () => {
  it("stays in memory until the step is done, and runs it once", async () => {
    await Promise.resolve();
    let begun = 0;
    let finish = () => {};
    const tool = durableTool(function* (ctx) {
      const [a] = yield* all([
        // deno-lint-ignore no-explicit-any
        ctx.branch((inner: any) => inner.elicit("a", { message: "?" })),
        // deno-lint-ignore no-explicit-any
        ctx.branch((inner: any) =>
          inner.step("work", function* () {
            begun++;
            yield* wait(new Promise<void>((resolve) => finish = resolve));
          })
        ),
      ]) as Operation<{ content: { n: number } }[]>;
      return a!.content.n;
    });
    const store = new InMemoryToolSessionStore();
    const { clock, registry } = serverOf(tool, { store });
    const session = registry.open(tool, {});
    await until(() => session.openRequests().length === 1 && begun === 1);
    assert.equal(session.waiting, false);
    assert.equal(session.wakeAt, 0, "a server that finds it goes on with the step");
    clock.advance(2 * MINUTE);
    await idle();
    assert.equal(registry.find(session.id), session);
    finish();
    await idle();
    assert.equal(session.waiting, true);
    assert.equal(session.wakeAt, null);
    clock.advance(MINUTE);
    await until(() => registry.counts.live === 0);
    const again = (await registry.lookup(session.id))!;
    await until(() => again.openRequests().length === 1);
    answer(again, "a", 4);
    assert.equal(await textOf(again), "4");
    assert.equal(begun, 1);
    await registry.close();
    assert.equal(clock.timers, 0);
  });

  it("can be answered and cancelled while the step runs", async () => {
    await Promise.resolve();
    let left = 0;
    const tool = durableTool(function* (ctx) {
      yield* all([
        // deno-lint-ignore no-explicit-any
        ctx.branch((inner: any) => inner.elicit("a", { message: "?" })),
        // deno-lint-ignore no-explicit-any
        ctx.branch((inner: any) =>
          inner.step("work", function* () {
            try {
              yield* wait(new Promise<void>(() => {}));
            } finally {
              left++;
            }
          })
        ),
      ]) as Operation<unknown>;
    });
    const { clock, registry } = serverOf(tool, { store: new InMemoryToolSessionStore() });
    const session = registry.open(tool, {});
    await until(() => session.openRequests().length === 1);
    assert.equal(answer(session, "a", 1), "accepted");
    await idle();
    session.halt("enough", "caller");
    await until(() => session.outcome !== undefined);
    assert.equal(session.outcome?.status, "cancelled");
    assert.equal(left, 1);
    await registry.close();
    assert.equal(clock.timers, 0);
  });
});

describe("a durable session that waits longer than its record would be kept", () => {
  const sleeper = durableTool(function* (ctx) {
    yield* ctx.sleep(10 * DAY);
    return "slept";
  });
  const patient = durableTool(function* (ctx) {
    const { action } = yield* ctx.elicit("a", { message: "?" }, { timeout: 10 * DAY });
    return action;
  });

  for (
    const [what, tool, result] of [
      ["sleeps", sleeper, "slept"],
      ["asks", patient, "timeout"],
    ] as const
  ) {
    it(`still exists when its time has come, if it ${what}`, async () => {
      await Promise.resolve();
      const store = new InMemoryToolSessionStore();
      const { clock, registry } = serverOf(tool, { store });
      registry.wake();
      const { id } = registry.open(tool, {});
      await idle();
      clock.advance(MINUTE);
      await until(() => registry.counts.live === 0);
      for (let hours = 0; hours < 11 * 24; hours++) {
        clock.advance(60 * MINUTE);
        await idle();
      }
      const last = (await stored(store, id)).at(-1);
      assert.match(JSON.stringify(last), new RegExp(`"type":"result".*"${result}"`));
      // It is forgotten like any other session.
      for (let hours = 0; hours < 8 * 24; hours++) {
        clock.advance(60 * MINUTE);
        await idle();
      }
      assert.equal(store.size, 0);
      await registry.close();
    });
  }
});
