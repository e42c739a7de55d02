import assert from "node:assert/strict";
import { scoped } from "effection";
import process from "node:process";
import { type EndingSignal, useSignals } from "../../src/cli/signals.ts";
import { describe, it } from "../suite.ts";

/** As if the signal had come. */
function send(signal: EndingSignal): void {
  process.emit(signal, signal);
}

describe("useSignals()", () => {
  it("takes the same signal for the same press of a key only while that can be", function* () {
    let now = 1_000;
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

  it("leaves no listener behind", function* () {
    const before = process.listenerCount("SIGINT");
    yield* scoped(function* () {
      yield* useSignals();
      assert.equal(process.listenerCount("SIGINT"), before + 1);
    });
    assert.equal(process.listenerCount("SIGINT"), before);
  });
});
