import assert from "node:assert/strict";
import { describe, it } from "../suite.ts";
import { closingLine, sight, type Sightings, tally } from "./report.ts";

const files = ["tests/a.test.ts"];
const sightings = (): Sightings => ({ files: new Set(files), strays: [] });

/** Deno's format: a group is a case like any other. */
const denoReport = `
<testcase name="outer" classname="./tests/a.test.ts" time="0.016" line="3" col="1">
    <failure message="2 test steps failed">2 test steps failed.</failure>
</testcase>
<testcase name="outer &gt; one" classname="ext:x.ts" time="0.000" line="1" col="1">
</testcase>
<testcase name="outer &gt; inner" classname="ext:x.ts" time="0.011" line="1" col="1">
    <failure message="1 test step failed">1 test step failed.</failure>
</testcase>
<testcase name="outer &gt; inner &gt; two" classname="ext:x.ts" time="0.002" line="1" col="1">
    <failure message="Uncaught Error: no &lt;skipped&gt;">Error: no</failure>
</testcase>
<testcase name="outer &gt; three" classname="ext:x.ts" time="0.000" line="1" col="1">
    <skipped/>
</testcase>
<testcase name="hook" classname="./tests/a.test.ts" time="0.000" line="9" col="1">
    <failure message="Uncaught Error: in a hook">Error: in a hook</failure>
</testcase>
<testcase name="hook &gt; four" classname="ext:x.ts" time="0.000" line="1" col="1">
</testcase>`;

/** Bun's format: groups are suites, and a class name reads from the inside out. */
const bunReport = `
<testsuite name="tests/a.test.ts" file="tests/a.test.ts" tests="3">
  <testsuite name="outer" file="tests/a.test.ts" line="3">
    <testcase name="one" classname="outer" time="0.001" file="tests/a.test.ts" line="4" />
    <testcase name="two" classname="inner &gt; outer" time="0" file="tests/a.test.ts" line="6">
      <failure type="TimeoutError" message="test timed out" />
    </testcase>
    <testcase name="three" classname="inner &gt; outer" time="0" file="tests/a.test.ts" line="8">
      <skipped message="TODO" />
    </testcase>
  </testsuite>
</testsuite>`;

describe("tally()", () => {
  it("counts Deno's tests but not its groups, unless a group failed by itself", () => {
    assert.deepEqual(
      tally("deno", { files, report: denoReport, code: 1, sightings: sightings() }),
      {
        passed: 2,
        failed: 2,
        skipped: ["outer > three"],
        complaints: [],
      },
    );
  });

  it("counts Bun's tests, with their full names", () => {
    assert.deepEqual(tally("bun", { files, report: bunReport, code: 1, sightings: sightings() }), {
      passed: 1,
      failed: 1,
      skipped: ["outer > inner > three"],
      complaints: [],
    });
  });

  it("fails a run without a report", () => {
    const run = { files, report: undefined, code: 0, sightings: sightings() };
    assert.equal(tally("deno", run).failed, 1);
  });

  it("fails a run with a bad exit code even if no test failed", () => {
    const report = `<testcase name="a" file="tests/a.test.ts" />`;
    const run = { files, report, sightings: sightings() };
    assert.deepEqual(tally("bun", { ...run, code: 0 }).failed, 0);
    assert.deepEqual(tally("bun", { ...run, code: 3 }).failed, 1);
  });

  it("fails for a file that ran no test, once even if loading it failed", () => {
    const more = [...files, "tests/b.test.ts"];
    const run = { files: more, report: denoReport, code: 1 };
    assert.equal(tally("deno", { ...run, sightings: sightings() }).failed, 3);
    const aloud = { ...sightings(), strays: ["an error"] };
    assert.equal(tally("deno", { ...run, sightings: aloud }).failed, 3);
  });
});

describe("sight()", () => {
  it("sees which files Deno ran, and errors outside of tests", () => {
    const seen: Sightings = { files: new Set(), strays: [] };
    sight("deno", "\x1b[0m\x1b[38;5;245mrunning 3 tests from ./tests/a.test.ts\x1b[0m", seen);
    sight("deno", "running 1 test from ./tests/b.test.ts", seen);
    sight("deno", "running 0 tests from ./tests/c.test.ts", seen);
    sight("deno", "Uncaught error from ./tests/d.test.ts \x1b[0m\x1b[31mFAILED\x1b[0m", seen);
    assert.deepEqual([...seen.files], ["tests/a.test.ts", "tests/b.test.ts"]);
    assert.equal(seen.strays.length, 1);
  });

  it("sees Bun's errors between tests", () => {
    const seen: Sightings = { files: new Set(), strays: [] };
    sight("bun", "# Unhandled error between tests", seen);
    sight("bun", "(fail) something else", seen);
    assert.equal(seen.strays.length, 1);
  });
});

describe("closingLine()", () => {
  it("sums up, and says what was skipped", () => {
    const one = { passed: 2, failed: 1, skipped: [], complaints: [] };
    assert.equal(closingLine([]), "0 passed, 0 failed");
    assert.equal(closingLine([one, one]), "4 passed, 2 failed");
    assert.equal(closingLine([one, { ...one, skipped: ["a"] }]), "4 passed, 2 failed, 1 skipped");
  });
});
