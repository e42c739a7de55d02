/** Reads a request's body, as far as it is welcome. */
import type { Deadlines } from "../runtime/deadlines.ts";

export type BodyOutcome =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "too_large" }
  | { readonly type: "too_slow" }
  | { readonly type: "broken" };

const TOO_LARGE: BodyOutcome = { type: "too_large" };
const TOO_SLOW: BodyOutcome = { type: "too_slow" };
const BROKEN: BodyOutcome = { type: "broken" };

export function readBody(
  request: Request,
  limit: number,
  time: number,
  deadlines: Deadlines,
): Promise<BodyOutcome> {
  const length = request.headers.get("content-length");
  if (length !== null && !(Number(length) <= limit)) return Promise.resolve(TOO_LARGE);
  // Every request comes through here, so it is one promise rather than a race of several.
  return new Promise((resolve) => {
    const counting = length === null && request.body
      ? new Counting(request.body, limit)
      : undefined;
    const deadline = deadlines.add(time, () => {
      counting?.cancel();
      resolve(TOO_SLOW);
    });
    const settle = (outcome: BodyOutcome) => {
      deadline.cancel();
      resolve(outcome);
    };
    const broke = () => settle(BROKEN);
    if (counting) counting.read().then(settle, broke);
    // With a length that the host has checked, reading all at once is twice as fast.
    else request.text().then((text) => settle(whole(text, limit)), broke);
  });
}

/** Whoever made the request may have given a length that is not true. */
function whole(text: string, limit: number): BodyOutcome {
  return text.length > limit ? TOO_LARGE : { type: "text", text };
}

/** A body of unknown length, which is read only as far as it is welcome. */
class Counting {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #limit: number;

  constructor(body: ReadableStream<Uint8Array>, limit: number) {
    this.#reader = body.getReader();
    this.#limit = limit;
  }

  async read(): Promise<BodyOutcome> {
    const decoder = new TextDecoder();
    let bytes = 0;
    let text = "";
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return { type: "text", text: text + decoder.decode() };
      bytes += value.byteLength;
      if (bytes > this.#limit) {
        this.cancel();
        return TOO_LARGE;
      }
      text += decoder.decode(value, { stream: true });
    }
  }

  /** Nobody waits for the rest to be thrown away. */
  cancel(): void {
    this.#reader.cancel().catch(() => {});
  }
}
