/** Waits until nothing is at work any more, but not for ever. */
import type { Deadlines } from "../lib/deadlines.ts";

export class Quiet {
  readonly #deadlines: Deadlines;
  readonly #atWork: () => boolean;
  #look: (() => void) | undefined;

  constructor(deadlines: Deadlines, atWork: () => boolean) {
    this.#deadlines = deadlines;
    this.#atWork = atWork;
  }

  /** There may be nothing at work any more. */
  look(): void {
    this.#look?.();
  }

  /** Resolves once nothing is at work, or when that time has passed. */
  async within(ms: number): Promise<void> {
    if (!this.#atWork()) return;
    await new Promise<void>((resolve) => {
      const deadline = this.#deadlines.add(ms, resolve);
      this.#look = () => {
        if (this.#atWork()) return;
        deadline.cancel();
        resolve();
      };
    });
    this.#look = undefined;
  }
}
