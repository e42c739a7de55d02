/** Shows a call's progress: a bar on a terminal, lines elsewhere. */
import process from "node:process";
import type { Progress } from "../../client/person.ts";
import { isTerminal, type Terminal } from "./terminal.ts";
import { visible, visibleNote } from "./visible.ts";

const WIDTH = 24;
const CLEAR = "\r\x1b[K";

export class ProgressBar {
  readonly #terminal: Terminal;
  readonly #live = isTerminal(2) && process.env.TERM !== "dumb";
  #last: Progress | undefined;
  #shown = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show(progress: Progress): void {
    this.#last = progress;
    if (this.#live) this.#draw(progress);
    else this.#terminal.note(lineFor(progress));
  }

  /** Removes the bar, so that something else can be printed. */
  clear(): void {
    if (this.#shown) this.#terminal.scribble(CLEAR);
    this.#shown = false;
  }

  /** Shows the bar again. */
  restore(): void {
    if (this.#live && this.#last) this.#draw(this.#last);
  }

  /** Removes the bar for good. */
  end(): void {
    this.clear();
    this.#last = undefined;
  }

  #draw(progress: Progress): void {
    const { cyan, dim } = this.#terminal.err;
    const room = this.#terminal.columns("stderr") - WIDTH - 8;
    const message = visible(progress.message ?? "").split("\n", 1)[0]!.slice(0, Math.max(0, room));
    const line = `${cyan(barFor(progress))} ${dim(percentOf(progress))} ${message}`;
    this.#terminal.scribble(`${CLEAR}${line}`);
    this.#shown = true;
  }
}

function shareOf({ progress, total }: Progress): number | undefined {
  if (total === undefined || !(total > 0)) return undefined;
  return Math.min(1, Math.max(0, progress / total));
}

function barFor(progress: Progress): string {
  const share = shareOf(progress);
  // Without a total, the bar can only show that the call makes progress.
  if (share === undefined) {
    const at = Math.floor(progress.progress) % WIDTH;
    return `${"─".repeat(at)}━${"─".repeat(WIDTH - at - 1)}`;
  }
  const full = Math.round(share * WIDTH);
  return "━".repeat(full) + "─".repeat(WIDTH - full);
}

function percentOf(progress: Progress): string {
  const share = shareOf(progress);
  return share === undefined ? "    " : `${Math.round(share * 100)}%`.padStart(4);
}

function lineFor(progress: Progress): string {
  const share = shareOf(progress);
  const message = visibleNote(progress.message ?? "");
  return share === undefined ? message : `${percentOf(progress).trim()} ${message}`.trim();
}
