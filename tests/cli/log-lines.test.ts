import assert from "node:assert/strict";
import process from "node:process";
import { scoped } from "effection";
import { LogLines, useLogLines } from "../../src/cli/log-lines.ts";
import { createManualClock } from "../../src/testing/manual-clock.ts";
import { describe, it } from "../suite.ts";

function logLines() {
  const clock = createManualClock();
  const written: string[] = [];
  const options = { clock, write: (lines: string) => void written.push(lines) };
  return { clock, written, options, lines: new LogLines(options) };
}

describe("LogLines", () => {
  it("holds lines back until release(), however urgent they are", () => {
    const { clock, written, lines } = logLines();
    lines.add("a", false);
    lines.add("b", true);
    clock.advance(1_000);
    assert.deepEqual(written, []);
    lines.release();
    assert.deepEqual(written, ["a\nb"]);
  });

  it("writes the lines of a short time together", () => {
    const { clock, written, lines } = logLines();
    lines.release();
    lines.add("a", false);
    clock.advance(10);
    lines.add("b", false);
    assert.deepEqual(written, []);
    clock.advance(10);
    assert.deepEqual(written, ["a\nb"]);
    clock.advance(100);
    lines.add("c", false);
    clock.advance(20);
    assert.deepEqual(written, ["a\nb", "c"]);
  });

  it("writes an urgent line immediately, after the lines before it", () => {
    const { clock, written, lines } = logLines();
    lines.release();
    lines.add("a", false);
    lines.add("warning", true);
    assert.deepEqual(written, ["a\nwarning"]);
    clock.advance(100);
    assert.deepEqual(written, ["a\nwarning"]);
  });

  it("does not collect more than a bounded number of characters", () => {
    const { written, lines } = logLines();
    lines.release();
    for (let n = 0; n < 100; n++) lines.add("x".repeat(1_000), false);
    assert.equal(written.length, 3);
    for (const text of written) assert.ok(text.length < 40_000);
  });
});

describe("useLogLines()", () => {
  it("writes what is left at the end of its scope, even if nothing was released", function* () {
    const { written, options, clock } = logLines();
    yield* scoped(function* () {
      const lines = yield* useLogLines(options);
      lines.add("held", false);
    });
    assert.deepEqual(written, ["held"]);
    yield* scoped(function* () {
      const lines = yield* useLogLines(options);
      lines.release();
      lines.add("late", false);
    });
    assert.deepEqual(written, ["held", "late"]);
    clock.advance(100);
    assert.deepEqual(written, ["held", "late"]);
  });

  it("writes what is left when the program exits, and leaves no listener behind", function* () {
    const before = process.listeners("exit");
    const { written, options } = logLines();
    yield* scoped(function* () {
      const lines = yield* useLogLines(options);
      lines.release();
      lines.add("last", false);
      const added = process.listeners("exit").filter((listener) => !before.includes(listener));
      for (const listener of added) listener.call(process, 0);
      assert.deepEqual(written, ["last"]);
    });
    assert.deepEqual(process.listeners("exit"), before);
  });
});
