/** Reads a request's body, as far as it is welcome. */
import type { Deadlines } from "../../lib/deadlines.ts";

/** Why a body was not read. */
export interface Unread {
  readonly why: "too_large" | "too_slow" | "broken";
}

const TOO_LARGE: Unread = { why: "too_large" };
const TOO_SLOW: Unread = { why: "too_slow" };
const BROKEN: Unread = { why: "broken" };

/** The text of a body. Every request comes through here, so it is one promise and little else. */
export function readBody(
  request: Request,
  limit: number,
  time: number,
  deadlines: Deadlines,
): Promise<string | Unread> {
  const length = request.headers.get("content-length");
  if (length !== null && !(Number(length) <= limit)) return Promise.resolve(TOO_LARGE);
  if (length === null && request.body) {
    return new Counting(request.body, limit).readWithin(time, deadlines);
  }
  return new Promise((resolve) => {
    const deadline = deadlines.add(time, resolve, TOO_SLOW);
    // With a length that the host has checked, reading all at once is twice as fast.
    request.text().then((text) => {
      deadline.cancel();
      // Whoever made the request may have given a length that is not true.
      resolve(text.length > limit ? TOO_LARGE : text);
    }, () => {
      deadline.cancel();
      resolve(BROKEN);
    });
  });
}

/** A body of unknown length, which is read only as far as it is welcome. */
class Counting {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #limit: number;

  constructor(body: ReadableStream<Uint8Array>, limit: number) {
    this.#reader = body.getReader();
    this.#limit = limit;
  }

  async readWithin(time: number, deadlines: Deadlines): Promise<string | Unread> {
    const late = Promise.withResolvers<Unread>();
    const deadline = deadlines.add(time, () => {
      this.#cancel();
      late.resolve(TOO_SLOW);
    });
    try {
      return await Promise.race([this.#read(), late.promise]);
    } catch {
      return BROKEN;
    } finally {
      deadline.cancel();
    }
  }

  async #read(): Promise<string | Unread> {
    const decoder = new TextDecoder();
    let bytes = 0;
    let text = "";
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return text + decoder.decode();
      bytes += value.byteLength;
      if (bytes > this.#limit) {
        this.#cancel();
        return TOO_LARGE;
      }
      text += decoder.decode(value, { stream: true });
    }
  }

  /** Nobody waits for the rest to be thrown away. */
  #cancel(): void {
    this.#reader.cancel().catch(() => {});
  }
}
