import assert from "node:assert/strict";
import { atRest, judge, type Standing } from "../../bench/kit/soaked.ts";
import { describe, it } from "../suite.ts";

const RESTING: Standing = {
  heap: 5_000,
  faults: 0,
  live: 0,
  finished: 0,
  streams: 0,
  clientSessions: 0,
};

/** One report for each heap size, in kilobytes. */
const sizes = (...heaps: number[]) => heaps.map((heap) => ({ ...RESTING, heap, live: 3 }));
const flat = sizes(1_000, 4_000, 5_000, 9_000, 5_000, 5_100, 5_200, 5_000, 2_000);

describe("judge()", () => {
  it("accepts a heap that goes up and down", () => {
    assert.deepEqual(judge(flat, RESTING).found, []);
  });

  it("reports a heap that grows", () => {
    const grown = sizes(1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000);
    const { growth, found } = judge(grown, RESTING);
    assert.equal(growth, 3_000);
    assert.deepEqual(found, ["the live heap has grown by 3000 KB"]);
  });

  it("reports the server's faults, and what it has not released", () => {
    const last = { ...RESTING, faults: 2, streams: 1 };
    const { found } = judge(flat, last);
    assert.equal(found.length, 2);
    assert.match(found[0]!, /2 faults/);
    assert.match(found[1]!, /something is left/);
  });

  it("reaches no verdict if the server sent too few figures", () => {
    assert.equal(judge(flat.slice(0, 5), RESTING).found.length, 1);
    assert.equal(judge(flat, undefined).found.length, 1);
  });
});

describe("atRest()", () => {
  it("is true if nothing is live, kept or open", () => {
    assert.equal(atRest(RESTING), true);
    assert.equal(atRest(undefined), false);
    for (const key of ["live", "finished", "streams", "clientSessions"]) {
      assert.equal(atRest({ ...RESTING, [key]: 1 }), false, key);
    }
  });
});
