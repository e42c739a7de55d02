/**
 * Forms for clients older than 2025-11-25. Those revisions have neither titled choices nor
 * multiple choice, and allow defaults only for booleans:
 *
 *   titled choices     become `enum` with `enumNames`
 *   multiple choice    becomes text; its description lists the choices and the separator
 *   other defaults     stay, because many clients show them, and are repeated in the description
 *
 * Answers are parsed as usual: a missing field gets its default. The text for a multiple choice is
 * converted to a list first.
 */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import type { ClientAnswer } from "../../model/events.ts";

interface Choice {
  readonly value: string;
  readonly title: string | undefined;
}

/** Converts a form for an older client. */
export function olderForm({ properties, required }: JsonObject): JsonObject {
  const fields = Object.entries(properties as { [name: string]: JsonObject })
    .map(([name, field]) => [name, olderField(field)]);
  return {
    type: "object",
    properties: Object.fromEntries(fields),
    ...(required !== undefined && { required }),
  };
}

/** Converts an older client's answer into an answer to the original form. */
export function newerAnswer(
  { properties, required }: JsonObject,
  response: ClientAnswer,
): ClientAnswer {
  if (!("action" in response) || !isObject(response.content)) return response;
  const content: JsonObject = { ...response.content };
  for (const [name, field] of Object.entries(properties as { [name: string]: JsonObject })) {
    const written = content[name];
    if (field.type !== "array" || typeof written !== "string") continue;
    const chosen = choose(choicesOf(field), written);
    const isAsked = Array.isArray(required) && required.includes(name);
    if (chosen.length > 0 || isAsked) content[name] = chosen;
    else delete content[name];
  }
  return { ...response, content };
}

function olderField(field: JsonObject): JsonObject {
  if (field.type === "boolean") return field;
  const { oneOf: _choices, description, ...rest } = field;
  const { default: preset } = rest;
  const choices = choicesOf(field);
  const notes = typeof description === "string" ? [description] : [];
  if (field.type === "array") {
    notes.push(howToChoose(field, choices));
    const chosen = Array.isArray(preset) ? preset.join(separatorOf(choices)) : undefined;
    if (chosen !== undefined) notes.push(`Default: ${chosen}`);
    const { title } = rest;
    return {
      type: "string",
      ...(title !== undefined && { title }),
      description: notes.join("\n"),
      ...(chosen !== undefined && { default: chosen }),
    };
  }
  if (preset !== undefined) notes.push(`Default: ${preset}`);
  return {
    ...rest,
    ...(notes.length > 0 && { description: notes.join("\n") }),
    ...(Array.isArray(field.oneOf) && {
      enum: choices.map(({ value }) => value),
      enumNames: choices.map(({ value, title }) => title ?? value),
    }),
  };
}

function howToChoose({ minItems, maxItems }: JsonObject, choices: readonly Choice[]): string {
  const least = typeof minItems === "number" && minItems > 0 ? `at least ${minItems}` : undefined;
  const most = typeof maxItems === "number" ? `at most ${maxItems}` : undefined;
  const many = [least, most].filter((bound) => bound !== undefined).join(" and ");
  const mark = separatorOf(choices) === "; " ? "semicolons" : "commas";
  const list = choices.map(({ value, title }) =>
    title === undefined || title === value ? value : `${value} (${title})`
  );
  return `Choose ${many || "any number"} of these, separated by ${mark}: ${
    list.join(separatorOf(choices))
  }`;
}

/** Returns the separator for a list of choices: a semicolon if a choice contains a comma. */
function separatorOf(choices: readonly Choice[]): ", " | "; " {
  return choices.some(({ value, title }) => `${value}${title ?? ""}`.includes(",")) ? "; " : ", ";
}

/**
 * Returns the chosen values. Matches values and titles, ignoring case. Keeps unknown text, which
 * fails validation later.
 */
function choose(choices: readonly Choice[], written: string): string[] {
  const words = written.split(separatorOf(choices).trim()).map((word) => word.trim());
  const chosen = words.filter((word) => word !== "").map((word) => {
    const same = (text: string | undefined) => text?.toLowerCase() === word.toLowerCase();
    const choice = choices.find(({ value }) => value === word) ??
      choices.find(({ value, title }) => same(value) || same(title));
    return choice?.value ?? word;
  });
  return [...new Set(chosen)];
}

/** Returns the choices of a single-choice or multiple-choice field. */
function choicesOf({ oneOf, items, enum: plain }: JsonObject): readonly Choice[] {
  const source = isObject(items) ? items.anyOf ?? items.enum : oneOf ?? plain;
  if (!Array.isArray(source)) return [];
  return source.map((choice) =>
    isObject(choice)
      ? { value: String(choice.const), title: String(choice.title) }
      : { value: String(choice), title: undefined }
  );
}
