/**
 * The address of a resource, or of a family of them.
 *
 * Of RFC 6570 two forms are understood, which are the two that can be read
 * backwards without guessing: `{name}` for one segment of a path, `{+name}` for
 * everything up to the end or to the next literal part.
 */

export interface UriPattern {
  readonly text: string;
  /** Empty for a plain address. */
  readonly variables: readonly string[];
  /** The variables' values, or nothing if the address does not fit. */
  match(uri: string): { readonly [variable: string]: string } | undefined;
}

const EXPRESSION = /\{([^{}]*)\}/g;
const VARIABLE = /^(\+?)([A-Za-z_][A-Za-z0-9_]*)$/;

/** Reads a pattern. What comes back instead says what is wrong with it. */
export function uriPattern(text: string): UriPattern | { readonly problem: string } {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(text)) return { problem: `"${text}" has no scheme` };
  const variables: string[] = [];
  let source = "";
  let end = 0;
  for (const expression of text.matchAll(EXPRESSION)) {
    const variable = VARIABLE.exec(expression[1]!);
    if (!variable) return { problem: `"${expression[0]}" is neither {name} nor {+name}` };
    const [, reserved, name] = variable;
    if (variables.includes(name!)) return { problem: `"${name}" stands in it twice` };
    variables.push(name!);
    source += escape(text.slice(end, expression.index)) + (reserved ? "(.+?)" : "([^/?#]+)");
    end = expression.index + expression[0].length;
  }
  const rest = text.slice(end);
  if (/[{}]/.test(rest)) return { problem: "a brace is not closed" };
  if (variables.length === 0) {
    return { text, variables, match: (uri) => uri === text ? {} : undefined };
  }
  const pattern = new RegExp(`^${source}${escape(rest)}$`);
  return {
    text,
    variables,
    match(uri) {
      const found = pattern.exec(uri);
      if (!found) return undefined;
      const values: { [variable: string]: string } = {};
      variables.forEach((variable, index) => values[variable] = decode(found[index + 1]!));
      return values;
    },
  };
}

function escape(literal: string): string {
  return literal.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/** A value that is not percent-encoded properly is taken as it is. */
function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
