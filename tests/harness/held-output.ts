/**
 * What a program prints, kept in a file until it is its turn to be shown, and shown as it
 * comes from then on: of two programs at once, no lines are mixed, and none is kept in memory.
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

  /** Shows what there is so far; resolves when all of that is out. */
  async show(): Promise<void> {
    const chunk = new Uint8Array(1 << 16);
    // The program may go on meanwhile, and the file grow.
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
