/**
 * Choices in a form, one or several: as plain values, or with a title for each
 * when any of them has one.
 */
import type { JsonObject } from "../model/content.ts";
import { isObject, isText, nullable, pick, resolve } from "./form-node.ts";
import { SchemaProblem } from "./problem.ts";

/** One choice. */
export interface Choice {
  readonly value: unknown;
  readonly title?: string;
}

/** A field for one of the choices. */
export function select(name: string, node: JsonObject, options: readonly Choice[]): JsonObject {
  if (options.length > 0 && options.every(({ value }) => typeof value === "boolean")) {
    return { type: "boolean" };
  }
  const { enumNames } = node;
  if (Array.isArray(enumNames) && enumNames.length === options.length && enumNames.every(isText)) {
    return { type: "string", enum: textsOf(name, options), enumNames };
  }
  // The title of a lone literal is that of the field.
  const isAsked = !("const" in node) && isTitled(options);
  return {
    type: "string",
    ...(isAsked ? { oneOf: titled(name, options) } : { enum: textsOf(name, options) }),
  };
}

/** A field for any number of the choices of its items. */
export function multiSelect(name: string, node: JsonObject, defs: JsonObject): JsonObject {
  const items = node["items"];
  const item = isObject(items) ? resolve(name, items, defs) : {};
  const options = choicesOf(name, item, defs);
  if (!options) {
    const what = item["type"] === "object"
      ? "a list of objects"
      : item["type"] === "string"
      ? "a list of free text"
      : "a list of something else than choices";
    throw new SchemaProblem(
      name,
      `is ${what}`,
      `let the person choose, as in z.array(z.enum(["a", "b"])), or ask several times`,
    );
  }
  return {
    type: "array",
    ...pick(node, ["minItems", "maxItems"], Number.isInteger),
    items: isTitled(options)
      ? { anyOf: titled(name, options) }
      : { type: "string", enum: textsOf(name, options) },
  };
}

/** The choices of a node that consists of nothing else, each value once. */
export function choicesOf(
  name: string,
  node: JsonObject,
  defs: JsonObject,
): readonly Choice[] | undefined {
  if (Array.isArray(node["enum"])) return [...new Set(node["enum"])].map((value) => ({ value }));
  if ("const" in node) {
    return [
      typeof node["title"] === "string"
        ? { value: node["const"], title: node["title"] }
        : { value: node["const"] },
    ];
  }
  const branches = node["oneOf"] ?? node["anyOf"];
  if (!Array.isArray(branches)) return undefined;
  const all = new Map<unknown, Choice>();
  for (const branch of branches) {
    const some = isObject(branch) ? choicesOf(name, resolve(name, branch, defs), defs) : undefined;
    if (!some) return undefined;
    for (const choice of some) if (!all.has(choice.value)) all.set(choice.value, choice);
  }
  return [...all.values()];
}

function isTitled(options: readonly Choice[]): boolean {
  return options.some(({ title }) => title !== undefined);
}

function titled(name: string, options: readonly Choice[]): readonly JsonObject[] {
  return textsOf(name, options).map((value, i) => ({
    const: value,
    title: options[i]!.title ?? value,
  }));
}

function textsOf(name: string, options: readonly Choice[]): readonly string[] {
  const texts = options.map(({ value }) => value);
  if (texts.includes(null)) throw nullable(name);
  if (texts.length === 0) throw new SchemaProblem(name, "has no choices", "give it at least one");
  if (!texts.every(isText)) {
    throw new SchemaProblem(
      name,
      "has choices that are not text",
      `use text, as in z.enum(["1", "2"])`,
    );
  }
  return texts;
}
