import assert from "node:assert/strict";
import fc from "fast-check";
import { createScope } from "effection";
import { deadline, Deadlines } from "../../src/lib/deadlines.ts";
import { createManualClock } from "../../src/testing/manual-clock.ts";
import { describe, it } from "../suite.ts";

function setUp() {
  const clock = createManualClock(0);
  const fired: unknown[] = [];
  return { clock, deadlines: new Deadlines(clock), fired };
}

describe("Deadlines with a clock that is set", () => {
  function setUpToSet() {
    const manual = createManualClock(0);
    let offset = 0;
    const clock = { ...manual, now: () => manual.now() + offset };
    const fired: unknown[] = [];
    return { manual, deadlines: new Deadlines(clock), fired, set: (ms: number) => offset += ms };
  }

  it("back fires each deadline when its time has passed, and in order", () => {
    const { manual, deadlines, fired, set } = setUpToSet();
    for (const ms of [10_000, 20_000, 100_000]) deadlines.add(ms, () => fired.push(ms));
    manual.advance(1_000);
    set(-3_600_000);
    deadlines.add(5_000, () => fired.push("new"));
    manual.advance(5_000);
    assert.deepEqual(fired, ["new"]);
    manual.advance(5_000);
    assert.deepEqual(fired, ["new", 10_000]);
    set(-3_600_000);
    manual.advance(10_000);
    assert.deepEqual(fired, ["new", 10_000, 20_000]);
    manual.advance(80_000);
    assert.deepEqual(fired, ["new", 10_000, 20_000, 100_000]);
    assert.equal(manual.timers, 0);
  });

  it("back has an elapsed time that never goes back", () => {
    const { manual, deadlines, set } = setUpToSet();
    const before = deadlines.elapsed();
    set(-60_000);
    assert.equal(deadlines.elapsed(), before);
    manual.advance(10);
    assert.equal(deadlines.elapsed(), before + 10);
  });

  it("forward fires what is due by the clock, as after a machine slept", () => {
    const { manual, deadlines, fired, set } = setUpToSet();
    deadlines.add(1_000, () => fired.push("soon"));
    deadlines.add(3_600_000, () => fired.push("late"));
    set(3_600_000);
    manual.advance(1_000);
    assert.deepEqual(fired, ["soon", "late"]);
  });

  it("waits longer than a timer can", () => {
    const { manual, deadlines, fired } = setUpToSet();
    const days = 60 * 86_400_000;
    deadlines.add(days, () => fired.push("late"));
    manual.advance(days - 1);
    assert.deepEqual(fired, []);
    manual.advance(1);
    assert.deepEqual(fired, ["late"]);
  });
});

