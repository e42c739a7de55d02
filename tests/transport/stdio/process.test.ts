import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { type Operation, scoped, until } from "effection";
import { join } from "node:path";
import process from "node:process";
import { root } from "../../harness/files.ts";
import { describe, it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";
import { fromSource, type Program, useProgram } from "../../support/program.ts";
import { ABLE } from "./channel.ts";

const tools = join(root, "tests/transport/stdio/tools.ts");
const onPosix = it.when(process.platform !== "win32");

function* begin(): Operation<Program> {
  const program = yield* useProgram(["stdio", tools]);
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: ABLE,
    clientInfo: { name: "test", version: "1" },
  };
  program.send({ id: 0, method: "initialize", params });
  yield* until(program.says(/"id":0,.*\n/, "stdout"));
  return program;
}

describe("parley stdio", () => {
  it("writes only the protocol to stdout, whatever a tool prints", function* () {
    const program = yield* begin();
    program.send({ id: 1, method: "tools/call", params: { name: "noisy" } });
    yield* until(program.says(/"id":1,.*\n/, "stdout"));
    program.child.stdin.end();
    assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
    assert.deepEqual(program.messages.map(({ id }) => id), [0, 1]);
    assert.equal(program.stderr.match(/NOISE/g)?.length, 11, program.stderr);
  });

  const endings: [string, (program: Program) => void][] = [
    ["the end of its input", ({ child }) => child.stdin.end()],
    ["SIGTERM", (program) => program.signal("SIGTERM")],
    ["SIGINT", (program) => program.signal("SIGINT")],
  ];
  for (const [what, end] of endings) {
    onPosix(`exits with 0 at ${what}, and every generator has cleaned up`, function* () {
      const program = yield* begin();
      program.send({ id: 1, method: "tools/call", params: { name: "stubborn" } });
      yield* until(program.says(/stubborn has begun/));
      end(program);
      assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
      assert.match(program.stderr, /stubborn has cleaned up/);
    });
  }

  onPosix("exits with 0 when its stdout is closed", function* () {
    const program = yield* begin();
    program.child.stdout.destroy();
    program.send({ id: 1, method: "tools/call", params: { name: "stubborn" } });
    yield* until(program.says(/stubborn has begun/));
    program.send({ id: 2, method: "ping" });
    program.send({ id: 3, method: "ping" });
    program.child.stdin.end();
    assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
    assert.match(program.stderr, /stubborn has cleaned up/);
  });

  it("sends all of a large response to a slow reader", function* () {
    const program = yield* begin();
    const size = 12_000_000;
    program.child.stdout.pause();
    // Together: while this much waits to be read, nothing more is accepted.
    program.send(
      { id: 1, method: "tools/call", params: { name: "large", arguments: { size } } },
      { id: 2, method: "tools/call", params: { name: "slow", arguments: {} } },
    );
    // The second call runs although the first response is not read.
    yield* until(program.says(/slow has begun/));
    program.child.stdin.end();
    program.child.stdout.resume();
    assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
    const answer = program.messages.find(({ id }) => id === 1) as {
      result: { content: { text: string }[] };
    };
    assert.equal(answer.result.content[0]!.text.length, size);
  });

  it("serves nothing if a module cannot be loaded, and says why", function* () {
    const program = yield* useProgram(["stdio", "no-such-module.ts"]);
    assert.deepEqual(yield* until(program.exit), { code: 1, signal: null });
    assert.equal(program.stdout, "");
    assert.equal(
      program.stderr.trim(),
      'Cannot load "no-such-module.ts": there is no such file or folder; check the path',
    );
  });

  onPosix("keeps stdout clean if it is a file instead of a pipe", function* () {
    const [path, ...args] = fromSource();
    const cwd = yield* useFolder();
    const command = `"$0" "$@" stdio '${tools}' > out.txt && cat out.txt`;
    const output = yield* scoped(function* () {
      const child = spawn("sh", ["-c", command, path, ...args], {
        cwd,
        stdio: ["pipe", "pipe", "ignore"],
      });
      let text = "";
      child.stdout.setEncoding("utf8").on("data", (chunk) => text += chunk);
      const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {} };
      const call = { name: "echo", arguments: { text: "hello" } };
      child.stdin.write(
        `${JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params })}\n`,
      );
      child.stdin.write(
        `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call })}\n`,
      );
      child.stdin.end();
      yield* until(new Promise((resolve) => child.once("close", resolve)));
      return text;
    });
    assert.deepEqual(output.trim().split("\n").map((line) => JSON.parse(line).id), [0, 1]);
  });
});
