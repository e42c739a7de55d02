import assert from "node:assert/strict";
import { createScope, ensure, run, sleep, spawn, suspend, until } from "effection";
import { describe, it, runTest } from "../suite.ts";

describe("runTest()", () => {
  it("runs a generator, an async function and a plain function", async () => {
    const ran: string[] = [];
    await runTest(function* () {
      yield* sleep(0);
      ran.push("generator");
    });
    await runTest(async () => {
      await Promise.resolve();
      ran.push("async");
    });
    await runTest(() => {
      ran.push("plain");
    });
    assert.deepEqual(ran, ["generator", "async", "plain"]);
  });

  it("throws the same error as the body, with its stack", async () => {
    const error = new RangeError("wrong");
    await assert.rejects(
      runTest(function* () {
        yield* sleep(0);
        throw error;
      }),
      (caught) => caught === error && /suite\.test\.ts/.test(error.stack ?? ""),
    );
    await assert.rejects(runTest(() => Promise.reject(error)), (caught) => caught === error);
    await assert.rejects(
      runTest(() => {
        throw error;
      }),
      (caught) => caught === error,
    );
  });

  it("fails with the error of a task that the body spawned", async () => {
    const error = new RangeError("wrong");
    await assert.rejects(
      runTest(function* () {
        yield* spawn(function* () {
          yield* sleep(0);
          throw error;
        });
        yield* suspend();
      }),
      (caught) => caught === error,
    );
  });

  it("halts what the body spawned and did not wait for", async () => {
    let halted = false;
    await runTest(function* () {
      yield* spawn(function* () {
        yield* ensure(() => {
          halted = true;
        });
        yield* suspend();
      });
      yield* sleep(0);
    });
    assert.equal(halted, true);
  });

  it("fails with the error of a teardown", async () => {
    const error = new Error("teardown");
    await assert.rejects(
      runTest(function* () {
        yield* ensure(() => {
          throw error;
        });
      }),
      (caught) => caught === error,
    );
  });

  it("fails a body that never ends, and halts it", async () => {
    let halted = false;
    await assert.rejects(
      runTest(function* () {
        try {
          yield* suspend();
        } finally {
          halted = true;
        }
      }, { within: 1 }),
      /Did not end within 1 ms/,
    );
    assert.equal(halted, true);
  });

  it("fails a teardown that never ends", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await assert.rejects(
      runTest(function* () {
        yield* ensure(function* () {
          yield* until(promise);
        });
      }, { within: 1 }),
      /Did not end within 1 ms/,
    );
    // Let it end after all, or this test is rightly blamed for it.
    resolve();
    await promise;
  });

  it("fails a body that leaves a scope or a task alive outside its own", async () => {
    let halt = () => Promise.resolve();
    await assert.rejects(
      runTest(() => {
        const task = run(suspend);
        const [scope, destroy] = createScope();
        scope.run(suspend);
        halt = () => Promise.all([task.halt(), destroy()]).then(() => {});
      }),
      /Left 2 scopes or tasks alive/,
    );
    await halt();
  });
});
