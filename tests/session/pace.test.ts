import assert from "node:assert/strict";
import { Deadlines } from "../../src/lib/deadlines.ts";
import { EventLog } from "../../src/session/event-log.ts";
import { KEEP_UP_TIME } from "../../src/session/pace.ts";
import { createManualClock } from "../../src/testing/manual-clock.ts";
import { describe, it } from "../suite.ts";
import { turn } from "../support/turn.ts";

function logOf(maxEvents = 10, maxBytes = Infinity) {
  const clock = createManualClock();
  const deadlines = new Deadlines(clock);
  const log = new EventLog("s", { maxEvents, maxBytes });
  const append = (count: number, message = "m") => {
    for (let i = 0; i < count; i++) log.append({ type: "progress", progress: i, message });
  };
  /** Waits for room, and records when it got it. */
  const wait = () => {
    const waiting = { over: false, stop: () => {} };
    waiting.stop = log.whenRoom(deadlines, () => waiting.over = true);
    return waiting;
  };
  return { log, clock, append, wait };
}

describe("EventLog.isFull", () => {
  it("is true once a run is half a log ahead of an attached reader, and no sooner", () => {
    const { log, append } = logOf();
    const reader = log.attach(0);
    append(4);
    assert.equal(log.isFull, false);
    append(1);
    assert.equal(log.isFull, true);
    log.taken(reader, 5);
    assert.equal(log.isFull, false);
  });

  it("counts bytes too, however many events are read at a time", () => {
    const { log, append } = logOf(1_000, 10_000);
    const reader = log.attach(0);
    append(4, "x".repeat(1_400));
    assert.equal(log.isFull, true);
    log.taken(reader, 1);
    assert.equal(log.isFull, false);
    append(1, "x".repeat(1_400));
    assert.equal(log.isFull, true);
    log.taken(reader, 5);
    assert.equal(log.isFull, false);
    append(3, "x".repeat(1_400));
    assert.equal(log.isFull, false, "what was taken does not count");
  });

  it("is false if there are no readers, or all have left", () => {
    const { log, append } = logOf();
    append(20);
    assert.equal(log.isFull, false);
    const reader = log.attach(20);
    append(20);
    assert.equal(log.isFull, true);
    log.detach(reader);
    assert.equal(log.isFull, false);
  });

  it("follows the slowest reader", () => {
    const { log, append } = logOf();
    const [fast, slow] = [log.attach(0), log.attach(0)];
    append(5);
    log.taken(fast, 5);
    assert.equal(log.isFull, true);
    log.taken(slow, 3);
    assert.equal(log.isFull, false);
  });

  it("waits for a first reader that is still to come", () => {
    const { log, append } = logOf();
    log.awaitReader(0);
    append(5);
    assert.equal(log.isFull, true);
    log.attach(5);
    assert.equal(log.isFull, false);
    log.awaitReader(5);
    append(4);
    assert.equal(log.isFull, false);
    append(1);
    assert.equal(log.isFull, true);
    log.expectNobody();
    log.attach(10);
    assert.equal(log.isFull, true, "the one that is there counts as before");
  });
});

describe("EventLog.whenRoom()", () => {
  it("resumes waiters in order once the reader has caught up", async () => {
    const { log, append, clock } = logOf();
    const reader = log.attach(0);
    append(5);
    const order: string[] = [];
    const deadlines = new Deadlines(clock);
    for (const name of ["a", "b", "c"]) {
      log.whenRoom(deadlines, () => {
        order.push(name);
        // The second event fills it again.
        append(name === "b" ? 5 : 0);
      });
    }
    log.taken(reader, 5);
    assert.deepEqual(order, [], "not while the reader is at work");
    await turn();
    assert.deepEqual(order, ["a", "b"]);
    log.taken(reader, 10);
    await turn();
    assert.deepEqual(order, ["a", "b", "c"]);
    assert.equal(clock.timers, 0);
  });

  it("stops waiting for a reader that reads nothing, until it reads again", async () => {
    const { log, append, clock, wait } = logOf();
    const reader = log.attach(0);
    append(5);
    const first = wait();
    clock.advance(KEEP_UP_TIME - 1);
    assert.equal(first.over, false);
    clock.advance(1);
    assert.equal(first.over, true);
    append(50);
    assert.equal(log.isFull, false);
    log.taken(reader, 55);
    append(5);
    assert.equal(log.isFull, true, "it is waited for again");
    const second = wait();
    log.detach(reader);
    await turn();
    assert.equal(second.over, true);
    assert.equal(clock.timers, 0);
  });

  it("gives a reader that reads something its full time again", async () => {
    const { log, append, clock, wait } = logOf();
    const [reader] = [log.attach(0), log.attach(0)];
    append(6);
    const waiting = wait();
    clock.advance(KEEP_UP_TIME - 1);
    log.taken(reader!, 1);
    await turn();
    clock.advance(KEEP_UP_TIME - 1);
    assert.equal(waiting.over, false);
    clock.advance(1);
    assert.equal(waiting.over, true);
  });

  it("leaves no timer behind when it is halted", () => {
    const { log, append, clock, wait } = logOf();
    log.attach(0);
    append(5);
    const waiting = wait();
    assert.equal(clock.timers, 1);
    waiting.stop();
    assert.equal(clock.timers, 0);
  });
});
