/** How long what a caller says of itself may be. It is kept for as long as its calls are. */
import { Buffer } from "node:buffer";

/** Characters of what a client calls itself, and of its version. */
export const LONGEST_NAME = 200;
/** Characters of the reason for a cancellation. */
export const LONGEST_REASON = 500;
/** Bytes of capabilities, roughly. */
export const LONGEST_CAPABILITIES = 16_384;
/** Characters of an id or a progress token. */
export const LONGEST_ID = 1_024;
/** Characters of one part of a trace; the standard's limit for baggage. */
export const LONGEST_TRACE = 8_192;

/** At most so many characters of a text. A copy: a slice would keep the whole text in memory. */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : Buffer.from(text.slice(0, length)).toString();
}

/** Whether a value takes more bytes than that, roughly. Looks at no more of it than it must. */
export function isLargerThan(value: unknown, limit: number): boolean {
  return remaining(value, limit) < 0;
}

function remaining(value: unknown, limit: number): number {
  if (typeof value === "string") return limit - value.length - 24;
  if (typeof value !== "object" || value === null) return limit - 8;
  let left = limit - 32;
  if (Array.isArray(value)) {
    for (const item of value) if ((left = remaining(item, left)) < 0) break;
  } else {
    for (const key in value) {
      left = remaining((value as Record<string, unknown>)[key], left) - key.length - 16;
      if (left < 0) break;
    }
  }
  return left;
}
