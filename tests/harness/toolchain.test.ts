import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { describe, it } from "../suite.ts";
import { currentRuntime, pinnedVersion, useRuntime } from "./toolchain.ts";

describe("useRuntime()", () => {
  for (const name of ["deno", "bun"] as const) {
    it(`answers the executable of ${name} at the version that package.json states`, () => {
      const runtime = useRuntime(name);
      assert.equal(runtime.version, pinnedVersion(name));
      const { stdout } = spawnSync(runtime.path, ["--version"], { encoding: "utf8" });
      assert.ok(stdout.includes(runtime.version), stdout);
    });
  }

  it("answers the runtime that executes the suite, since the suite runs on the pinned one", () => {
    assert.equal(useRuntime(currentRuntime()).path, process.execPath);
  });
});
