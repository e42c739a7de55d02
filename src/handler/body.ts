/** Reads a request's body, as far as it is welcome. */
import type { Deadlines } from "../runtime/deadlines.ts";

export type BodyOutcome =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "too_large" }
  | { readonly type: "too_slow" }
  | { readonly type: "broken" };

const TOO_SLOW: BodyOutcome = { type: "too_slow" };

export async function readBody(
  request: Request,
  limit: number,
  time: number,
  deadlines: Deadlines,
): Promise<BodyOutcome> {
  const length = request.headers.get("content-length");
  if (length !== null && !(Number(length) <= limit)) return { type: "too_large" };
  let late!: (outcome: BodyOutcome) => void;
  const timedOut = new Promise<BodyOutcome>((resolve) => late = resolve);
  const deadline = deadlines.add(time, () => late(TOO_SLOW));
  try {
    // With a length that the host has checked, reading all at once is twice as fast.
    if (length !== null) {
      return await Promise.race([
        // Whoever made the request may have given a length that is not true.
        request.text().then((text): BodyOutcome =>
          text.length > limit ? { type: "too_large" } : { type: "text", text }
        ),
        timedOut,
      ]);
    }
    return await counted(request, limit, timedOut);
  } catch {
    return { type: "broken" };
  } finally {
    deadline.cancel();
  }
}

async function counted(
  request: Request,
  limit: number,
  timedOut: Promise<BodyOutcome>,
): Promise<BodyOutcome> {
  if (!request.body) return { type: "text", text: "" };
  const reader = request.body.getReader();
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  for (;;) {
    const next = await Promise.race([reader.read(), timedOut]);
    if ("type" in next) {
      cancel(reader);
      return next;
    }
    if (next.done) return { type: "text", text: text + decoder.decode() };
    bytes += next.value.byteLength;
    if (bytes > limit) {
      cancel(reader);
      return { type: "too_large" };
    }
    text += decoder.decode(next.value, { stream: true });
  }
}

/** Nobody waits for the rest to be thrown away. */
function cancel(reader: ReadableStreamDefaultReader<Uint8Array>): void {
  reader.cancel().catch(() => {});
}
