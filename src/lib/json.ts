/** JSON values: what is an object, and what can be serialised. */

/** True for a JSON object: not null, and not an array. */
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

/** Throws for values that have no JSON: a BigInt, a cycle, or nesting that is too deep. */
export function checkJson(value: unknown, within: object[] = []): void {
  if (typeof value === "bigint") {
    throw new TypeError("Cannot send a BigInt: JSON has none; make it a number or a string");
  }
  if (typeof value !== "object" || value === null) return;
  if (within.includes(value)) {
    throw new TypeError("Cannot send the value: an object in it holds itself; leave the cycle out");
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
