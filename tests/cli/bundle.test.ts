import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { zip } from "../../src/cli/zip.ts";
import { root } from "../harness/files.ts";
import { installPeers, peerCommand } from "../harness/peers.ts";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { runProgram } from "../support/program.ts";

/** The official tool, which fails if it is not pleased. */
function mcpb(...args: string[]): string {
  const [path, file] = peerCommand("mcpb");
  const { status, stdout, stderr } = spawnSync(path, [file, ...args], { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

describe("parley bundle", () => {
  it("makes a file that the official tool accepts, program and modules inside", function* () {
    installPeers();
    const folder = yield* useFolder();
    const program = join(folder, "fake");
    writeFileSync(program, "#!/bin/sh\necho the program\n", { mode: 0o755 });
    const { code, stderr } = yield* runProgram(
      ["bundle", join(root, "tests/cli/tools.ts"), "--executable", program, "--name", "mine"],
      { cwd: folder },
    );
    assert.equal(code, 0, stderr);
    const [file] = /\S+\.mcpb/.exec(stderr)!;
    mcpb("unpack", file, join(folder, "out"));
    mcpb("validate", join(folder, "out/manifest.json"));
    assert.match(mcpb("info", file), /mine-\d+\.\d+\.\d+\.mcpb/);

    const manifest = JSON.parse(readFileSync(join(folder, "out/manifest.json"), "utf8"));
    const { command, args } = manifest.server.mcp_config;
    const inside = (path: string) => path.replace("${__dirname}", join(folder, "out"));
    assert.equal(readFileSync(inside(command), "utf8"), readFileSync(program, "utf8"));
    assert.equal(
      readFileSync(inside(args[1]), "utf8"),
      readFileSync(join(root, "tests/cli/tools.ts"), "utf8"),
    );
    if (process.platform !== "win32") assert.ok(statSync(inside(command)).mode & 0o100);
    const names = manifest.tools.map(({ name }: { name: string }) => name);
    assert.ok(names.includes("register"));
  }, { within: 60_000 });

  it("says that it takes the compiled program", function* () {
    const { code, stderr } = yield* runProgram(["bundle"]);
    assert.equal(code, 2);
    assert.match(stderr, /^Cannot bundle: this is not the compiled program; compile it first/);
    const missing = yield* runProgram(["bundle", "--executable", "none"]);
    assert.match(missing.stderr, /^Cannot bundle "none": there is no such file/);
  });
});

describe("zip()", () => {
  it("writes the same bytes for the same content", async () => {
    const entries = [{ name: "ä/b.txt", data: new TextEncoder().encode("hello ".repeat(100)) }];
    const [one, two] = await Promise.all([zip(entries), zip(entries)]);
    assert.deepEqual(one, two);
    assert.ok(one.length < 300);
  });
});
