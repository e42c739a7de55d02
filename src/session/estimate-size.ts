/**
 * Estimates how many bytes a value takes, in memory or as JSON in a store. Text counts as UTF-8:
 * in memory, a character takes no more than that.
 */
import { Buffer } from "node:buffer";

/**
 * Shorter texts count one byte for each UTF-16 code unit, because most texts are short and ASCII.
 * With its overhead, such a text takes at most 2.2 times as much.
 */
const SHORT = 32;

/** The bytes of a text in UTF-8; exact unless it is short. */
export function bytesOf(text: string): number {
  return text.length < SHORT ? text.length : Buffer.byteLength(text);
}

export function estimateSize(value: unknown): number {
  switch (typeof value) {
    case "string":
      return 24 + bytesOf(value);
    case "object": {
      if (value === null) return 8;
      let bytes = 32;
      if (Array.isArray(value)) { for (const item of value) bytes += estimateSize(item); }
      else {
        for (const key in value) {
          const item = (value as Record<string, unknown>)[key];
          bytes += 16 + bytesOf(key) +
            (key === "requestedSchema" ? weighForm(item) : estimateSize(item));
        }
      }
      return bytes;
    }
    default:
      return 8;
  }
}

const forms = new WeakMap<object, number>();

/** A form is sent many times, and its size never changes. */
function weighForm(schema: unknown): number {
  if (typeof schema !== "object" || schema === null) return estimateSize(schema);
  let bytes = forms.get(schema);
  if (bytes === undefined) forms.set(schema, bytes = estimateSize(schema));
  return bytes;
}
