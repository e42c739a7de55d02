/** Describes a form in words for a small model, and reads the answer that the model sends. */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";

/** Describes the fields of a form, one per line, with type, choices and bounds. */
export function describeForm(schema: JsonObject): string {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return fieldsOf(schema)
    .map(([name, field]) => `- ${name}: ${describeField(field, required.has(name))}`)
    .join("\n");
}

/** Returns an example of a valid answer to a form. */
export function exampleAnswer(schema: JsonObject): JsonObject {
  return Object.fromEntries(fieldsOf(schema).map(([name, field]) => [name, exampleOf(field)]));
}

function fieldsOf({ properties }: JsonObject): [string, JsonObject][] {
  const fields = isObject(properties) ? Object.entries(properties) : [];
  return fields.map(([name, field]) => [name, isObject(field) ? field : {}]);
}

interface Choice {
  readonly value: unknown;
  readonly title?: string;
}

function choicesOf(field: JsonObject): readonly Choice[] | undefined {
  const source = field.type === "array" && isObject(field.items) ? field.items : field;
  const listed = source.oneOf ?? source.anyOf;
  if (Array.isArray(listed)) {
    return listed.filter(isObject).map(({ const: value, title }) => ({
      value,
      ...(typeof title === "string" && { title }),
    }));
  }
  if (!Array.isArray(source.enum)) return undefined;
  const titles = Array.isArray(source.enumNames) ? source.enumNames : [];
  return source.enum.map((value, i) => ({
    value,
    ...(typeof titles[i] === "string" && { title: titles[i] }),
  }));
}

function describeField(field: JsonObject, required: boolean): string {
  const { title, description, type, format, minimum, maximum, minLength, maxLength } = field;
  const choices = choicesOf(field);
  const bounds = [
    minimum !== undefined && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
    minLength !== undefined && minLength !== 0 && `at least ${minLength} characters`,
    maxLength !== undefined && `at most ${maxLength} characters`,
  ].filter(Boolean);
  const kind = choices
    ? `${type === "array" ? "a list of any of" : "one of"} ${choices.map(choiceText).join(", ")}`
    : `${NOUNS[String(type)] ?? "a value"}${typeof format === "string" ? ` (${format})` : ""}`;
  const rest = [
    typeof title === "string" && title,
    typeof description === "string" && description !== title && description,
  ].filter(Boolean);
  return [
    `${kind}${bounds.length > 0 ? `, ${bounds.join(" and ")}` : ""}`,
    required ? "required" : "optional",
    ..."default" in field ? [`default ${JSON.stringify(field.default)}`] : [],
    ...rest.length > 0 ? [rest.join(". ")] : [],
  ].join("; ");
}

const NOUNS: { readonly [type: string]: string | undefined } = {
  string: "text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  array: "a list",
};

function choiceText({ value, title }: Choice): string {
  const text = JSON.stringify(value);
  return title === undefined || title === value ? text : `${text} (${title})`;
}

function exampleOf(field: JsonObject): unknown {
  if ("default" in field) return field.default;
  const [choice] = choicesOf(field) ?? [];
  if (choice) return field.type === "array" ? [choice.value] : choice.value;
  switch (field.type) {
    case "boolean":
      return true;
    case "integer":
    case "number":
      return field.minimum ?? 1;
    case "array":
      return [];
    default:
      return "…";
  }
}

/** The answer of a model. */
export type ModelAnswer =
  | { readonly action: "accept"; readonly content: JsonObject }
  | { readonly action: "decline" };

/**
 * Reads the answer of a model. Undefined if it cannot be understood. Models also send an object as
 * JSON text, a bare value for the only field, or numbers as text.
 */
export function readModelAnswer(schema: JsonObject, answer: unknown): ModelAnswer | undefined {
  const given = typeof answer === "string" ? parsed(answer) : answer;
  if (given === "decline" || given === "declined") return { action: "decline" };
  const fields = fieldsOf(schema);
  if (isObject(given) && !Array.isArray(given)) {
    if (given.action === "decline" && !fields.some(([name]) => name === "action")) {
      return { action: "decline" };
    }
    const content = fields.flatMap(([name, field]) =>
      given[name] === undefined ? [] : [[name, fitted(field, given[name])] as const]
    );
    const others = Object.entries(given).filter(([name]) => !fields.some(([one]) => one === name));
    return { action: "accept", content: Object.fromEntries([...content, ...others]) };
  }
  const [only, ...more] = fields;
  if (!only || more.length > 0 || given === undefined || given === null) return undefined;
  return { action: "accept", content: { [only[0]]: fitted(only[1], given) } };
}

function parsed(text: string): unknown {
  const trimmed = text.trim();
  if (!/^[{["]/.test(trimmed)) return trimmed;
  try {
    return JSON.parse(trimmed);
  } catch {
    return trimmed;
  }
}

/** Converts a value to the type of its field, if the conversion is obvious. */
function fitted(field: JsonObject, value: unknown): unknown {
  const choices = choicesOf(field);
  if (field.type === "array") {
    return Array.isArray(value) ? value : [value];
  }
  if (choices && !choices.some((choice) => choice.value === value)) {
    const same = choices.find((choice) =>
      String(choice.value) === String(value) || choice.title === value
    );
    if (same) return same.value;
  }
  if (typeof value === "string") {
    const isNumber = field.type === "number" || field.type === "integer";
    if (isNumber && value.trim() !== "" && Number.isFinite(Number(value))) return Number(value);
    if (field.type === "boolean" && /^(true|yes)$/i.test(value)) return true;
    if (field.type === "boolean" && /^(false|no)$/i.test(value)) return false;
  }
  const isScalar = typeof value === "number" || typeof value === "boolean";
  return field.type === "string" && isScalar ? String(value) : value;
}
