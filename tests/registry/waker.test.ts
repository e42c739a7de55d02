import assert from "node:assert/strict";
import { createScope } from "effection";
import { Deadlines } from "../../src/lib/deadlines.ts";
import { Admission } from "../../src/registry/admission.ts";
import { Budget } from "../../src/registry/budget.ts";
import { registryLimits } from "../../src/registry/options.ts";
import { Waker } from "../../src/registry/waker.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import type { Wake } from "../../src/store/types.ts";
import { createManualClock } from "../../src/testing/manual-clock.ts";
import { describe, it } from "../suite.ts";
import { idle } from "../support/registry.ts";

/** A waker for a list of wakes; the test decides what happens when one is woken. */
function wakerOf(wakes: Wake[], wake: (id: string) => Promise<void>) {
  const clock = createManualClock();
  const woken: string[] = [];
  const failures: unknown[] = [];
  class Listed extends InMemoryToolSessionStore {
    override *wakes(limit: number, after?: Wake) {
      return wakes.filter(({ id, wakeAt }) =>
        !after || wakeAt > after.wakeAt || wakeAt === after.wakeAt && id > after.id
      ).slice(0, limit);
    }
  }
  const { maxSessions: max, maxMemory, maxStore } = registryLimits({});
  const budget = new Budget({
    memory: { max: maxMemory, maxPerPrincipal: maxMemory },
    store: { max: maxStore, maxPerPrincipal: maxStore },
  });
  const [scope, destroy] = createScope();
  class OwnScope extends Waker {
    override async stop() {
      await super.stop();
      await destroy();
    }
  }
  const waker = new OwnScope({
    scope,
    deadlines: new Deadlines(clock),
    store: new Listed(),
    live: new Admission({ max, maxPerPrincipal: max }, budget),
    report: ({ error }) => failures.push(error),
  }, async (id) => {
    await wake(id);
    woken.push(id);
  });
  return { clock, waker, woken, failures };
}

describe("Waker", () => {
  it("runs a session that becomes due while it is at work", async () => {
    let go = () => {};
    const wakes = [{ id: "slow", wakeAt: 0 }];
    const { clock, waker, woken } = wakerOf(
      wakes,
      async (id) => {
        if (id === "slow") await new Promise<void>((resolve) => go = resolve);
      },
    );
    waker.look();
    await idle();
    const wakeAt = clock.now() + 10;
    wakes.push({ id: "sleeper", wakeAt });
    waker.expect(wakeAt);
    clock.advance(20);
    await idle();
    wakes.shift();
    go();
    await idle();
    assert.deepEqual(woken, ["slow", "sleeper"]);
    await waker.stop();
    assert.equal(clock.timers, 0);
  });

  it("runs all others if one cannot be run", async () => {
    const wakes = Array.from({ length: 100 }, (_, n) => ({
      id: `s${String(n).padStart(3, "0")}`,
      wakeAt: 0,
    }));
    const { clock, waker, woken, failures } = wakerOf(wakes, async (id) => {
      if (id === "s003") throw new Error("it cannot be read");
      await Promise.resolve();
    });
    waker.look();
    await idle();
    assert.equal(new Set(woken).size, 99);
    assert.equal(failures.length, 1);
    // It is tried again, but not for ever.
    for (let seconds = 0; seconds < 1_000; seconds++) {
      clock.advance(1_000);
      await Promise.resolve();
    }
    await idle();
    assert.equal(failures.length, 8);
    assert.equal(clock.timers, 0);
    assert.equal(woken.length, 99, "and nobody else is run twice for it");
    await waker.stop();
  });

  it("runs a session after all when it could not be run for a while", async () => {
    let broken = true;
    const { clock, waker, woken, failures } = wakerOf([{ id: "one", wakeAt: 0 }], async () => {
      await Promise.resolve();
      if (broken) throw new Error("busy");
    });
    waker.look();
    await idle();
    assert.deepEqual([woken, failures.length], [[], 1]);
    broken = false;
    clock.advance(1_000);
    await idle();
    assert.deepEqual([woken, failures.length], [["one"], 1]);
    assert.equal(clock.timers, 0);
    await waker.stop();
  });

  it("reports nothing about work that was under way when it was stopped", async () => {
    let fail = () => {};
    const { clock, waker, failures } = wakerOf(
      [{ id: "one", wakeAt: 0 }],
      () => new Promise((_, reject) => fail = () => reject(new Error("closed"))),
    );
    waker.look();
    await idle();
    const stopped = waker.stop();
    fail();
    await stopped;
    assert.deepEqual(failures, []);
    assert.equal(clock.timers, 0);
  });
});
