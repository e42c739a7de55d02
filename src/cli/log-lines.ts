/**
 * Writes the log of a server to stderr. A system call for each line would be a fifth of the cost of
 * a call, so lines are collected and written together.
 *
 * LINES-1  A line is written at most `DELAY` milliseconds after it was logged. Warnings and errors
 *          are written immediately, after the lines before them.
 * LINES-2  No line is lost when the program exits by itself or after a signal.
 */
import { type Operation, resource } from "effection";
import process from "node:process";
import { type Clock, systemClock, type Timer } from "../lib/clock.ts";
import { writeError } from "./terminal/terminal.ts";

/** The longest delay of a line, in milliseconds. A person who reads the log does not notice it. */
const DELAY = 20;
/** The number of characters after which lines are written without waiting. */
const MAX_LENGTH = 32_768;

export interface LogLinesOptions {
  /** Writes one or more lines. Default: to stderr. */
  readonly write?: (lines: string) => void;
  /** Default: the system's clock. */
  readonly clock?: Clock;
}

export class LogLines {
  readonly #write: (lines: string) => void;
  readonly #clock: Clock;
  #lines: string[] = [];
  #length = 0;
  #isHeld = true;
  #timer: Timer | undefined;

  constructor({ write = writeError, clock = systemClock }: LogLinesOptions = {}) {
    this.#write = write;
    this.#clock = clock;
  }

  /** Adds a line. It is written soon, or immediately if it is urgent (LINES-1). */
  add(line: string, isUrgent: boolean): void {
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#isHeld) return;
    if (isUrgent || this.#length > MAX_LENGTH) return this.flush();
    if (this.#timer) return;
    this.#timer = this.#clock.after(DELAY, () => this.flush());
    // The remaining lines are written at exit, so the timer need not keep the program alive.
    this.#timer.matters?.(false);
  }

  /** Writes the lines that were held back so that the address of the server comes first. */
  release(): void {
    this.#isHeld = false;
    this.flush();
  }

  /** Writes all lines now. */
  flush(): void {
    this.#timer?.();
    this.#timer = undefined;
    if (this.#lines.length === 0) return;
    const lines = this.#lines.join("\n");
    this.#lines = [];
    this.#length = 0;
    this.#write(lines);
  }
}

/** Log lines that are written when the scope ends, or when the program exits (LINES-2). */
export function useLogLines(options?: LogLinesOptions): Operation<LogLines> {
  return resource(function* (provide) {
    const lines = new LogLines(options);
    const exit = () => lines.flush();
    process.on("exit", exit);
    try {
      yield* provide(lines);
    } finally {
      process.off("exit", exit);
      lines.release();
    }
  });
}
