import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { describe, it } from "../suite.ts";
import { currentRuntime, installOnce, pinnedVersion, useRuntime } from "./toolchain.ts";

describe("useRuntime()", () => {
  for (const name of ["deno", "bun"] as const) {
    it(`returns the executable of ${name} at the version in package.json`, () => {
      const runtime = useRuntime(name);
      assert.equal(runtime.version, pinnedVersion(name));
      const { stdout } = spawnSync(runtime.path, ["--version"], { encoding: "utf8" });
      assert.ok(stdout.includes(runtime.version), stdout);
    });
  }

  it("returns the runtime that runs the suite", () => {
    assert.equal(useRuntime(currentRuntime()).path, process.execPath);
  });
});

describe("installOnce()", () => {
  const variable = "PARLEY_TEST_INSTALL_ONCE";

  it("installs once for a folder, in children too, and again after a failure", () => {
    let times = 0;
    const install = () => {
      if (++times === 1) throw new Error("failed");
    };
    try {
      assert.throws(() => installOnce(variable, "/a", install), /failed/);
      installOnce(variable, "/a", install);
      installOnce(variable, "/a", install);
      assert.equal(times, 2);
      // The environment of a child.
      assert.equal(process.env[variable], "/a");
      installOnce(variable, "/b", install);
      assert.equal(times, 3);
    } finally {
      delete process.env[variable];
    }
  });
});
