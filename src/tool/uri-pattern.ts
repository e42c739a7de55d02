/**
 * The URI of a resource, or the URI template of a family of resources (RFC 6570). Clients expand the
 * template; the server finds the values of its variables in the expanded URI.
 *
 * Levels 1 to 3 are supported, and `{/path*}`. The rest of level 4 is not: a prefix such as
 * `{name:3}` loses the end of the value, and a list cannot be distinguished from several variables.
 */

export interface UriPattern {
  readonly text: string;
  /** The names of the variables. Empty for a URI without variables. */
  readonly variables: readonly string[];
  /** Returns the variables' values, or undefined if the URI does not match. */
  match(uri: string): { readonly [variable: string]: string } | undefined;
}

const EXPRESSION = /\{([^{}]*)\}/g;
const OPERATORS = /^([+#./;?&]?)(.*)$/s;
const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(\*?)$/;

/**
 * Maximum number of variables that match any text. Each of them multiplies the time to match a URI
 * by the URI's length.
 */
const MAX_OPEN = 2;

/** One group of the regular expression: a variable, or the pairs of a query. */
type Group = { readonly name: string } | { readonly names: readonly string[] };

/** Parses a URI template. Returns a problem if it is not valid. */
export function uriPattern(text: string): UriPattern | { readonly problem: string } {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(text)) return { problem: `"${text}" has no scheme` };
  const groups: Group[] = [];
  const variables: string[] = [];
  let source = "";
  let end = 0;
  for (const expression of text.matchAll(EXPRESSION)) {
    const read = readExpression(expression[1]!);
    if ("problem" in read) return { problem: `"${expression[0]}" ${read.problem}` };
    for (const name of read.names) {
      if (variables.includes(name)) return { problem: `"${name}" is used twice` };
      variables.push(name);
    }
    groups.push(...read.groups);
    source += escape(text.slice(end, expression.index)) + read.source;
    end = expression.index + expression[0].length;
  }
  const rest = text.slice(end);
  if (/[{}]/.test(rest)) return { problem: "a brace is not closed" };
  if (variables.length === 0) {
    return { text, variables, match: (uri) => uri === text ? {} : undefined };
  }
  if (source.split("(.").length - 1 > MAX_OPEN) {
    return { problem: `more than ${MAX_OPEN} variables match slashes; use {name} for the others` };
  }
  const pattern = new RegExp(`^${source}${escape(rest)}$`, "s");
  return {
    text,
    variables,
    match(uri) {
      const found = pattern.exec(uri);
      return found ? valuesIn(found.slice(1), groups) : undefined;
    },
  };
}

interface Expression {
  readonly names: readonly string[];
  readonly groups: readonly Group[];
  readonly source: string;
}

function readExpression(text: string): Expression | { readonly problem: string } {
  const [, operator = "", list = ""] = OPERATORS.exec(text)!;
  const read = list.split(",").map((part) => VARIABLE.exec(part));
  const isPath = operator === "/" && read.length === 1;
  if (read.some((part) => !part || part[2] === "*" && !isPath)) {
    return { problem: "is not supported; use forms such as {name}, {+path}, {/path*} or {?a,b}" };
  }
  const names = read.map((part) => part![1]!);
  const groups = names.map((name) => ({ name }));
  switch (operator) {
    case "":
      return {
        names,
        groups,
        source: joined(names, names.length > 1 ? "([^/?#,]*)" : "([^/?#]+)"),
      };
    case "+":
      return { names, groups, source: joined(names, "(.+?)") };
    case "#":
      return { names, groups, source: `#${joined(names, "(.*?)")}` };
    case "/":
      return {
        names,
        groups,
        source: isPath && read[0]![2] ? "/(.+?)" : each(names, "/([^/?#]+)"),
      };
    case ".":
      return { names, groups, source: each(names, "\\.([^/?#.]+)") };
    case ";": {
      const source = names.map((name) => `;${name}(?:=([^/?#;]*))?`).join("");
      return { names, groups, source };
    }
    case "?":
      return { names, groups: [{ names }], source: "(?:\\?([^#]*))?" };
    default:
      return { names, groups: [{ names }], source: "((?:&[^#&]*)*)" };
  }
}

function joined(names: readonly string[], source: string): string {
  return names.map(() => source).join(",");
}

function each(names: readonly string[], source: string): string {
  return names.map(() => source).join("");
}

/** The values of the variables. Undefined if a query has a name that is not a variable. */
function valuesIn(
  texts: readonly (string | undefined)[],
  groups: readonly Group[],
): { [variable: string]: string } | undefined {
  const values: { [variable: string]: string } = {};
  for (const [index, group] of groups.entries()) {
    const text = texts[index] ?? "";
    if ("name" in group) values[group.name] = decode(text);
    else if (!readQuery(text, group.names, values)) return undefined;
  }
  return values;
}

/** Reads the pairs of a query. Variables that are missing have an empty value. */
function readQuery(
  text: string,
  names: readonly string[],
  values: { [variable: string]: string },
): boolean {
  for (const name of names) values[name] = "";
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const [name = "", ...rest] = pair.split("=");
    if (!names.includes(name)) return false;
    values[name] = decode(rest.join("="));
  }
  return true;
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
