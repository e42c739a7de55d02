/**
 * Where results and remarks are printed: results to stdout, for whoever reads
 * them, and everything else to stderr, for the person.
 */
import process from "node:process";
import { type Style, styleFor } from "./style.ts";

type Output = "stdout" | "stderr";

export class Terminal {
  #written: Promise<void> = Promise.resolve();
  readonly #used = new Set<Output>();

  // Asked each time: merely to touch these streams takes its time at the start.

  /** How results are coloured. */
  get out(): Style {
    return styleFor(process.stdout);
  }

  /** How remarks are coloured. */
  get err(): Style {
    return styleFor(process.stderr);
  }

  /** True if there is somebody to ask. */
  get interactive(): boolean {
    return process.stdin.isTTY === true && process.stderr.isTTY === true;
  }

  /** How wide a line may be. */
  columns(output: Output): number {
    return process[output].columns || 80;
  }

  /** A result. */
  print(text: string): void {
    this.write("stdout", `${text}\n`);
  }

  /** A remark. */
  note(text: string): void {
    this.write("stderr", `${text}\n`);
  }

  write(output: Output, text: string): void {
    const stream = process[output];
    if (!this.#used.has(output)) {
      this.#used.add(output);
      // Whoever stopped reading wants no more; that is no failure of ours.
      stream.on("error", () => {});
    }
    const written = new Promise<void>((resolve) => {
      stream.write(text, () => resolve());
    });
    this.#written = this.#written.then(() => written);
  }

  /** Waits until all of it has been taken: a program that exits before that cuts it off. */
  async flush(): Promise<void> {
    await this.#written;
  }
}
