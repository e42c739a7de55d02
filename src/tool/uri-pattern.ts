/**
 * The URI of a resource, or the URI template of a family of resources.
 *
 * Two forms of RFC 6570 are supported: `{name}` matches one path segment, and `{+name}` matches
 * everything up to the next literal part or the end. Other forms cannot be matched without
 * ambiguity.
 */

export interface UriPattern {
  readonly text: string;
  /** The names of the variables. Empty for a URI without variables. */
  readonly variables: readonly string[];
  /** Returns the variables' values, or undefined if the URI does not match. */
  match(uri: string): { readonly [variable: string]: string } | undefined;
}

const EXPRESSION = /\{([^{}]*)\}/g;
const VARIABLE = /^(\+?)([A-Za-z_][A-Za-z0-9_]*)$/;

/** Parses a URI template. Returns a problem if it is not valid. */
export function uriPattern(text: string): UriPattern | { readonly problem: string } {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(text)) return { problem: `"${text}" has no scheme` };
  const variables: string[] = [];
  let source = "";
  let end = 0;
  for (const expression of text.matchAll(EXPRESSION)) {
    const variable = VARIABLE.exec(expression[1]!);
    if (!variable) return { problem: `"${expression[0]}" is neither {name} nor {+name}` };
    const [, reserved, name] = variable;
    if (variables.includes(name!)) return { problem: `"${name}" is used twice` };
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

/** Decodes a percent-encoded value. Returns the value unchanged if its encoding is not valid. */
function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
