import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { root } from "./harness/files.ts";
import { currentRuntime, useRuntime } from "./harness/toolchain.ts";
import { describe, it } from "./suite.ts";

describe("src/main.ts", () => {
  it("lists the tools, and says that they cannot be called yet", () => {
    const name = currentRuntime();
    const args = name === "deno" ? ["run", "-A", "src/main.ts"] : ["src/main.ts"];
    const { status, stdout, stderr } = spawnSync(useRuntime(name).path, args, {
      cwd: root,
      encoding: "utf8",
    });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /plan_dinner/);
    assert.match(stdout, /transports/);
  });
});
