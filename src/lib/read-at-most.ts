/** Reads the body of a request or response, if it is not too large. */

/**
 * Returns the bytes of a body. Returns undefined if there are more than `max`; the rest of the body is
 * then not read, and its stream is cancelled.
 */
export async function readAtMost(
  body: ReadableStream<Uint8Array> | null | undefined,
  max: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (size > max) return undefined;
    chunks.push(chunk);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
