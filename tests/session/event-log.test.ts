import assert from "node:assert/strict";
import { EventsGoneError } from "../../src/model/errors.ts";
import type { EventBody, ToolSessionEvent } from "../../src/model/events.ts";
import { estimateSize } from "../../src/session/estimate-size.ts";
import { EventLog, type LogLimits } from "../../src/session/event-log.ts";
import type { Journal } from "../../src/session/journal.ts";
import { describe, it } from "../suite.ts";

const ROOMY: LogLimits = { maxEvents: 1_000, maxBytes: 1_000_000 };

const progress = (progress: number): EventBody => ({ type: "progress", progress });
const result: EventBody = { type: "result", result: { content: [] } };
const lsns = (events: readonly ToolSessionEvent[]) => events.map(({ lsn }) => lsn);

function logOf(count: number, limits: Partial<LogLimits> = {}): EventLog {
  const log = new EventLog("s", { ...ROOMY, ...limits });
  for (let n = 1; n <= count; n++) log.append(progress(n));
  return log;
}

/** A log with a journal that records only on request. */
function journalled(limits: Partial<LogLimits> = {}) {
  const log = new EventLog("s", { ...ROOMY, ...limits });
  const written: ToolSessionEvent[] = [];
  log.keepIn({ write: (event: ToolSessionEvent) => written.push(event) } as unknown as Journal);
  return { log, written };
}

function gone(read: () => unknown): EventsGoneError {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof EventsGoneError, String(error));
    return error;
  }
  return assert.fail("it was read although it is gone");
}

describe("EventLog.append()", () => {
  it("numbers events from 1 without gaps", () => {
    const log = logOf(5);
    assert.deepEqual(lsns(log.after(0)), [1, 2, 3, 4, 5]);
    assert.equal(log.firstLSN, 1);
    assert.equal(log.lastLSN, 5);
  });

  it("starts out empty", () => {
    const log = logOf(0);
    assert.deepEqual(log.after(0), []);
    assert.equal(log.next(0), undefined);
    assert.equal(log.firstLSN, 1);
    assert.equal(log.lastLSN, 0);
    assert.equal(log.bytes, 0);
  });

  it("does not modify the event it was given", () => {
    const body = Object.freeze(progress(1));
    logOf(0).append(body);
    assert.deepEqual(body, { type: "progress", progress: 1 });
  });

  it("accepts nothing after the final event (LOG-4)", () => {
    const finals: EventBody[] = [
      result,
      { type: "error", error: { code: 1, message: "m" } },
      { type: "cancelled", reason: "r", by: "server" },
    ];
    for (const final of finals) {
      const log = logOf(2);
      log.append(final);
      let called = false;
      log.append(result, () => called = true);
      log.append(progress(9), () => called = true);
      assert.deepEqual(lsns(log.after(0)), [1, 2, 3]);
      assert.deepEqual([log.closed, called], [true, false]);
    }
  });

  it("calls `then` once the event is visible, before any reader wakes", () => {
    const log = logOf(0);
    const order: string[] = [];
    log.watch(() => order.push("reader"));
    log.append(progress(1), () => order.push(`then, at ${log.lastLSN}`));
    assert.deepEqual(order, ["then, at 1", "reader"]);
  });

  it("keeps the order when `then` appends more", () => {
    const log = logOf(0);
    const seen: number[][] = [];
    log.watch(() => seen.push(lsns(log.after(0))));
    log.append(progress(1), () => log.append(progress(2), () => log.append(progress(3))));
    assert.deepEqual(seen[0], [1, 2, 3], "whoever wakes sees all of it");
    assert.deepEqual(log.after(0).map((event) => (event as { progress: number }).progress), [
      1,
      2,
      3,
    ]);
  });

  it("changes nothing if the event's size cannot be estimated", () => {
    const log = logOf(1);
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const { bytes } = log;
    assert.throws(() => log.append({ type: "log", level: "info", data: cycle }), RangeError);
    assert.deepEqual([log.lastLSN, log.firstLSN, log.bytes], [1, 1, bytes]);
    log.append(progress(2));
    assert.deepEqual(lsns(log.after(0)), [1, 2]);
  });
});

