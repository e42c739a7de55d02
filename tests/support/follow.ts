/**
 * Runs the commands of a page, one after the other, as a reader would.
 *
 *  - `cd` and `export` apply to the commands that follow.
 *  - A server runs until the next one is started, or until the page ends. Commands that use
 *    the address in the page reach the server wherever it listens.
 *  - A command that needs the store of the server for itself stops the server.
 *  - A tool that asks in the terminal is stopped at its first question.
 *  - Every other command must exit with 0.
 */
import assert from "node:assert/strict";
import { ensure, type Operation, until } from "effection";
import process from "node:process";
import { exitCode, hasTerminal, KEYS, useTerminal } from "./pty.ts";
import { type Program, type ProgramOptions, runProgram, useProgram } from "./program.ts";

export interface Way extends ProgramOptions {
  /** What is typed instead of a line that would download or build too much. */
  readonly instead?: (line: string) => string | undefined;
  /** Called for every line that was run. */
  readonly told?: (line: string) => void;
}

const SERVES = /^(?:\w+=.+ )?parley serve\b|^npx -y deno task start\b/;
const NEEDS_STORE = /^parley store erase\b/;
const USUAL_ADDRESS = "http://127.0.0.1:7411";

export function* followCommands(lines: readonly string[], way: Way): Operation<void> {
  let before = "";
  let server: { program: Program; address: string } | undefined;
  for (const line of lines) {
    if (/^(?:cd|export) /.test(line)) {
      before += `${line} && `;
      continue;
    }
    const typed = way.instead?.(line) ?? line;
    if (server && (SERVES.test(line) || NEEDS_STORE.test(line))) {
      yield* stopped(server.program);
      server = undefined;
    }
    if (SERVES.test(line)) server = yield* started(before, typed, way);
    else if (/^parley call /.test(line)) yield* asked(before + typed, way);
    else {
      const said = server ? typed.replaceAll(USUAL_ADDRESS, server.address) : typed;
      const { code, stdout, stderr } = yield* runProgram([], { ...way, ...shell(before + said) });
      assert.equal(code, 0, `${line}\n${stdout}${stderr}`);
    }
    way.told?.(line);
  }
  if (server) yield* stopped(server.program);
}

/** The command as it stands, in a shell. */
export function shell(line: string) {
  return { start: ["sh", "-c", line] as const };
}

function* started(before: string, line: string, way: Way) {
  // A signal must reach the server, so no shell may stay in between: exec, which sets no variables.
  const set = /^\w+=.*?(?= parley )/.exec(line)?.[0] ?? "";
  const exported = set && `export ${set}; `;
  const command = `${before}${exported}exec ${line.slice(set.length).trim()}`;
  const program = yield* useProgram([], { ...way, start: ["setsid", "sh", "-c", command] });
  yield* ensure(() => toAll(program, "SIGKILL"));
  const [, address] = yield* until(program.says(/(http:\/\/127\.0\.0\.1:\d+)\/mcp/));
  return { program, address: address! };
}

/** As Ctrl-C in a terminal does: programs in between, such as npx, get it as well. */
function* stopped(program: Program): Operation<void> {
  toAll(program, "SIGINT");
  yield* until(program.says(/\bstopped$/m));
  yield* until(program.exit);
}

function toAll({ child }: Program, signal: "SIGINT" | "SIGKILL"): void {
  try {
    process.kill(-child.pid!, signal);
  } catch {
    // All of them have ended.
  }
}

function* asked(line: string, way: Way): Operation<void> {
  if (!hasTerminal) {
    throw new Error(`Cannot follow "${line}": there is no pseudo-terminal; install bsdutils`);
  }
  const terminal = yield* useTerminal([], { ...way, ...shell(line) });
  // Whatever it asks, the person may stop here.
  yield* until(terminal.shows(/The tool asks/));
  yield* until(terminal.shows(/◆/));
  terminal.type(KEYS.interrupt);
  const next = yield* until(terminal.shows(/Leave the question\?|Stopped\./));
  if (next !== "Stopped.") terminal.type(KEYS.interrupt);
  assert.equal(yield* exitCode(terminal), 130, terminal.shown);
}
