/** Reads a request's body, up to a size limit and within a timeout. */
import type { Deadlines } from "../../lib/deadlines.ts";

/** The reason why a body was not read. */
export interface Unread {
  readonly why: "too_large" | "too_slow" | "broken";
}

const TOO_LARGE: Unread = { why: "too_large" };
const TOO_SLOW: Unread = { why: "too_slow" };
const BROKEN: Unread = { why: "broken" };

/** Reads a body as text. Creates few objects, because every POST request runs this function. */
export function readBody(
  request: Request,
  limit: number,
  time: number,
  deadlines: Deadlines,
  length = request.headers.get("content-length"),
): Promise<string | Unread> {
  if (length !== null && !(Number(length) <= limit)) return Promise.resolve(TOO_LARGE);
  if (length === null && request.body) {
    return new Counting(request.body, limit).readWithin(time, deadlines);
  }
  return new Promise((resolve) => {
    const deadline = deadlines.add(time, resolve, TOO_SLOW);
    // The runtime enforces `Content-Length`. So read the whole body in one step, which is faster.
    request.text().then((text) => {
      deadline.cancel();
      // A request that was created in code can have a wrong `Content-Length`.
      resolve(text.length > limit ? TOO_LARGE : text);
    }, () => {
      deadline.cancel();
      resolve(BROKEN);
    });
  });
}

/** Reads a body of unknown length in chunks, and stops at the size limit. */
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

  /** Cancels the rest of the body, without waiting for the cancellation. */
  #cancel(): void {
    this.#reader.cancel().catch(() => {});
  }
}