describe("EventLog.after() and .next()", () => {
  it("serve any number of readers, each from its own position", () => {
    const log = logOf(6);
    for (let from = 0; from <= 6; from++) {
      const walked: number[] = [];
      for (let event = log.next(from); event; event = log.next(event.lsn)) walked.push(event.lsn);
      assert.deepEqual(walked, [1, 2, 3, 4, 5, 6].slice(from));
      assert.deepEqual(lsns(log.after(from)), walked);
    }
  });

  it("return nothing for a reader that is ahead of the log", () => {
    const log = logOf(2);
    assert.deepEqual(log.after(99), []);
    assert.equal(log.next(99), undefined);
  });

  it("tell a reader that is too far behind where the log starts now (LOG-3)", () => {
    const log = logOf(10, { maxEvents: 4 });
    assert.equal(log.firstLSN, 7);
    for (const read of [() => log.after(5), () => log.next(5)]) {
      const { firstLSN, afterLSN, sessionId } = gone(read);
      assert.deepEqual([firstLSN, afterLSN, sessionId], [7, 5, "s"]);
    }
    assert.deepEqual(lsns(log.after(6)), [7, 8, 9, 10]);
    assert.equal(log.next(6)?.lsn, 7);
  });
});

describe("EventLog limits", () => {
  it("keep the newest events by count, over a long stream", () => {
    const log = logOf(0, { maxEvents: 10 });
    for (let n = 1; n <= 1_000; n++) {
      log.append(progress(n));
      assert.equal(log.lastLSN, n);
      assert.equal(log.firstLSN, Math.max(1, n - 9));
      const kept = log.after(log.firstLSN - 1);
      assert.deepEqual(
        kept.map((event) => (event as { progress: number }).progress),
        lsns(kept),
        "every number belongs to its event",
      );
    }
  });

  it("keep the newest events by bytes, and count only those", () => {
    const data = "x".repeat(1_000);
    const log = new EventLog("s", { maxEvents: 1_000, maxBytes: 5_000 });
    for (let n = 0; n < 200; n++) log.append({ type: "log", level: "info", data });
    const kept = log.after(log.firstLSN - 1);
    assert.ok(kept.length >= 3 && kept.length <= 5, `${kept.length}`);
    assert.equal(log.bytes, kept.reduce((sum, event) => sum + estimateSize(event), 0));
    assert.ok(log.bytes <= 5_000);
  });

  it("keep the last event, however large it is", () => {
    const log = logOf(3, { maxBytes: 10 });
    log.append({
      type: "result",
      result: { content: [{ type: "text", text: "x".repeat(10_000) }] },
    });
    assert.deepEqual(lsns(log.after(3)), [4]);
    assert.equal(log.firstLSN, 4);
  });

  it("find() returns the newest kept event that matches", () => {
    const log = logOf(10, { maxEvents: 4 });
    const find = (progress: number) =>
      log.findLast((event) => event.type === "progress" && event.progress === progress)?.lsn;
    assert.equal(find(8), 8);
    assert.equal(find(6), undefined);
    assert.equal(log.findLast((event) => event.lsn < 10)?.lsn, 9);
  });
});

