/** Finds JSON values in text that a model wrote. */

/**
 * The maximum number of unclosed brackets. A search in text with many of them would take quadratic
 * time.
 */
const MAX_UNCLOSED = 20;

/**
 * Yields the JSON values in a text, the most likely one first: the whole text, then code fences,
 * then parts in brackets.
 */
export function* findJson(text: string): Generator<unknown> {
  const whole = parse(text.trim());
  if (whole) {
    yield whole.value;
    return;
  }
  for (const [, fenced] of text.matchAll(/```[\w-]*[ \t]*\n([\s\S]*?)```/g)) {
    const found = parse(fenced!.trim());
    if (found) yield found.value;
  }
  let unclosed = 0;
  for (let start = 0; start < text.length; start++) {
    if (text[start] !== "{" && text[start] !== "[") continue;
    const end = endOf(text, start);
    if (end === undefined) {
      if (++unclosed === MAX_UNCLOSED) return;
      continue;
    }
    const found = parse(text.slice(start, end));
    if (found) yield found.value;
    // Skip the inside of a malformed value: the answer is not one of its parts.
    start = end - 1;
  }
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Returns the position after the bracket that closes the one at `start`. */
function endOf(text: string, start: number): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (quoted) {
      if (char === "\\") at++;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === "{" || char === "[") depth++;
    else if ((char === "}" || char === "]") && --depth === 0) return at + 1;
  }
  return undefined;
}
