/**
 * The compiled program, which needs nothing else. Bun compiles it; if Deno's base binary is not
 * available, `deno task compile` says so.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { until } from "effection";
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { listFiles, root } from "../harness/files.ts";
import { installPeers, peerCommand } from "../harness/peers.ts";
import { currentRuntime } from "../harness/toolchain.ts";
import { servesBothEras } from "../library/mounted-cases.ts";
import { describe, it } from "../suite.ts";
import { inspectorCases, officialCases } from "../transport/stdio/client-cases.ts";
import { builtExecutable } from "../support/built.ts";
import { TestClient } from "../support/legacy/client.ts";
import { useFolder } from "../support/folder.ts";
import { runProgram, useProgram } from "../support/program.ts";
import { isDefinition } from "../../src/cli/definitions.ts";
import { configWorks } from "./config-cases.ts";
import { bundledTripWorks } from "./commands/bundle-cases.ts";
import { projectCases, typeCases } from "./commands/project-cases.ts";
import { terminalCases } from "./terminal/terminal-cases.ts";

/** It is the same file whichever runtime starts it. */
const isHere = currentRuntime() === "bun";

/** With nothing nearby that it could use instead. */
const bare = { PATH: "/nonexistent", HOME: "/nonexistent", NODE_PATH: "" };

async function toolsAt(
  address: string,
): Promise<{ tools: { name: string; description: string }[] }> {
  const client = await TestClient.connect(fetch, { url: address });
  const list = { jsonrpc: "2.0", id: client.nextId(), method: "tools/list" };
  return (await (await client.post(list)).json()).result;
}

if (!isHere) {
  it.skip("the executable (SKIPPED on Deno: the suite on Bun tests the same file)");
} else {
  describe("the executable", () => {
    it("loads a config file in TypeScript", function* () {
      const [folder, elsewhere] = [yield* useFolder(), yield* useFolder()];
      const [file] = builtExecutable();
      yield* configWorks(folder, elsewhere, { start: [file], env: bare });
    }, { within: 60_000 });

    it("is one file, with the shipped tools and skills inside", function* () {
      const folder = yield* useFolder();
      const [file] = builtExecutable();
      const copy = join(folder, "parley");
      cpSync(file, copy);
      const { code, stdout } = yield* runProgram(["tools", "--json"], {
        start: [copy],
        cwd: folder,
        env: bare,
      });
      assert.equal(code, 0);
      const names = JSON.parse(stdout).map(({ name }: { name: string }) => name);
      const files = listFiles("tools", ".ts").filter((path) => !path.slice(6).includes("/"));
      const modules = yield* until(Promise.all(files.map((path) => import(join(root, path)))));
      const shipped = modules.flatMap((module) => Object.values(module).filter(isDefinition));
      const skills = readdirSync(join(root, "skills"));
      assert.deepEqual(names, [...shipped.map(({ name }) => name), ...skills]);
    }, { within: 60_000 });

    it("serves over HTTP, with modules from its command line, and exits with 0", function* () {
      const folder = yield* useFolder();
      mkdirSync(join(folder, "tools"));
      cpSync(join(root, "tests/support/multi-round-tool.ts"), join(folder, "tools/trip.ts"));
      const program = yield* useProgram(["serve", "tools", "--port", "0"], {
        start: builtExecutable(),
        cwd: folder,
        env: bare,
      });
      const [address] = yield* until(program.says(/http:\S+\/mcp/));
      yield* until(servesBothEras(address));
      if (process.platform === "win32") return;
      program.signal("SIGTERM");
      assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
    });

    it(
      "prints the shipped tools when it starts, and serves them, with and without a store",
      function* () {
        const folder = yield* useFolder();
        for (const store of [[], ["--store", `sqlite:${join(folder, "calls.db")}`]]) {
          const program = yield* useProgram(["serve", "--port", "0", ...store], {
            start: builtExecutable(),
            cwd: folder,
            env: bare,
          });
          const [, count, address] = yield* until(
            program.says(/serves (\d+) tools and 1 skill at (http:\S+\/mcp)[^]*Ctrl-C/),
          );
          const { tools: listed } = yield* until(toolsAt(address!));
          // The server adds two tools, because some of the others ask questions.
          const added = ["continue_call", "answer_call"];
          const tools = listed.filter(({ name }) => !added.includes(name));
          assert.equal(listed.length, tools.length + added.length);
          assert.equal(tools.length, Number(count));
          for (const { name, description } of tools) {
            assert.ok(program.stderr.includes(`  ${name} `), program.stderr);
            assert.ok(program.stderr.includes(description.slice(0, 40)), program.stderr);
          }
        }
      },
      { within: 60_000 },
    );

    it("refuses a port that is taken", function* () {
      const options = { start: builtExecutable(), env: bare };
      const first = yield* useProgram(["serve", "--port", "0"], options);
      const [, port] = yield* until(first.says(/http:\S+:(\d+)\/mcp/));
      const second = yield* runProgram(["serve", "--port", port!], options);
      assert.equal(second.code, 1);
      assert.match(second.stderr, /^Cannot serve at \S+: the port is in use; .+\n$/m);
    });

    it("writes nothing but the protocol to stdout", function* () {
      const program = yield* useProgram(["stdio", join(root, "tests/transport/stdio/tools.ts")], {
        start: builtExecutable(),
      });
      const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x" } };
      program.send({ id: 0, method: "initialize", params });
      program.send({ id: 1, method: "tools/call", params: { name: "noisy" } });
      yield* until(program.says(/"id":1,.*\n/, "stdout"));
      program.child.stdin.end();
      assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
      assert.deepEqual(program.messages.map(({ id }) => id), [0, 1]);
      assert.equal(program.stderr.match(/NOISE/g)?.length, 11, program.stderr);
    });

    it("bundles itself into a file that the official tool accepts and that runs", function* () {
      installPeers();
      const folder = yield* useFolder();
      const made = yield* runProgram(["bundle", "--out", "it.mcpb"], {
        start: builtExecutable(),
        cwd: folder,
      });
      assert.equal(made.code, 0, made.stderr);
      const [path, file] = peerCommand("mcpb");
      const mcpb = (...args: string[]) => {
        const { status, stdout, stderr } = spawnSync(path, [file, ...args], { cwd: folder });
        assert.equal(status, 0, `${stdout}${stderr}`);
      };
      mcpb("unpack", "it.mcpb", "out");
      mcpb("validate", "out/manifest.json");
      const { server } = JSON.parse(readFileSync(join(folder, "out/manifest.json"), "utf8"));
      const inside = (word: string) => word.replace("${__dirname}", join(folder, "out"));
      const { command, args } = server.mcp_config;
      assert.ok(statSync(inside(command)).size > 1e6);
      const program = yield* useProgram(args.map(inside), { start: [inside(command)] });
      const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x" } };
      program.send({ id: 0, method: "initialize", params });
      yield* until(program.says(/"serverInfo"/, "stdout"));
    }, { within: 120_000 });

    it(
      "bundles tools with all that they import, without anything else on the machine",
      function* () {
        installPeers();
        const folder = yield* useFolder();
        yield* bundledTripWorks(folder, { start: builtExecutable(), env: bare });
      },
      { within: 120_000 },
    );

    officialCases(builtExecutable);
    inspectorCases(builtExecutable);
  });

  describe("the executable's parley new", () => {
    projectCases(builtExecutable);
    typeCases(builtExecutable);
  });

  describe("the executable's parley call", () => terminalCases(builtExecutable));
}
