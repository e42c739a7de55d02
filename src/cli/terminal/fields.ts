/** Describes the fields of a form or the parameters of a tool in words. */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import { visible } from "./visible.ts";

export interface Field {
  readonly name: string;
  readonly schema: JsonObject;
  readonly required: boolean;
}

/** A value that the person can choose. The label is safe to print. */
export interface Choice {
  readonly value: unknown;
  readonly label: string;
}

export function fieldsOf({ properties, required }: JsonObject): Field[] {
  if (!isObject(properties)) return [];
  const names = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema: isObject(schema) ? schema : {},
    required: names.includes(name),
  }));
}

/** The choices of a field, in any of the forms that the MCP revisions use. */
export function choicesOf(schema: JsonObject): Choice[] | undefined {
  const { enum: values, enumNames, oneOf, anyOf } = schema;
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value, index) => ({ value, label: visible(String(names[index] ?? value)) }));
  }
  const titled = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : undefined;
  if (!titled?.every((one) => isObject(one) && "const" in one)) return undefined;
  return (titled as JsonObject[]).map((one) => ({
    value: one.const,
    label: visible(String(one.title ?? one.const)),
  }));
}

/** Describes the type of a field, such as `whole number 1 to 20` or `one of a, b`. Safe to print. */
export function typeOf(schema: JsonObject): string {
  return visible(typeIn(schema));
}

function typeIn(schema: JsonObject): string {
  const choices = choicesOf(schema);
  const type = choices
    ? `one of ${choices.map(({ value }) => String(value)).join(", ")}`
    : plainType(schema) + bounds(schema);
  return schema.default === undefined
    ? type
    : `${type}, default: ${JSON.stringify(schema.default)}`;
}

const WORDS: { readonly [type: string]: string | undefined } = {
  string: "text",
  integer: "whole number",
  number: "number",
  boolean: "yes or no",
  null: "nothing",
  object: "object",
};

const FORMATS: { readonly [format: string]: string | undefined } = {
  email: "e-mail address",
  uri: "address, such as https://example.com",
  date: "date, such as 2026-05-01",
  "date-time": "date and time, such as 2026-05-01T12:00:00Z",
};

function plainType(schema: JsonObject): string {
  const { type, format, items, const: only } = schema;
  if (only !== undefined) return JSON.stringify(only);
  if (type === "array") {
    return isObject(items) ? `any number of: ${typeOf(items)}` : "list";
  }
  if (type === "string" && typeof format === "string") return FORMATS[format] ?? `text (${format})`;
  if (typeof type === "string") return WORDS[type] ?? type;
  return Array.isArray(type) ? type.map((one) => WORDS[one] ?? one).join(" or ") : "anything";
}

function bounds(schema: JsonObject): string {
  const { type, minimum, maximum, minLength, maxLength } = schema;
  if (type === "string") return range(minLength, maxLength, " of ", " characters");
  // Zod adds JavaScript's integer bounds to every integer: leave them out.
  const low = minimum === Number.MIN_SAFE_INTEGER ? undefined : minimum;
  const high = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  return range(low, high, " ", "");
}

function range(low: unknown, high: unknown, before: string, after: string): string {
  if (low !== undefined && high !== undefined) return `${before}${low} to ${high}${after}`;
  if (low !== undefined) return `${before}at least ${low}${after}`;
  return high === undefined ? "" : `${before}at most ${high}${after}`;
}
