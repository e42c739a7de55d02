/**
 * Serves MCP over stdio: one JSON message per line, in both directions.
 *
 * Only one write runs at a time. Messages that arrive during a write are sent with the next one.
 * When the program ends, it first completes the writes, so no message is cut off.
 */
import { PARSE_ERROR } from "../../model/rpc-codes.ts";
import type { Stdio } from "../types.ts";
import type { Connection } from "./connection.ts";

export interface StdioOptions {
  /** Maximum length of a line, in bytes. */
  readonly limit: number;
  /** Stops serving when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Serves one client until its input ends, its output breaks, or `signal` is aborted. When the
 * promise resolves, everything that the client started has ended.
 */
export async function serveStdio(
  connect: (wake: () => void) => Connection,
  { input, write }: Stdio,
  { limit, signal }: StdioOptions,
): Promise<void> {
  const reader = input.getReader();
  const stopped = Promise.withResolvers<void>();
  const stop = () => {
    stopped.resolve();
    reader.cancel().catch(() => {});
  };
  const writer = new Writer(write, stop);
  const connection = connect(() => writer.flush(connection));
  const cutter = new LineCutter(limit);
  /** Resolves when a line can be handled. Undefined if it can be handled now. */
  const before = (line: Line) => {
    const coming = "text" in line ? connection.before(line.text) : undefined;
    return coming && Promise.race([coming, stopped.promise]);
  };
  const take = (line: Line) => {
    if ("tooLong" in line) {
      const problem = `Cannot read the line: it is longer than ${limit} bytes; send a shorter one`;
      connection.refuse(PARSE_ERROR, problem);
    } else if (line.text.trim() !== "" && !signal?.aborted) connection.receive(line.text);
  };
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || signal?.aborted) break;
      for (const line of cutter.cut(value)) {
        const coming = before(line);
        if (coming) await coming;
        take(line);
      }
      // Backpressure: read no more input while the client does not read its output.
      while (connection.crowded && writer.writing) await writer.writing;
      if (connection.abandoned) break;
    }
    for (const line of cutter.end()) {
      await before(line);
      take(line);
    }
  } catch {
    // A broken input is treated as the end of the input.
  } finally {
    signal?.removeEventListener("abort", stop);
    stop();
    await connection.close("the client closed the connection");
    while (writer.writing) await writer.writing;
  }
}

class Writer {
  /** The current write, if any. Never rejects. */
  writing: Promise<void> | undefined;
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #broke: () => void;
  readonly #encoder = new TextEncoder();
  #broken = false;

  constructor(write: (bytes: Uint8Array) => Promise<void>, broke: () => void) {
    this.#write = write;
    this.#broke = broke;
  }

  /** Writes all messages that are ready, and messages that are added during the write. */
  flush(connection: Connection): void {
    if (this.#broken) return;
    // Wait for a microtask, so that messages of the same turn are sent in one write.
    this.writing ??= Promise.resolve().then(() => this.#all(connection));
  }

  async #all(connection: Connection): Promise<void> {
    try {
      for (let text = connection.read(); text; text = connection.read()) {
        await this.#write(this.#encoder.encode(text));
      }
    } catch {
      // The reader has closed the output.
      this.#broken = true;
      this.#broke();
    }
    this.writing = undefined;
  }
}

/** A line, or the length in bytes of a line that is longer than the limit. */
type Line = { readonly text: string } | { readonly tooLong: number };

const NEWLINE = 10;

/** Cuts a stream of bytes into lines. Keeps at most `limit` bytes of a line in memory. */
export class LineCutter {
  readonly #limit: number;
  readonly #decoder = new TextDecoder();
  #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns the lines that a chunk completes. */
  *cut(chunk: Uint8Array): Generator<Line> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end));
      yield this.#line();
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  /** Returns the last line, if the input does not end with a line break. */
  *end(): Generator<Line> {
    if (this.#bytes > 0) yield this.#line();
  }

  #keep(part: Uint8Array): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#limit) this.#parts = [];
    // Copy the part, because the reader may reuse the chunk's memory.
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
