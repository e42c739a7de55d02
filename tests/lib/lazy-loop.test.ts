import assert from "node:assert/strict";
import { suspend, until, useScope } from "effection";
import { LazyLoop } from "../../src/lib/lazy-loop.ts";
import { describe, it } from "../suite.ts";

describe("LazyLoop", () => {
  it("runs its body once at a time, and again after the body has returned", function* () {
    let runs = 0;
    let release = () => {};
    const loop = new LazyLoop(yield* useScope(), function* () {
      runs++;
      yield* until(new Promise<void>((resolve) => release = resolve));
    });
    loop.start();
    loop.start();
    yield* until(Promise.resolve());
    assert.equal(runs, 1);
    release();
    yield* until(new Promise((resolve) => setTimeout(resolve, 0)));
    loop.start();
    yield* until(Promise.resolve());
    assert.equal(runs, 2);
    yield* until(loop.stop());
  });

  it("can start again if its body returned without waiting", function* () {
    let runs = 0;
    const loop = new LazyLoop(yield* useScope(), function* () {
      runs++;
    });
    for (const expected of [1, 2]) {
      loop.start();
      yield* until(Promise.resolve());
      assert.equal(runs, expected);
    }
    yield* until(loop.stop());
  });

  it("halts its body when it is stopped, and does not start again", function* () {
    const log: string[] = [];
    const loop = new LazyLoop(yield* useScope(), function* () {
      try {
        log.push("started");
        yield* suspend();
      } finally {
        log.push("halted");
      }
    });
    loop.start();
    yield* until(Promise.resolve());
    yield* until(loop.stop());
    loop.start();
    yield* until(Promise.resolve());
    assert.deepEqual(log, ["started", "halted"]);
    assert.ok(loop.isStopped);
  });
});
