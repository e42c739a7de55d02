/**
 * The program in a real pseudo-terminal, 80 columns wide and 40 rows high by default. `script` creates it; it is
 * part of every Linux (util-linux), and of Debian's essential packages (bsdutils).
 */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { type Operation, until } from "effection";
import { fromSource, type Program, type ProgramOptions, useProgram } from "./program.ts";

/** Whether a pseudo-terminal is available here. */
export const hasTerminal: boolean = process.platform === "linux" &&
  spawnSync("script", ["--version"], { stdio: "ignore" }).status === 0;

/** Why no pseudo-terminal is available, for `it.unless`. */
export const terminalAbsence: string | undefined = hasTerminal
  ? undefined
  : 'no pseudo-terminal: install util-linux, which has "script"';

export const KEYS = {
  enter: "\r",
  up: "\x1b[A",
  down: "\x1b[B",
  escape: "\x1b",
  interrupt: "\x03",
};

export class Terminal {
  readonly program: Program;
  #read = 0;

  constructor(program: Program) {
    this.program = program;
  }

  /** Everything that was ever shown, without colours and cursor movements. */
  get shown(): string {
    // deno-lint-ignore no-control-regex
    return this.program.stdout.replaceAll(/\x1b\[[0-9;?]*[a-zA-Z]/g, "");
  }

  /** Waits until it shows something that was not matched before. */
  async shows(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.shown.slice(this.#read));
      if (found) {
        this.#read += found.index + found[0].length;
        return found[0];
      }
      try {
        const before = this.program.stdout.length;
        await this.program.says(new RegExp(`^[^]{${before + 1},}`), "stdout");
      } catch {
        throw new Error(`It ended and never showed ${pattern}:\n${this.shown}`);
      }
    }
  }

  type(text: string): void {
    this.program.child.stdin.write(text);
  }
}

export function* useTerminal(
  args: readonly string[],
  { start = fromSource(), columns = 80, rows = 40, ...options }: ProgramOptions & {
    columns?: number;
    rows?: number;
  } = {},
): Operation<Terminal> {
  const command = [...start, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  const program = yield* useProgram(
    ["-qefc", `stty rows ${rows} cols ${columns}; exec ${command}`, "/dev/null"],
    {
      ...options,
      start: ["script"],
      env: { TERM: "xterm-256color", NO_COLOR: undefined, ...options.env },
    },
  );
  return new Terminal(program);
}

export function* exitCode({ program }: Terminal): Operation<number | null> {
  return (yield* until(program.exit)).code;
}
