import assert from "node:assert/strict";
import fc from "fast-check";
import { ProgressTrack } from "../../../src/wire/legacy/encode.ts";
import { describe, it } from "../../suite.ts";

/** Any number that a tool might send, often an unsuitable one. */
const said = fc.oneof(
  fc.double(),
  fc.constantFrom(0, -0, 1, 1e17, Number.MAX_SAFE_INTEGER, NaN, Infinity, -Infinity),
);

describe("ProgressTrack", () => {
  it("passes on the tool's numbers as long as they grow", () => {
    const track = new ProgressTrack();
    assert.deepEqual([1, 2, 50, 50.5].map((value, i) => track.of(i + 1, value)), [1, 2, 50, 50.5]);
  });

  it("grows with every event and every heartbeat, whatever the tool sends", () => {
    fc.assert(fc.property(fc.array(fc.oneof(said, fc.constant("beat" as const))), (steps) => {
      const track = new ProgressTrack();
      let last = -Infinity;
      steps.forEach((step, i) => {
        // Nothing is greater than the greatest number.
        if (last > Number.MAX_VALUE / 4) return;
        const told = step === "beat" ? track.beat() : track.of(i + 1, step);
        assert.ok(Number.isFinite(told) && told > last, `${told} after ${last}`);
        last = told;
      });
    }));
  });

  it("sends the same numbers to a client that resumes", () => {
    fc.assert(fc.property(fc.array(said), fc.nat(), (values, from) => {
      const track = new ProgressTrack();
      const first = values.map((value, i) => track.of(i + 1, value));
      track.beat();
      const start = values.length === 0 ? 0 : from % values.length;
      const again = values.slice(start).map((value, i) => track.of(start + i + 1, value));
      assert.deepEqual(again, first.slice(start));
    }));
  });

  it("begins with 0 if there are only heartbeats", () => {
    const track = new ProgressTrack();
    assert.deepEqual([track.beat(), track.beat(), track.of(1, 1)], [0, 0.001, 1]);
  });
});
