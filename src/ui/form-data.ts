/**
 * Reads the values that a person entered into a form, and checks them against the form. The schema
 * of the tool is checked later.
 */
import { outside, REQUIRED, wrongFormat } from "../schema/wording.ts";
import type { JsonObject } from "../model/content.ts";
import type { Entered, FormField, FormProblem } from "./form.ts";
import { isSwitch, splitMoment } from "./form-html.ts";

/** The part of `URLSearchParams` and `FormData` that is needed. */
export interface FormInput {
  getAll(name: string): readonly unknown[];
}

export interface ReadForm {
  /** The answer. It is complete only if there are no problems. */
  readonly content: JsonObject;
  readonly problems: readonly FormProblem[];
  /** The values to show if the form is drawn again. */
  readonly entered: Entered;
}

/** Thrown by the functions that read a field. It becomes a problem of the field. */
class Wrong extends Error {}

export function readForm(fields: readonly FormField[], input: FormInput): ReadForm {
  const content: JsonObject = Object.create(null);
  const problems: FormProblem[] = [];
  const entered = new Map<string, readonly string[]>();
  for (const field of fields) {
    // Browsers post line breaks as CRLF.
    const values = input.getAll(field.input).filter((value) => typeof value === "string")
      .map((value) => value.replace(/\r\n?/g, "\n"));
    if (!field.sensitive) entered.set(field.input, values);
    try {
      const value = readField(field, values);
      if (value !== undefined) content[field.name] = value;
      else if (field.required) throw new Wrong(REQUIRED);
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      problems.push({ field: field.name, message: error.message });
    }
  }
  return { content: { ...content }, problems, entered };
}

/** The value of a field; undefined if it was left empty. */
function readField(field: FormField, values: readonly string[]): unknown {
  const [first = ""] = values;
  switch (field.kind) {
    case "boolean":
      if (isSwitch(field)) return first === "true";
      return first === "" ? undefined : first === "true";
    case "choice":
      return first === "" ? undefined : choiceAt(field, first);
    case "choices":
      return readChoices(field, values);
    case "number":
    case "integer":
      return readNumber(field, first.trim());
    case "json":
      return readJson(first.trim());
    case "date-time":
      return readMoment(field, first.trim(), values[1]?.trim() ?? "");
    default:
      return readText(field, first);
  }
}

function readText(field: FormField, text: string): string | undefined {
  const { kind, min, max } = field;
  const value = kind === "text" ? text : text.trim();
  // If the person cleared a default, the empty text is the answer.
  if (value === "") {
    return kind === "text" && !field.required && field.default !== undefined && !min
      ? value
      : undefined;
  }
  // Schemas count characters, not UTF-16 code units.
  const length = [...value].length;
  if (min !== undefined && length < min) throw new Wrong(outside("at least", min, "character"));
  if (max !== undefined && length > max) throw new Wrong(outside("at most", max, "character"));
  if (!isOfFormat(kind, value)) throw new Wrong(wrongFormat(kind)!);
  return value;
}

/** A first check only: it accepts some texts that are not valid, and the tool's schema refuses them. */
function isOfFormat(kind: FormField["kind"], value: string): boolean {
  switch (kind) {
    case "email":
      return /^[^\s@]+@[^\s@]+$/.test(value);
    case "uri":
      return URL.canParse(value);
    case "date":
      return isDate(value);
    default:
      return true;
  }
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  // Compare the text: `Date` turns the 30th of February into the 2nd of March.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function readMoment(field: FormField, local: string, zone: string): string | undefined {
  if (local === "") return undefined;
  const [, minutes, seconds = ":00", fraction = ""] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d)?(\.\d+)?$/.exec(local) ?? [];
  const offset = /^(?:z|[+-]\d\d:\d\d)$/i.test(zone) ? zone.toUpperCase() : undefined;
  if (minutes === undefined || !isDate(local.slice(0, 10))) {
    throw new Wrong(wrongFormat("date-time")!);
  }
  if (offset === undefined) throw new Wrong("expected an offset from UTC such as +02:00, or Z");
  const value = `${minutes}${seconds}${fraction}${offset}`;
  if (Number.isNaN(Date.parse(value))) throw new Wrong(wrongFormat("date-time")!);
  // Browsers shorten times. If the person did not change a default, use the default with all its
  // digits.
  const { default: given } = field;
  const isDefault = typeof given === "string" &&
    given.toUpperCase().endsWith(offset) &&
    Date.parse(splitMoment(given).join("")) === Date.parse(value);
  return isDefault ? given : value;
}

function readNumber({ kind, min, max }: FormField, text: string): number | undefined {
  if (text === "") return undefined;
  const value = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
  if (!Number.isFinite(value)) throw new Wrong("expected a number, such as 12 or 1.5");
  if (kind === "integer" && !Number.isInteger(value)) throw new Wrong("expected a whole number");
  if (min !== undefined && value < min) throw new Wrong(outside("at least", min, undefined));
  if (max !== undefined && value > max) throw new Wrong(outside("at most", max, undefined));
  return value;
}

function readJson(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Wrong('expected JSON, such as ["a", "b"] or { "a": 1 }');
  }
}

function readChoices(field: FormField, positions: readonly string[]): string[] | undefined {
  const { min, max, required } = field;
  const values = [...new Set(positions)].map((position) => choiceAt(field, position));
  // If the field is required or has a default, an empty list is an answer.
  if (values.length === 0 && !required && field.default === undefined) return undefined;
  if (min !== undefined && values.length < min) throw new Wrong(outside("at least", min, "item"));
  if (max !== undefined && values.length > max) throw new Wrong(outside("at most", max, "item"));
  return values;
}

function choiceAt({ choices }: FormField, position: string): string {
  const choice = /^\d+$/.test(position) ? choices[Number(position)] : undefined;
  if (!choice) throw new Wrong("is not one of the choices");
  return choice.value;
}
