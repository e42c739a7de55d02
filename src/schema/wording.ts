/**
 * The wording of validation errors. The three validators phrase errors differently; models and
 * people get only these phrases.
 */

export const REQUIRED = "is required";
export const UNKNOWN_FIELD = "is not a known field";
export const NOT_VALID = "is not valid";
export const WRONG_NAME = "is not an allowed name";
export const NO_FORM_FITS = "fits none of the allowed forms";
export const MANY_FORMS_FIT = "fits more than one of the allowed forms";

const KINDS: Record<string, string> = {
  int: "integer",
  float: "number",
  record: "object",
  tuple: "array",
  nan: "NaN",
};

const FORMATS: Record<string, string> = {
  email: "email address",
  uri: "URL",
  url: "URL",
  date: "date (YYYY-MM-DD)",
  "date-time": "date and time (ISO 8601)",
  datetime: "date and time (ISO 8601)",
};

/** Returns the name of an expected type in the terms of JSON Schema. */
export function kindName(kind: string): string {
  return KINDS[kind] ?? kind;
}

/** Returns the type of a value in the terms of JSON Schema, or `nothing` if it is undefined. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "array";
  return Number.isNaN(value) ? "NaN" : typeof value;
}

/** Returns the message for a value whose type is not `kind`. */
export function wrongKind(kind: string, received: string): string {
  if (received === "nothing") return REQUIRED;
  if (kind === "never") return "is not allowed";
  return `expected ${kindName(kind)}, received ${received}`;
}

/** Formats the allowed values: `"a"`, or `one of "a", "b"`. */
export function choices(values: readonly unknown[]): string {
  const shown = values.slice(0, 12).map((value) => JSON.stringify(value) ?? String(value));
  if (shown.length === 1) return shown[0]!;
  const more = values.length > shown.length ? ` and ${values.length - shown.length} others` : "";
  return `one of ${shown.join(", ")}${more}`;
}

/** Returns the message for a value that is not one of the choices. */
export function wrongChoice(values: readonly unknown[], received: string): string {
  if (received === "nothing") return REQUIRED;
  const sameKind = values.some((value) => kindOf(value) === received);
  return `expected ${choices(values)}${sameKind ? "" : `, received ${received}`}`;
}

/**
 * Returns the message for a string that does not have the format, or undefined if the format is
 * unknown.
 */
export function wrongFormat(format: string): string | undefined {
  return FORMATS[format] && `expected a valid ${FORMATS[format]}`;
}

/** Returns the message for a string that does not match the pattern. */
export function wrongPattern(pattern: string): string {
  return `expected text matching ${pattern}`;
}

/** The unit that a limit counts. */
export type Counted = "character" | "item" | "field" | undefined;

/** Returns the message for a value outside a limit, such as `expected at least 3 characters`. */
export function outside(
  bound: "at least" | "at most" | "more than" | "less than" | "exactly",
  limit: unknown,
  of: Counted,
): string {
  return `expected ${bound} ${limit}${of === undefined ? "" : ` ${of}${limit === 1 ? "" : "s"}`}`;
}

/** Returns the phrase for the bound in an issue of Zod 4 or Zod 3. */
export function boundOf(
  side: "min" | "max",
  inclusive?: boolean,
  exact?: boolean,
): Parameters<typeof outside>[0] {
  if (exact) return "exactly";
  if (side === "min") return inclusive ? "at least" : "more than";
  return inclusive ? "at most" : "less than";
}

/**
 * Returns the unit in which Zod counts the size of an `origin`, or null if there is no phrase for
 * it.
 */
export function countedIn(origin: string): Counted | null {
  if (origin === "string") return "character";
  if (origin === "array" || origin === "set") return "item";
  return origin === "number" || origin === "int" ? undefined : null;
}
