/**
 * Size limits for values that clients send about themselves. The server keeps these values in memory
 * as long as the client's calls.
 */
import { Buffer } from "node:buffer";

/** Maximum length of a client's name and of its version, in characters. */
export const MAX_NAME_LENGTH = 200;
/** Maximum length of a cancellation reason, in characters. */
export const MAX_REASON_LENGTH = 500;
/** Maximum size of declared capabilities, in approximate bytes. */
export const MAX_CAPABILITIES_SIZE = 16_384;
/** Maximum length of a request id or a progress token, in characters. */
export const MAX_ID_LENGTH = 1_024;
/** Maximum length of a trace header, in characters. W3C Baggage sets this limit. */
export const MAX_TRACE_LENGTH = 8_192;

/**
 * Returns the first `length` characters of a text, as a copy. A slice would keep the whole text in
 * memory.
 */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : Buffer.from(text.slice(0, length)).toString();
}

/**
 * Returns how many of `limit` bytes remain after a value, approximately. Stops reading at the
 * limit, and returns a negative number in that case.
 */
export function bytesLeft(value: unknown, limit: number): number {
  if (typeof value === "string") return limit - value.length - 24;
  if (typeof value !== "object" || value === null) return limit - 8;
  let left = limit - 32;
  if (Array.isArray(value)) {
    for (const item of value) if ((left = bytesLeft(item, left)) < 0) break;
  } else {
    for (const key in value) {
      left = bytesLeft((value as Record<string, unknown>)[key], left) - key.length - 16;
      if (left < 0) break;
    }
  }
  return left;
}
