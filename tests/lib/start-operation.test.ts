import assert from "node:assert/strict";
import { createScope, sleep, spawn, suspend } from "effection";
import { startOperation } from "../../src/lib/start-operation.ts";
import { Gate } from "../support/gate.ts";
import { describe, it } from "../suite.ts";

describe("startOperation()", () => {
  it("returns the outcome at once if the operation did not wait", async () => {
    const [scope, destroy] = createScope();
    const returned = startOperation(scope, function* () {
      return 1;
    });
    assert.deepEqual(returned.outcome, { type: "returned", value: 1 });
    assert.deepEqual(await returned.ended(), returned.outcome);
    const error = new Error("no");
    const threw = startOperation(scope, function* () {
      throw error;
    });
    assert.deepEqual(threw.outcome, { type: "threw", error });
    await destroy();
  });

  it("returns the outcome later if it did", async () => {
    const [scope, destroy] = createScope();
    const gate = new Gate();
    const settling = startOperation(scope, function* () {
      yield* gate.pass();
      return 2;
    });
    assert.equal(settling.outcome, undefined);
    const ended = settling.ended();
    gate.open();
    assert.deepEqual(await ended, { type: "returned", value: 2 });
    assert.deepEqual(await settling.ended(), { type: "returned", value: 2 });
    await destroy();
  });

  it("can be halted, and reports when that is done", async () => {
    const [scope, destroy] = createScope();
    const done: string[] = [];
    for (const body of [suspend, () => spawnAndWait()]) {
      const settling = startOperation(scope, function* () {
        try {
          yield* body();
        } finally {
          yield* sleep(0);
          done.push("cleaned up");
        }
      });
      settling.halt();
      assert.deepEqual(await settling.ended(), { type: "halted" });
    }
    assert.equal(done.length, 2);
    await destroy();
  });
});

function* spawnAndWait() {
  yield* spawn(suspend);
  yield* suspend();
}
