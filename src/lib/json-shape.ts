/** Looks how deep JSON nests and how much it holds, before anybody parses it. */

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Deeper than this, whoever walks a message could exhaust the stack. */
export const DEEPEST = 200;

export interface ShapeProblem {
  /** What is the case. */
  readonly state: string;
  /** What to do about it. */
  readonly remedy: string;
}

/** What is wrong with the shape of a text, if anything is. */
export function shapeProblem(text: string, maxParts: number): ShapeProblem | undefined {
  if (nestsDeeperThan(text, DEEPEST)) {
    return { state: `it nests deeper than ${DEEPEST} levels`, remedy: "flatten it" };
  }
  if (hasMoreThan(text, maxParts)) {
    const state = `it has more than ${maxParts} keys, strings and elements`;
    return { state, remedy: "send fewer" };
  }
  return undefined;
}

/** Says nothing about whether it is JSON at all. */
export function nestsDeeperThan(text: string, levels: number): boolean {
  // Each level takes two characters at least, unless it is no JSON anyway.
  if (text.length <= 2 * levels) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        if (at < 0) return false;
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        if (++depth > levels) return true;
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth--;
        break;
    }
  }
  return false;
}

/**
 * Parts are strings, keys, objects, arrays and commas together: each of them costs time to
 * parse and memory to hold, many times what its text does. A pass of its own, which nearly
 * every body is too short to need.
 */
export function hasMoreThan(text: string, parts: number): boolean {
  // Each part takes one character at least.
  if (text.length <= parts) return false;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        if (at < 0) return false;
        count++;
        break;
      case COMMA:
      case OPEN_BRACKET:
      case OPEN_BRACE:
        count++;
        break;
    }
    if (count > parts) return true;
  }
  return false;
}

function endOfString(text: string, start: number): number {
  let end = start;
  do end = text.indexOf('"', end + 1); while (end >= 0 && isEscaped(text, end));
  return end;
}

function isEscaped(text: string, quote: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}
