/** Finds the JSON in what a model wrote around it. */

/** Prose full of open brackets must not be searched from every one of them to its end. */
const MOST_UNCLOSED = 20;

/**
 * Every value that may be meant, the likeliest first: the whole text, then what
 * stands in code fences, then what stands in brackets anywhere.
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
      if (++unclosed === MOST_UNCLOSED) return;
      continue;
    }
    const found = parse(text.slice(start, end));
    if (found) yield found.value;
    // What is inside a broken outer value is not what was meant.
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

/** Where the bracket that opens at `start` is closed again. */
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
