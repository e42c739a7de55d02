/** The program in its own process, for as long as a test lasts. */
import { type Operation, resource, until } from "effection";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { root } from "../harness/files.ts";
import { currentRuntime, useRuntime } from "../harness/toolchain.ts";

/** The command that starts the program. */
export type Start = readonly [string, ...string[]];

/** From its source, on the runtime that runs the tests. */
export function fromSource(): Start {
  const name = currentRuntime();
  const main = join(root, "src/main.ts");
  const { path } = useRuntime(name);
  return name === "deno" ? [path, "run", "-A", "--no-check", main] : [path, main];
}

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

export class Program {
  readonly child: ChildProcessWithoutNullStreams;
  stdout = "";
  stderr = "";
  /** Its exit; all of its output is available by then. */
  readonly exit: Promise<Exit>;
  readonly #news = new Set<() => void>();

  constructor(child: ChildProcessWithoutNullStreams) {
    this.child = child;
    const wake = () => this.#news.forEach((look) => look());
    child.stdout.setEncoding("utf8").on("data", (text) => {
      this.stdout += text;
      wake();
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      this.stderr += text;
      wake();
    });
    // It may exit before it has read everything.
    child.stdin.on("error", () => {});
    this.exit = once(child, "close").then(([code, signal]) => {
      wake();
      return { code, signal };
    });
  }

  /** Waits until it has printed something. */
  async says(pattern: RegExp, where: "stdout" | "stderr" = "stderr"): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this[where]);
      if (found) return found;
      if (this.child.exitCode !== null) {
        await this.exit;
        const last = pattern.exec(this[where]);
        if (last) return last;
        throw new Error(`It ended and never said ${pattern}:\n${this.stdout}\n${this.stderr}`);
      }
      await new Promise<void>((resolve) => {
        const look = () => {
          this.#news.delete(look);
          resolve();
        };
        this.#news.add(look);
      });
    }
  }

  /** Not by `child.kill()`: Deno then reports the signal as the cause of any exit. */
  signal(signal: "SIGTERM" | "SIGINT"): void {
    process.kill(this.child.pid!, signal);
  }

  /** Several messages go in one write, so that they arrive together. */
  send(...messages: object[]): void {
    const lines = messages.map((message) => JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.child.stdin.write(`${lines.join("\n")}\n`);
  }

  /** Its stdout, line by line; a line that is not JSON fails the test. */
  get messages(): { [key: string]: unknown }[] {
    return this.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }
}

export interface ProgramOptions {
  readonly start?: Start;
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string | undefined };
}

/** Starts the program, and kills it when the test ends. */
export function useProgram(
  args: readonly string[],
  { start = fromSource(), cwd = root, env = {} }: ProgramOptions = {},
): Operation<Program> {
  return resource(function* (provide) {
    const [path, ...first] = start;
    const child = spawn(path, [...first, ...args], {
      cwd,
      env: { ...process.env, NO_COLOR: "1", ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const program = new Program(child);
    try {
      yield* provide(program);
    } finally {
      child.kill("SIGKILL");
      yield* until(program.exit);
    }
  });
}

/** Runs it to its end, with empty input. */
export function* runProgram(
  args: readonly string[],
  options: ProgramOptions = {},
): Operation<Exit & { readonly stdout: string; readonly stderr: string }> {
  const program = yield* useProgram(args, options);
  program.child.stdin.end();
  const exit = yield* until(program.exit);
  return { ...exit, stdout: program.stdout, stderr: program.stderr };
}
