import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "../suite.ts";
import { runChild } from "./child.ts";

const onPosix = it.when(process.platform !== "win32");

describe("runChild()", () => {
  onPosix("answers the exit code, and shows every line", async () => {
    const lines: string[] = [];
    const script = "echo to stdout; echo to stderr >&2; exit 7";
    assert.equal(await runChild("sh", ["-c", script], { onLine: (line) => lines.push(line) }), 7);
    assert.deepEqual(lines.sort(), ["to stderr", "to stdout"]);
  });

  onPosix("takes a death by signal for a failure", async () => {
    assert.equal(await runChild("sh", ["-c", "kill -9 $$"], { onLine: () => {} }), 1);
  });

  onPosix("ends what the child left running", async () => {
    // The orphan holds the pipes: were it alive, this would run into the deadline.
    assert.equal(await runChild("sh", ["-c", "sleep 1000 & exit 0"], { onLine: () => {} }), 0);
  }, { within: 5_000 });

  it("throws if there is no such program", async () => {
    await assert.rejects(runChild("parley-has-no-such-program", []), { code: "ENOENT" });
  });
});