describe("EventLog.watch()", () => {
  it("wakes every watcher for every event, until it leaves", () => {
    const log = logOf(0);
    const woken: string[] = [];
    const leaveA = log.watch(() => woken.push("a"));
    const leaveB = log.watch(() => woken.push("b"));
    log.append(progress(1));
    leaveA();
    leaveA();
    log.append(progress(2));
    leaveB();
    log.append(progress(3));
    assert.deepEqual(woken, ["a", "b", "b"]);
  });

  it("lets the same function watch twice", () => {
    const log = logOf(0);
    let woken = 0;
    const wake = () => void woken++;
    const leave = log.watch(wake);
    log.watch(wake);
    log.append(progress(1));
    leave();
    log.append(progress(2));
    assert.equal(woken, 3);
  });

  it("does not wake a watcher that another has just removed", () => {
    const log = logOf(0);
    const woken: string[] = [];
    log.watch(() => {
      woken.push("a");
      leaveB();
    });
    const leaveB = log.watch(() => woken.push("b"));
    log.append(progress(1));
    assert.deepEqual(woken, ["a"]);
  });

  it("lets watchers join, leave and append while they are being woken", () => {
    const log = logOf(0);
    const late: number[] = [];
    const leave = log.watch(() => {
      leave();
      log.watch(() => late.push(log.lastLSN));
      log.append(progress(2));
    });
    log.append(progress(1));
    log.append(progress(3));
    assert.deepEqual(late, [2, 3]);
  });
});

describe("EventLog with a journal", () => {
  it("shows events only once they are recorded (LOG-1)", () => {
    const { log, written } = journalled();
    const order: string[] = [];
    log.watch(() => order.push(`woken at ${log.lastLSN}`));
    for (const n of [1, 2, 3]) log.append(progress(n), () => order.push(`then ${n}`));
    assert.deepEqual(lsns(written), [1, 2, 3], "each is written at once");
    assert.deepEqual([log.lastLSN, log.after(0), log.next(0), order], [0, [], undefined, []]);
    log.recorded(2);
    assert.deepEqual(lsns(log.after(0)), [1, 2]);
    assert.equal(log.next(2), undefined);
    assert.deepEqual(order, ["then 1", "then 2", "woken at 2"]);
    log.recorded(3);
    assert.deepEqual(lsns(log.after(2)), [3]);
    assert.deepEqual(order.slice(3), ["then 3", "woken at 3"]);
  });

  it("drops nothing that is not recorded, whatever its size", () => {
    const { log } = journalled({ maxEvents: 2 });
    for (let n = 1; n <= 50; n++) log.append(progress(n));
    log.recorded(10);
    assert.deepEqual(lsns(log.after(9)), [10]);
    log.recorded(50);
    assert.deepEqual(lsns(log.after(48)), [49, 50]);
    assert.equal(log.firstLSN, 49);
  });

  it("shows a large batch to a reader that keeps up before dropping its front", () => {
    const { log } = journalled({ maxEvents: 2 });
    const seen: number[] = [];
    log.watch(() => seen.push(...lsns(log.after(seen.length))));
    for (let n = 1; n <= 10; n++) log.append(progress(n));
    log.recorded(10);
    assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert.equal(log.firstLSN, 9);
  });

  it("finds events that are not recorded yet", () => {
    const { log } = journalled();
    log.append(progress(7));
    assert.equal(log.findLast((event) => event.type === "progress")?.lsn, 1);
  });
});

describe("EventLog.abandonJournal()", () => {
  it("withdraws what was not recorded, and continues numbering from there", () => {
    const { log, written } = journalled();
    const called: number[] = [];
    log.append(progress(1), () => called.push(1));
    log.append(progress(2), () => called.push(2));
    log.append(result, () => called.push(3));
    log.recorded(1);
    const { bytes } = logOf(1);
    assert.equal(log.closed, true);
    log.abandonJournal();
    assert.deepEqual([log.closed, log.lastLSN, log.bytes], [false, 1, bytes]);
    log.append({ type: "error", error: { code: 1, message: "lost" } }, () => called.push(4));
    assert.deepEqual(log.after(0).map(({ lsn, type }) => `${lsn} ${type}`), [
      "1 progress",
      "2 error",
    ]);
    assert.deepEqual(called, [1, 4], "what never happened is not told");
    assert.deepEqual([written.length, log.closed], [3, true], "and nothing is written any more");
  });
});