describe("Deadlines.add()", () => {
  it("fires each deadline once, in the order in which they are due, on one timer", () => {
    const { clock, deadlines, fired } = setUp();
    for (const ms of [30, 10, 20]) deadlines.add(ms, () => fired.push([ms, clock.now()]));
    assert.deepEqual([deadlines.size, clock.timers], [3, 1]);
    clock.advance(9);
    assert.deepEqual(fired, []);
    clock.advance(11);
    assert.deepEqual(fired, [[10, 10], [20, 20]]);
    clock.advance(1_000);
    assert.deepEqual(fired, [[10, 10], [20, 20], [30, 30]]);
    assert.deepEqual([deadlines.size, clock.timers], [0, 0]);
  });

  it("wakes earlier for a deadline that is added later but due sooner", () => {
    const { clock, deadlines, fired } = setUp();
    deadlines.add(100, () => fired.push("late"));
    deadlines.add(5, () => fired.push("soon"));
    clock.advance(5);
    assert.deepEqual([fired, clock.timers], [["soon"], 1]);
  });

  it("may be called, and any deadline cancelled, while others fire", () => {
    const { clock, deadlines, fired } = setUp();
    deadlines.add(10, () => {
      fired.push("first");
      second.cancel();
      deadlines.add(0, () => fired.push("at once"));
      deadlines.add(5, () => fired.push("later"));
    });
    const second = deadlines.add(10, () => fired.push("never"));
    clock.advance(10);
    assert.deepEqual(fired, ["first", "at once"]);
    clock.advance(5);
    assert.deepEqual(fired, ["first", "at once", "later"]);
    assert.deepEqual([deadlines.size, clock.timers], [0, 0]);
  });

  it("accepts a time in the past, and Infinity", () => {
    const { clock, deadlines, fired } = setUp();
    const never = deadlines.add(Infinity, () => fired.push("never"));
    assert.equal(clock.timers, 0);
    deadlines.add(-5, () => fired.push("past"));
    clock.advance(0);
    clock.advance(1e9);
    assert.deepEqual([fired, deadlines.size, clock.timers], [["past"], 1, 0]);
    never.cancel();
  });

  it("rejects NaN, and keeps the other deadlines", () => {
    const { clock, deadlines, fired } = setUp();
    deadlines.add(5, () => fired.push("good"));
    assert.throws(() => deadlines.add(NaN, () => fired.push("bad")), TypeError);
    clock.advance(5);
    assert.deepEqual([fired, deadlines.size], [["good"], 0]);
  });

  it("continues after a callback that throws", () => {
    const { clock, deadlines, fired } = setUp();
    deadlines.add(5, () => {
      throw new Error("mine");
    });
    deadlines.add(5, () => fired.push("next"));
    assert.throws(() => clock.advance(5), /mine/);
    clock.advance(0);
    assert.deepEqual([fired, deadlines.size, clock.timers], [["next"], 0, 0]);
  });

  it("tolerates being woken too early", () => {
    const clock = createManualClock(0);
    let wake = () => {};
    const deadlines = new Deadlines({
      now: clock.now,
      after: (_ms, fire) => {
        wake = fire;
        return () => {};
      },
    });
    let fired = 0;
    deadlines.add(10, () => fired++);
    wake();
    assert.equal(fired, 0);
    clock.advance(10);
    wake();
    assert.equal(fired, 1);
  });
});

describe("Deadline.cancel()", () => {
  it("cancels the deadline, any number of times, also after it has fired", () => {
    const { clock, deadlines, fired } = setUp();
    const one = deadlines.add(5, () => fired.push("one"));
    const two = deadlines.add(10, () => fired.push("two"));
    one.cancel();
    one.cancel();
    assert.equal(deadlines.size, 1);
    clock.advance(10);
    two.cancel();
    assert.deepEqual(fired, ["two"]);
  });

  it("leaves no timer if it was the last", () => {
    const { clock, deadlines } = setUp();
    const all = [5, 1, 9].map((ms) => deadlines.add(ms, () => {}));
    for (const one of all) one.cancel();
    assert.deepEqual([deadlines.size, clock.timers], [0, 0]);
  });
});

describe("Deadlines.clear()", () => {
  it("forgets everything, and can be used again", () => {
    const { clock, deadlines, fired } = setUp();
    const old = deadlines.add(5, () => fired.push("old"));
    deadlines.clear();
    assert.deepEqual([deadlines.size, clock.timers], [0, 0]);
    deadlines.add(10, () => fired.push("new"));
    old.cancel();
    clock.advance(10);
    assert.deepEqual(fired, ["new"]);
  });
});

