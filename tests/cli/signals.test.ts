import assert from "node:assert/strict";
import { ensure, type Operation, scoped } from "effection";
import process from "node:process";
import { type EndingSignal, useSignals } from "../../src/cli/signals.ts";
import { describe, it } from "../suite.ts";

/** Acts as if the signal had come. */
function send(signal: EndingSignal): void {
  process.emit(signal, signal);
}

/** Removes, at the end of the test, the listeners that were added since. */
function* restoreListeners(): Operation<void> {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const before = process.listeners(signal);
    yield* ensure(() => {
      for (const listener of process.listeners(signal)) {
        if (!before.includes(listener)) process.off(signal, listener);
      }
    });
  }
}

describe("useSignals()", () => {
  it("counts a repeated signal as the same key press for 200 ms only", function* () {
    let now = 1_000;
    yield* restoreListeners();
    const signals = yield* useSignals(() => now);
    send("SIGINT");
    send("SIGINT");
    send("SIGTERM");
    now += 199;
    send("SIGINT");
    now += 200;
    send("SIGINT");
    const came = [];
    for (let i = 0; i < 3; i++) came.push((yield* signals.next()).value);
    assert.deepEqual(came, ["SIGINT", "SIGTERM", "SIGINT"]);
  });

  it("ignores a signal that came, until the program has exited", function* () {
    yield* restoreListeners();
    const [interrupts, terms] = [process.listenerCount("SIGINT"), process.listenerCount("SIGTERM")];
    for (let round = 0; round < 2; round++) {
      yield* scoped(function* () {
        const signals = yield* useSignals();
        send("SIGINT");
        yield* signals.next();
      });
      assert.equal(process.listenerCount("SIGINT"), interrupts + 1);
      assert.equal(process.listenerCount("SIGTERM"), terms);
    }
  });

  it("leaves no listener behind when no signal came", function* () {
    const before = process.listenerCount("SIGINT");
    yield* scoped(function* () {
      yield* useSignals();
      assert.equal(process.listenerCount("SIGINT"), before + 1);
    });
    assert.equal(process.listenerCount("SIGINT"), before);
  });
});
