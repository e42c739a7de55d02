/** Functions for JSON values: type checks, parsing, and checks before serialisation. */

/** Returns true for a JSON object, but not for null or an array. */
export function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses JSON. Returns undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The greatest depth at which walking a value cannot exhaust the stack. */
const MAX_DEPTH = 500;

/**
 * Throws if a value cannot be written as JSON: it contains a BigInt or a cycle, or nests too deep.
 */
export function checkJson(value: unknown, within: object[] = []): void {
  if (typeof value === "bigint") {
    throw new TypeError(
      "Cannot send a BigInt: JSON has no such type; convert it to a number or a string",
    );
  }
  if (typeof value !== "object" || value === null) return;
  if (within.includes(value)) {
    throw new TypeError(
      "Cannot send the value: it contains a circular reference; remove the reference",
    );
  }
  if (within.length >= MAX_DEPTH) {
    throw new TypeError(
      `Cannot send the value: it nests deeper than ${MAX_DEPTH} levels; flatten it`,
    );
  }
  within.push(value);
  for (const part of Object.values(value)) checkJson(part, within);
  within.pop();
}
