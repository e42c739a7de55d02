/**
 * Runs a program to its end, and prints its output as it comes.
 *
 * Each child leads a process group. The group is killed when the child or this process
 * ends: a server that a test forgot never outlives the run.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";
import { root } from "./files.ts";

const groups = new Set<ChildProcess>();
const signals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
const isWindows = process.platform === "win32";
let guarded = false;

export interface ChildOptions {
  /** Called with each line that the child prints, on stdout or stderr. */
  onLine?(line: string): void;
  /** Where its output goes if `onLine` is set; default: stdout. Ended when the child has ended. */
  output?: Writable;
}

/** Resolves to the exit code; death by signal counts as 1. */
export async function runChild(
  path: string,
  args: readonly string[],
  options: ChildOptions = {},
): Promise<number> {
  guard();
  const { onLine, output } = options;
  const child = spawn(path, args, {
    cwd: root,
    detached: !isWindows,
    stdio: ["ignore", onLine ? "pipe" : "inherit", onLine ? "pipe" : "inherit"],
  });
  groups.add(child);
  for (const source of onLine ? [child.stdout, child.stderr] : []) {
    // Both to one sink: the order of the output is kept, and nothing can follow our last line.
    source?.pipe(output ?? process.stdout, { end: false });
    if (source && onLine) createInterface({ input: source }).on("line", onLine);
  }
  // A forgotten grandchild holds the pipes open: "close" comes only once its group is killed.
  child.once("exit", () => killGroup(child));
  const [code] = await once(child, "close");
  // All output is written before anything is added.
  if (output) await new Promise<void>((resolve) => output.end(resolve));
  return code ?? 1;
}

/** Kills all running children, with everything they have started. */
export function endChildren(): void {
  groups.forEach(killGroup);
}

function guard(): void {
  if (guarded) return;
  guarded = true;
  process.on("exit", endChildren);
  for (const [signal, number] of Object.entries(signals)) {
    process.on(signal, () => process.exit(128 + number));
  }
}

function killGroup(child: ChildProcess): void {
  groups.delete(child);
  if (child.pid === undefined) return;
  try {
    if (isWindows) child.kill();
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group is empty: nothing was left.
  }
}
