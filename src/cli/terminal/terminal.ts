/**
 * Where results and remarks are printed: results to stdout, for whoever reads
 * them, and everything else to stderr, for the person.
 */
import process from "node:process";
import { fstatSync, writeSync } from "node:fs";
import { type Style, styleFor } from "./style.ts";

/** The size of a terminal that does not know its own: some report 0. */
const COLUMNS = 80;
const ROWS = 24;

export class Terminal {
  #written: Promise<void> = Promise.resolve();
  #listening = false;

  /** How results are coloured. */
  get out(): Style {
    return styleFor(isTerminal(1));
  }

  /** How remarks are coloured. */
  get err(): Style {
    return styleFor(isTerminal(2));
  }

  /** True if there is somebody to ask. */
  get interactive(): boolean {
    return isTerminal(0) && isTerminal(2);
  }

  /** How wide a line may be. */
  columns(output: "stdout" | "stderr"): number {
    return isTerminal(output === "stdout" ? 1 : 2) ? process[output].columns || COLUMNS : COLUMNS;
  }

  /** A result. */
  print(text: string): void {
    const { stdout } = process;
    if (!this.#listening) {
      this.#listening = true;
      // Whoever stopped reading wants no more; that is no failure of ours.
      stdout.on("error", () => {});
    }
    const written = new Promise<void>((resolve) => {
      stdout.write(`${text}\n`, () => resolve());
    });
    this.#written = this.#written.then(() => written);
  }

  /** A remark. */
  note(text: string): void {
    writeError(text);
  }

  /** A remark that is still being written: it has no end, or begins where the last one began. */
  scribble(text: string): void {
    process.stderr.write(text);
  }

  /** Waits until all of it has been taken: a program that exits before that cuts it off. */
  async flush(): Promise<void> {
    await this.#written;
  }
}

/** Where the person is asked: on stderr, because stdout is for the result. */
export function promptStreams(signal: AbortSignal) {
  const { stdin: input, stderr: output } = process;
  // The prompts believe what the stream says, and would put one letter on each line.
  if (output.columns === 0) output.columns = COLUMNS;
  if (output.rows === 0) output.rows = ROWS;
  return { input, output, signal };
}

/** A line on stderr. Not by `console.error`: on a terminal, Bun paints all of that red. */
export function writeError(line: string): void {
  if (!isTerminal(2)) return console.error(line);
  try {
    writeSync(2, `${line}\n`);
  } catch {
    // It takes no more right now; this way waits for it.
    console.error(line);
  }
}

const STREAMS = { 0: "stdin", 1: "stdout", 2: "stderr" } as const;
const found = new Map<number, boolean>();

export function isTerminal(fd: 0 | 1 | 2): boolean {
  const known = found.get(fd);
  if (known !== undefined) return known;
  const is = isCharacterDevice(fd) && process[STREAMS[fd]].isTTY === true;
  found.set(fd, is);
  return is;
}

/** To touch the streams takes its time at the start, so only where there may be a terminal. */
function isCharacterDevice(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice();
  } catch {
    // It is closed.
    return false;
  }
}

export function wrapped(text: string, columns: number, indent = ""): string[] {
  const room = Math.max(20, columns - indent.length);
  return text.trim().split("\n").flatMap((paragraph) => {
    const lines: string[] = [];
    let line = "";
    for (const word of paragraph.split(/\s+/)) {
      if (line && line.length + 1 + word.length > room) {
        lines.push(line);
        line = word;
      } else line = line ? `${line} ${word}` : word;
    }
    return [...lines, line].map((one) => `${indent}${one}`.trimEnd());
  });
}
