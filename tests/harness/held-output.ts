/**
 * Keeps a program's output in a file until it may be printed, and then prints it as it comes: the
 * lines of two concurrent programs are not mixed, and no output is kept in memory.
 */
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import process from "node:process";
import { Writable } from "node:stream";

export class HeldOutput extends Writable {
  readonly #file: number;
  readonly #sink: Writable;
  #size = 0;
  #shown = false;

  constructor(path: string, sink: Writable = process.stdout) {
    super();
    this.#file = openSync(path, "w+");
    this.#sink = sink;
  }

  /** Prints what there is so far; resolves when all of it is written. */
  async show(): Promise<void> {
    const chunk = new Uint8Array(1 << 16);
    // The program may continue meanwhile, and the file may grow.
    for (let at = 0; at < this.#size;) {
      const length = readSync(this.#file, chunk, 0, chunk.length, at);
      at += length;
      await new Promise((resolve) => this.#sink.write(chunk.subarray(0, length), resolve));
    }
    this.#shown = true;
    closeSync(this.#file);
  }

  override _write(chunk: Uint8Array, _encoding: string, done: (error?: Error | null) => void) {
    if (this.#shown) {
      this.#sink.write(chunk, done);
      return;
    }
    for (let at = 0; at < chunk.length;) at += writeSync(this.#file, chunk, at);
    this.#size += chunk.length;
    done();
  }
}