describe("Deadlines under random additions, cancellations and waits", () => {
  it("behave like a sorted list", () => {
    const command = fc.oneof(
      fc.record({ do: fc.constant("add" as const), ms: fc.nat(50) }),
      fc.record({ do: fc.constant("cancel" as const), nth: fc.nat(40) }),
      fc.record({ do: fc.constant("advance" as const), ms: fc.nat(20) }),
    );
    fc.assert(
      fc.property(fc.array(command, { maxLength: 80 }), (commands) => {
        const { clock, deadlines, fired } = setUp();
        const added: { at: number; n: number; cancel(): void }[] = [];
        let model: typeof added = [];
        const due: number[] = [];
        for (const step of commands) {
          if (step.do === "add") {
            const n = added.length;
            const at = clock.now() + step.ms;
            const { cancel } = bound(deadlines.add(step.ms, () => fired.push(n)));
            added.push({ at, n, cancel });
            model.push(added[n]!);
          } else if (step.do === "cancel") {
            const one = added[step.nth];
            one?.cancel();
            model = model.filter((entry) => entry !== one);
          } else {
            clock.advance(step.ms);
            const ripe = model.filter(({ at }) => at <= clock.now());
            model = model.filter(({ at }) => at > clock.now());
            due.push(...ripe.map(({ n }) => n));
            // Deadlines with the same time may fire in any order.
            assert.deepEqual(
              [...fired as number[]].sort((a, b) => a - b),
              due.sort((a, b) => a - b),
            );
            const times = (fired as number[]).slice(-ripe.length || fired.length)
              .map((n) => added[n]!.at);
            assert.deepEqual(times, times.toSorted((a, b) => a - b));
          }
          assert.equal(deadlines.size, model.length);
          assert.ok(clock.timers <= 1 && (model.length === 0) === (clock.timers === 0));
        }
      }),
      { seed: 1, numRuns: 300 },
    );
  });
});

describe("Deadlines on a clock whose timers can be unref'd", () => {
  /** Counts the timers that were set, and those that keep the process alive. */
  function setUpHolding() {
    const clock = createManualClock(0);
    const counts = { set: 0, holding: 0 };
    const deadlines = new Deadlines({
      now: clock.now,
      after(ms, fire) {
        let holds = true;
        counts.set++;
        counts.holding++;
        const release = () => {
          if (holds) counts.holding--;
          holds = false;
        };
        const cancel = clock.after(ms, () => {
          release();
          fire();
        });
        const matters = (matters: boolean) => {
          if (matters === holds) return;
          holds = matters;
          counts.holding += matters ? 1 : -1;
        };
        return Object.assign(() => {
          release();
          cancel();
        }, { matters });
      },
    });
    return { clock, deadlines, counts };
  }

  it("keep one timer for many deadlines, which holds the process only while there is one", () => {
    const { clock, deadlines, counts } = setUpHolding();
    for (let n = 0; n < 100; n++) {
      const entry = deadlines.add(30_000, () => {});
      assert.equal(counts.holding, 1);
      entry.cancel();
      assert.equal(counts.holding, 0);
      clock.advance(1);
    }
    assert.deepEqual([counts.set, clock.timers], [1, 1]);
    clock.advance(30_000);
    assert.deepEqual([counts, clock.timers], [{ set: 1, holding: 0 }, 0]);
  });

  it("fire all the same, including one that is due before the timer that was left", () => {
    const { clock, deadlines, counts } = setUpHolding();
    const fired: string[] = [];
    deadlines.add(1_000, () => {}).cancel();
    deadlines.add(2_000, () => fired.push("later"));
    deadlines.add(500, () => fired.push("sooner"));
    assert.deepEqual([counts.holding, clock.timers], [1, 1]);
    clock.advance(500);
    assert.deepEqual([fired, counts.holding], [["sooner"], 1]);
    clock.advance(1_500);
    assert.deepEqual([fired, counts.holding], [["sooner", "later"], 0]);
    deadlines.add(1_000, () => {}).cancel();
    deadlines.clear();
    assert.deepEqual([counts.holding, clock.timers], [0, 0]);
  });
});

function bound(entry: { cancel(): void }) {
  return { cancel: () => entry.cancel() };
}

describe("deadline()", () => {
  it("waits for its time, and is cancelled when its waiter is halted", async () => {
    const { clock, deadlines } = setUp();
    const [scope, destroy] = createScope();
    const waited = scope.run(() => deadline(deadlines, 10));
    const left = scope.run(() => deadline(deadlines, 20));
    await Promise.resolve();
    assert.equal(deadlines.size, 2);
    clock.advance(10);
    assert.equal(await waited, undefined);
    await left.halt();
    assert.deepEqual([deadlines.size, clock.timers], [0, 0]);
    await destroy();
  });
});
