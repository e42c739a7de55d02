/**
 * Estimates how many bytes a value takes, in memory or as JSON in a store. Text is measured in
 * UTF-8. In memory it takes at most as many bytes.
 */
import { Buffer } from "node:buffer";

/**
 * Texts shorter than this are counted as one byte for each UTF-16 code unit, because most of them
 * are ASCII. The real size of such a text, with overhead, is at most 2.2 times the estimate.
 */
const SHORT = 32;

/** Returns the number of bytes of a text in UTF-8. The number is exact, except for short texts. */
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

/** Returns the size of a form. The size is cached, because the same form is sent many times. */
function weighForm(schema: unknown): number {
  if (typeof schema !== "object" || schema === null) return estimateSize(schema);
  let bytes = forms.get(schema);
  if (bytes === undefined) forms.set(schema, bytes = estimateSize(schema));
  return bytes;
}
