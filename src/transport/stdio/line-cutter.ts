/** Cuts a stream of bytes into lines, and never holds more of one than it may be long. */

/** What was found: a line, or that one was too long to be kept. */
export type Line = { readonly text: string } | { readonly tooLong: number };

const NEWLINE = 10;

export class LineCutter {
  readonly #limit: number;
  readonly #decoder = new TextDecoder();
  #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The lines that a chunk completes. */
  *cut(chunk: Uint8Array): Generator<Line> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end));
      yield this.#line();
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  /** What is left when no more comes; nothing if that is empty. */
  *end(): Generator<Line> {
    if (this.#bytes > 0) yield this.#line();
  }

  #keep(part: Uint8Array): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#limit) this.#parts = [];
    // Copied, because whoever reads may use the same memory for the next chunk.
    else if (part.length > 0) this.#parts.push(part.slice());
  }

  #line(): Line {
    const bytes = this.#bytes;
    const parts = this.#parts;
    this.#parts = [];
    this.#bytes = 0;
    if (bytes > this.#limit) return { tooLong: bytes };
    let text = "";
    for (const part of parts) text += this.#decoder.decode(part, { stream: true });
    return { text: text + this.#decoder.decode() };
  }
}
