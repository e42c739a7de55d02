/** Checks how deep JSON text nests and how many parts it has, before it is parsed. */

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The greatest depth at which walking a message cannot exhaust the stack. */
export const MAX_DEPTH = 200;

export interface ShapeProblem {
  /** The problem, as the middle part of an error message. */
  readonly state: string;
  /** The next step, as the last part of an error message. */
  readonly remedy: string;
}

/** Returns the problem if JSON text nests too deep or has too many parts. */
export function shapeProblem(text: string, maxParts: number): ShapeProblem | undefined {
  // Each level of valid JSON takes at least two characters, and each part at least one.
  if (text.length > 2 * MAX_DEPTH && opens(text, MAX_DEPTH) && nestsDeeperThan(text, MAX_DEPTH)) {
    return { state: `it nests deeper than ${MAX_DEPTH} levels`, remedy: "flatten it" };
  }
  if (text.length > maxParts && hasMoreThan(text, maxParts)) {
    const state = `it has more than ${maxParts} keys, strings and elements`;
    return { state, remedy: "send fewer" };
  }
  return undefined;
}

/**
 * Returns true if the text has more than `count` opening brackets and braces, even in strings.
 * Otherwise it cannot nest deeper than `count`. This is a quick check before the exact one:
 * `indexOf` is much faster than a loop over all characters.
 */
function opens(text: string, count: number): boolean {
  for (const character of ["{", "["]) {
    let at = text.indexOf(character);
    for (; at >= 0 && count >= 0; at = text.indexOf(character, at + 1)) count--;
  }
  return count < 0;
}

/**
 * Returns true if JSON text nests deeper than `levels`. Does not check whether the text is valid
 * JSON.
 */
export function nestsDeeperThan(text: string, levels: number): boolean {
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
 * Returns true if JSON text has more than `parts` strings, keys, objects, arrays and commas. Many
 * small parts cost far more time and memory to parse than their text suggests. Nearly every request
 * body is so short that this function returns immediately.
 */
export function hasMoreThan(text: string, parts: number): boolean {
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

/** Returns the index of the closing quote, or -1. A quote after an odd number of backslashes is text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return -1;
}
