import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "../suite.ts";
import { Writable } from "node:stream";
import { endChildren, runChild } from "./child.ts";

const onPosix = it.when(process.platform !== "win32");

describe("runChild()", () => {
  onPosix("returns the exit code, and prints every line", async () => {
    const lines: string[] = [];
    const script = "echo to stdout; echo to stderr >&2; exit 7";
    assert.equal(await runChild("sh", ["-c", script], { onLine: (line) => lines.push(line) }), 7);
    assert.deepEqual(lines.sort(), ["to stderr", "to stdout"]);
  });

  onPosix("prints where it is told to, and has ended when all output is written", async () => {
    let shown = "";
    const output = new Writable({
      write(chunk, _encoding, done) {
        setTimeout(() => {
          shown += chunk;
          done();
        }, 0);
      },
    });
    const script = "echo to stdout; echo to stderr >&2";
    assert.equal(await runChild("sh", ["-c", script], { onLine: () => {}, output }), 0);
    assert.deepEqual(shown.split("\n").sort(), ["", "to stderr", "to stdout"]);
  });

  onPosix("treats death by signal as a failure", async () => {
    assert.equal(await runChild("sh", ["-c", "kill -9 $$"], { onLine: () => {} }), 1);
  });

  onPosix("ends what the child left running", async () => {
    // The orphan holds the pipes: if it were alive, this would time out.
    assert.equal(await runChild("sh", ["-c", "sleep 1000 & exit 0"], { onLine: () => {} }), 0);
  }, { within: 5_000 });

  it("throws if there is no such program", async () => {
    await assert.rejects(runChild("parley-has-no-such-program", []), { code: "ENOENT" });
  });
});

describe("endChildren()", () => {
  onPosix("ends all running children, with what they have started", async () => {
    const started = Promise.withResolvers<void>();
    let count = 0;
    const onLine = () => ++count === 2 && started.resolve();
    const script = "sleep 1000 & echo started; wait";
    const runs = [1, 2].map(() => runChild("sh", ["-c", script], { onLine }));
    await started.promise;
    endChildren();
    assert.deepEqual(await Promise.all(runs), [1, 1]);
  });
});
