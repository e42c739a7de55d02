/**
 * The fields of a form, as a person fills them in. The form arrives as the `requestedSchema` of an
 * elicitation, in the notation of any protocol revision.
 *
 * One component for every place that shows a form: `form-html.ts` draws the fields, and
 * `form-data.ts` reads what the person entered. Both run on the server and in browsers, so these
 * files import no package.
 */
import { isObject } from "../lib/json.ts";
import type { JsonObject } from "../model/content.ts";

/** One of the values that a person can choose. */
export interface Choice {
  readonly value: string;
  readonly label: string;
}

export type FieldKind =
  | "text"
  | "email"
  | "uri"
  | "date"
  | "date-time"
  | "number"
  | "integer"
  | "boolean"
  | "choice"
  | "choices"
  | "json";

export interface FormField {
  readonly name: string;
  /**
   * The name and id of the field's input. It contains a number instead of the field's name, which
   * can be any text.
   */
  readonly input: string;
  readonly kind: FieldKind;
  readonly label: string;
  readonly help: string | undefined;
  readonly required: boolean;
  /** True if the value is never shown, neither while it is typed nor afterwards. */
  readonly sensitive: boolean;
  /** The choices of a `choice` or of `choices`. */
  readonly choices: readonly Choice[];
  /** The minimum: of a number, of the length of a text, or of the number of choices. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly default: unknown;
}

/** A problem with an answer. Without a field, it concerns the whole form. */
export interface FormProblem {
  readonly field?: string;
  readonly message: string;
}

/**
 * The values that the person entered, by the name of the input. Never contains sensitive fields.
 */
export type Entered = ReadonlyMap<string, readonly string[]>;

/** The fields of a form, in order. */
export function formFields(
  { properties, required }: JsonObject,
  sensitive: readonly string[] = [],
): FormField[] {
  if (!isObject(properties)) return [];
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, given], index) => {
    const schema = isObject(given) ? given : {};
    const kind = kindOf(schema);
    return {
      name,
      input: `f${index}`,
      kind,
      label: textOf(schema.title) ?? inWords(name),
      help: textOf(schema.description),
      required: needed.includes(name),
      sensitive: sensitive.includes(name),
      choices: choicesOf(kind === "choices" && isObject(schema.items) ? schema.items : schema) ??
        [],
      ...boundsOf(kind, schema),
      default: schema.default,
    };
  });
}

/** The form of an elicitation contains no objects or lists, but the parameters of a tool may. */
function kindOf(schema: JsonObject): FieldKind {
  const { type, format } = schema;
  if (type === "array") {
    return isObject(schema.items) && choicesOf(schema.items) ? "choices" : "json";
  }
  if (choicesOf(schema)) return "choice";
  if (type === "object" || schema.anyOf || schema.oneOf || schema.allOf || schema.$ref) {
    return "json";
  }
  if (type === "boolean" || type === "number" || type === "integer") return type;
  return format === "email" || format === "uri" || format === "date" || format === "date-time"
    ? format
    : "text";
}

/** The choices of a schema, in any of the notations that protocol revisions have used. */
function choicesOf({ enum: values, enumNames, oneOf, anyOf }: JsonObject): Choice[] | undefined {
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value, index) => ({
      value: String(value),
      label: String(names[index] ?? value),
    }));
  }
  const titled = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : undefined;
  // Without constants, these are general schemas and not choices.
  if (!titled?.every((one) => isObject(one) && "const" in one)) return undefined;
  return titled.filter(isObject).map((one) => ({
    value: String(one.const),
    label: String(one.title ?? one.const),
  }));
}

function boundsOf(kind: FieldKind, schema: JsonObject): Pick<FormField, "min" | "max"> {
  const [least, most] = kind === "number" || kind === "integer"
    ? [schema.minimum, schema.maximum]
    : kind === "choices"
    ? [schema.minItems, schema.maxItems]
    : [schema.minLength, schema.maxLength];
  return { min: numberOf(least), max: numberOf(most) };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

/** A name as a label: `seatRow` and `seat_row` become `Seat row`. */
function inWords(name: string): string {
  const words = name.replace(/[_-]+/g, " ")
    .replace(/([a-z\d])([A-Z])/g, (_, end, start) => `${end} ${start.toLowerCase()}`)
    .trim();
  return words === "" ? "Answer" : words.charAt(0).toUpperCase() + words.slice(1);
}
