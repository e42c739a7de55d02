/** Prints results to stdout, and everything else to stderr. */
import process from "node:process";
import { fstatSync, writeSync } from "node:fs";
import { type Style, styleFor } from "./style.ts";

/** The width to assume for terminals that report 0. */
const COLUMNS = 80;
const ROWS = 24;

export class Terminal {
  #written: Promise<void> = Promise.resolve();
  #listening = false;

  /** The style of stdout. */
  get out(): Style {
    return styleFor(isTerminal(1));
  }

  /** The style of stderr. */
  get err(): Style {
    return styleFor(isTerminal(2));
  }

  /** True if a person can be asked: stdin and stderr are a terminal. */
  get interactive(): boolean {
    return isTerminal(0) && isTerminal(2);
  }

  /** The width of a line. */
  columns(output: "stdout" | "stderr"): number {
    return isTerminal(output === "stdout" ? 1 : 2) ? process[output].columns || COLUMNS : COLUMNS;
  }

  /** Prints a line of the result to stdout. */
  print(text: string): void {
    const { stdout } = process;
    if (!this.#listening) {
      this.#listening = true;
      // A reader such as `head` may close the pipe. That is not an error.
      stdout.on("error", () => {});
    }
    const written = new Promise<void>((resolve) => {
      stdout.write(`${text}\n`, () => resolve());
    });
    this.#written = this.#written.then(() => written);
  }

  /** Prints a line to stderr. */
  note(text: string): void {
    writeError(text);
  }

  /** Writes to stderr without a line break, for text that is updated in place. */
  scribble(text: string): void {
    process.stderr.write(text);
  }

  /** Waits until all output is written. A program that exits earlier loses the rest. */
  async flush(): Promise<void> {
    await this.#written;
  }
}

/** The streams for prompts. They write to stderr, because stdout is for the result. */
export function promptStreams(signal: AbortSignal) {
  const { stdin: input, stderr: output } = process;
  // With a width of 0, the prompts would print one letter per line.
  if (output.columns === 0) output.columns = COLUMNS;
  if (output.rows === 0) output.rows = ROWS;
  return { input, output, signal };
}

/** Writes a line to stderr. `console.error` would be red on a terminal under Bun. */
export function writeError(line: string): void {
  if (!isTerminal(2)) return console.error(line);
  try {
    writeSync(2, `${line}\n`);
  } catch {
    // The pipe is full (EAGAIN). `console.error` waits until it is not.
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

/** Checks cheaply whether there may be a terminal: opening the streams slows down start-up. */
function isCharacterDevice(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice();
  } catch {
    // The file descriptor is closed.
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
