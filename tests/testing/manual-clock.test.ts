import assert from "node:assert/strict";
import { createManualClock } from "../../src/mod.ts";
import { describe, it } from "../suite.ts";

describe("createManualClock()", () => {
  it("stands still until it is advanced", () => {
    const clock = createManualClock(1_000);
    assert.equal(clock.now(), 1_000);
    clock.advance(5);
    assert.equal(clock.now(), 1_005);
  });

  it("fires timers in order, each at its own time", () => {
    const clock = createManualClock(0);
    const log: string[] = [];
    const fire = (name: string) => () => log.push(`${name}@${clock.now()}`);
    clock.after(20, fire("b"));
    clock.after(10, fire("a"));
    clock.after(99, fire("never"));
    clock.advance(50);
    assert.deepEqual(log, ["a@10", "b@20"]);
    assert.equal(clock.now(), 50);
    assert.equal(clock.timers, 1);
  });

  it("fires timers that are set while it fires, if they are due too", () => {
    const clock = createManualClock(0);
    const log: number[] = [];
    clock.after(10, () => clock.after(10, () => log.push(clock.now())));
    clock.advance(20);
    assert.deepEqual(log, [20]);
  });

  it("does not fire cancelled timers", () => {
    const clock = createManualClock(0);
    const log: string[] = [];
    const takeBack = clock.after(10, () => log.push("a"));
    takeBack();
    takeBack();
    clock.advance(20);
    assert.deepEqual(log, []);
    assert.equal(clock.timers, 0);
  });

  it("advances to the next timer, and returns whether there was one", () => {
    const clock = createManualClock(0);
    let fired = 0;
    clock.after(10, () => fired++);
    clock.after(10, () => fired++);
    assert.equal(clock.advanceToNext(), true);
    assert.deepEqual([clock.now(), fired], [10, 1]);
    assert.equal(clock.advanceToNext(), true);
    assert.deepEqual([clock.now(), fired], [10, 2]);
    assert.equal(clock.advanceToNext(), false);
    assert.equal(clock.now(), 10);
  });
});
