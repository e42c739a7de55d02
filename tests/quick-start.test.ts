/** Follows the README's commands, line by line, as somebody would who types them in. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { chmodSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { readText, root } from "./harness/files.ts";
import { currentRuntime, useRuntime } from "./harness/toolchain.ts";
import { describe, it } from "./suite.ts";
import { builtExecutable } from "./support/built.ts";
import { useFolder } from "./support/folder.ts";
import { fromSource, type ProgramOptions, runProgram, useProgram } from "./support/program.ts";
import { exitCode, hasTerminal, KEYS, useTerminal } from "./support/pty.ts";

const blocks = Array.from(
  readText("README.md").matchAll(/^```sh\n(.+?)^```/gms),
  ([, text = ""]) =>
    text.trim().split("\n").map((line) => line.replace(/\s*#.*/, "")).filter(Boolean),
);
const onPosix = it.when(process.platform !== "win32");

/** The command as it stands, in a shell. */
const shell = (line: string) => ({ start: ["sh", "-c", line] as const });

describe("the README's quick start", () => {
  it("has the commands of a clone, and those of the program", () => {
    assert.equal(blocks.length, 2);
    assert.deepEqual(blocks[0], ["npx -y deno task start", "npx -y deno task test"]);
  });

  onPosix("starts a server from a clone", function* () {
    // The same Deno without the detour through npx, which would fetch it first.
    const line = blocks[0]![0]!.replace("npx -y deno", `'${useRuntime("deno").path}'`);
    const program = yield* useProgram([], { ...shell(`exec ${line}`), env: { PORT: "0" } });
    const [address] = yield* until(program.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
    assert.equal((yield* until(fetch(new URL("/healthz", address)))).status, 200);
    program.signal("SIGINT");
    yield* until(program.exit);
  });

  onPosix("goes on with the program, in the order that it is written", function* () {
    const folder = yield* useFolder();
    // What the README calls `parley` is the compiled file; on Deno, its source does the same.
    const start = currentRuntime() === "bun" ? builtExecutable() : fromSource();
    const command = join(folder, "parley");
    writeFileSync(command, `#!/bin/sh\nexec ${start.map((word) => `'${word}'`).join(" ")} "$@"\n`);
    chmodSync(command, 0o755);
    const env = {
      PATH: `${folder}${delimiter}${process.env.PATH}`,
      HOME: folder,
      XDG_CONFIG_HOME: undefined,
      PORT: "0",
      // Kept, so that nothing is fetched anew for another home.
      DENO_DIR: process.env.DENO_DIR ?? join(process.env.HOME ?? root, ".cache/deno"),
    };
    for (const line of blocks[1]!) yield* follow(line, { cwd: folder, env });
    assert.ok(existsSync(join(folder, "my-tools/tools/greet.ts")));
    const files = readdirSync(folder, { recursive: true }).map(String);
    assert.ok(files.some((file) => file.endsWith("claude_desktop_config.json")), files.join("\n"));
  }, { within: 60_000 });
});

function* follow(line: string, options: ProgramOptions): Operation<void> {
  if (line.startsWith("parley call")) {
    if (!hasTerminal) throw new Error(`Cannot follow "${line}": there is no pseudo-terminal`);
    const terminal = yield* useTerminal([], { ...options, ...shell(line) });
    // Whoever it asks, the person is the one who answers, and may have enough.
    yield* until(terminal.shows(/The tool asks/));
    yield* until(terminal.shows(/◆/));
    terminal.type(KEYS.interrupt);
    const next = yield* until(terminal.shows(/Leave the question\?|Stopped\./));
    if (next !== "Stopped.") terminal.type(KEYS.interrupt);
    assert.equal(yield* exitCode(terminal), 130, terminal.shown);
  } else if (line.startsWith("parley serve")) {
    const program = yield* useProgram([], { ...options, ...shell(`exec ${line}`) });
    yield* until(program.says(/greet/));
    program.signal("SIGINT");
    assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
  } else {
    const { code, stdout, stderr } = yield* runProgram([], { ...options, ...shell(line) });
    assert.equal(code, 0, `${line}\n${stdout}${stderr}`);
  }
}
