/** Asks for one field of a form. */
import { confirm, isCancel, multiselect, password, select, text } from "@clack/prompts";
import process from "node:process";
import { isObject } from "../../../lib/json.ts";
import type { JsonObject } from "../../../model/content.ts";
import { describeIssues } from "../../../schema/issues.ts";
import { schemaOf } from "../../../schema/schema.ts";
import { choicesOf, type Field, typeOf } from "../fields.ts";
import { promptStreams } from "../terminal.ts";
import { visible } from "../visible.ts";

/** Returned if the person wants to leave the form. */
export const LEFT = Symbol("left");
/** Returned if the field stays empty. */
export const EMPTY = Symbol("empty");

export interface FieldOptions {
  readonly sensitive: boolean;
  /** The previous answer, if the form is shown again. */
  readonly before: unknown;
  readonly signal: AbortSignal;
}

/** Returns the value, `EMPTY` or `LEFT`. */
export async function askField(field: Field, options: FieldOptions): Promise<unknown> {
  const answer = await ask(field, options);
  return isCancel(answer) ? LEFT : answer;
}

function ask(field: Field, options: FieldOptions): Promise<unknown> {
  const { schema } = field;
  if (options.sensitive) return askHidden(field, options);
  if (choicesOf(schema)) return askChoice(field, options);
  if (schema.type === "boolean") return askYesNo(field, options);
  const items = schema.type === "array" && isObject(schema.items) ? schema.items : undefined;
  if (items && choicesOf(items)) return askChoices(field, items, options);
  return askText(field, options);
}

/** True if the person may choose nothing. A field with a default always has a choice. */
function mayStayEmpty({ schema, required }: Field): boolean {
  return !required && schema.default === undefined;
}

function messageFor(field: Field, isOptional = !field.required): string {
  const { name, schema } = field;
  const title = typeof schema.title === "string" ? schema.title : name;
  const more = typeof schema.description === "string" ? `: ${schema.description}` : "";
  return visible(`${title}${more}${isOptional ? " (optional)" : ""}`);
}

async function askText(field: Field, { before, signal }: FieldOptions): Promise<unknown> {
  const { schema, required } = field;
  const initialValue = shownDefault(before ?? schema.default);
  const answer = await text({
    message: messageFor(field),
    placeholder: typeOf(schema),
    ...(initialValue !== undefined && { initialValue }),
    validate: (entered) => problemWith(entered ?? "", schema, required),
    ...promptStreams(signal),
  });
  return isCancel(answer) ? answer : valueOf(answer ?? "", schema, required);
}

async function askHidden(field: Field, { signal }: FieldOptions): Promise<unknown> {
  const { schema, required } = field;
  const answer = await password({
    message: messageFor(field),
    validate: (entered) => problemWith(entered ?? "", schema, required),
    ...promptStreams(signal),
  });
  return isCancel(answer) ? answer : valueOf(answer ?? "", schema, required);
}

function askChoice(field: Field, { before, signal }: FieldOptions): Promise<unknown> {
  const choices = choicesOf(field.schema)!;
  const options = choices.map(({ value, label }) => ({ value: value as string, label }));
  const initialValue = (before ?? field.schema.default) as string | undefined;
  return select<string | typeof EMPTY>({
    message: messageFor(field, mayStayEmpty(field)),
    options: [...options, ...(mayStayEmpty(field) ? [NEITHER] : [])] as never,
    ...(initialValue !== undefined && { initialValue }),
    ...promptStreams(signal),
  });
}

const NEITHER = { value: EMPTY, label: "no answer" };

function askYesNo(field: Field, { before, signal }: FieldOptions): Promise<unknown> {
  const initialValue = (before ?? field.schema.default) as boolean | undefined;
  if (!mayStayEmpty(field)) {
    return confirm({
      message: messageFor(field, mayStayEmpty(field)),
      initialValue: initialValue ?? true,
      ...promptStreams(signal),
    });
  }
  return select<boolean | typeof EMPTY>({
    message: messageFor(field, mayStayEmpty(field)),
    options: [{ value: true, label: "Yes" }, { value: false, label: "No" }, NEITHER] as never,
    initialValue: initialValue ?? EMPTY,
    ...promptStreams(signal),
  });
}

async function askChoices(
  field: Field,
  items: JsonObject,
  { before, signal }: FieldOptions,
): Promise<unknown> {
  const { schema, required } = field;
  for (;;) {
    const known = before ?? schema.default;
    const answer = await multiselect<string>({
      message: messageFor(field),
      options: choicesOf(items)!.map(({ value, label }) => ({ value: value as string, label })),
      initialValues: Array.isArray(known) ? known as string[] : [],
      required: required && Number(schema.minItems ?? 0) > 0,
      ...promptStreams(signal),
    });
    if (isCancel(answer)) return answer;
    if (answer.length === 0 && !required) return EMPTY;
    const parsed = schemaOf(schema).parse(answer);
    if (parsed.ok) return answer;
    process.stderr.write(`│  ${sentence(describeIssues(parsed.issues))}\n`);
  }
}

/** Describes what is wrong with an entry. Undefined if nothing is. */
function problemWith(entered: string, schema: JsonObject, required: boolean): string | undefined {
  const value = valueOf(entered, schema, required);
  if (value === EMPTY) return required ? "Expected an answer." : undefined;
  if (typeof value === "string" && NUMBERS[schema.type as string]) {
    return `Expected a ${NUMBERS[schema.type as string]}.`;
  }
  const parsed = schemaOf(schema).parse(value);
  return parsed.ok ? undefined : sentence(describeIssues(parsed.issues));
}

const NUMBERS: { readonly [type: string]: string | undefined } = {
  integer: "whole number",
  number: "number",
};

function sentence(text: string): string {
  return visible(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`);
}

/** Converts an entry to the field's type. Text that cannot be converted fails validation later. */
function valueOf(entered: string, schema: JsonObject, required: boolean): unknown {
  const { type } = schema;
  if (entered === "" && (type !== "string" || !required)) return EMPTY;
  if (type === "string") return entered;
  if (type === "number" || type === "integer") {
    return entered.trim() === "" || Number.isNaN(Number(entered)) ? entered : Number(entered);
  }
  try {
    return JSON.parse(entered);
  } catch {
    return entered;
  }
}

/** The default to prefill. Undefined if escaping changes it: the person must send what they see. */
function shownDefault(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return visible(text) === text ? text : undefined;
}
