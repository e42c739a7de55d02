/**
 * The field types that MCP allows in a form: text, number, boolean, single choice and multiple
 * choice. Rewrites the JSON Schema of a field in the way that the protocol prescribes, and rejects
 * fields for which there is no such way.
 */
import { isObject } from "../lib/json.ts";
import type { JsonObject } from "../model/content.ts";
import { definitionName } from "./pointer.ts";
import { SchemaProblem } from "./problem.ts";

const FORMATS = ["email", "uri", "date", "date-time"];

// Zod writes these checks as formats. They are left out of the form, and still apply when the
// answer is parsed.
const CHECKS = ["starts_with", "ends_with", "includes", "lowercase", "uppercase"];

/**
 * Returns the field as the protocol prescribes it. `defs` holds the definitions that the field may
 * refer to.
 */
export function toFormField(name: string, field: JsonObject, defs: JsonObject): JsonObject {
  const node = resolve(name, field, defs);
  const { type, ...rest } = typed(name, node, defs);
  const written = { type, ...pick(node, ["title", "description"], isText), ...rest };
  return fits(node["default"], written) ? { ...written, default: node["default"] } : written;
}

function typed(name: string, node: JsonObject, defs: JsonObject): JsonObject {
  const options = choicesOf(name, node, defs);
  if (options) return select(name, node, options);
  refuseMixed(name, node);
  switch (node["type"]) {
    case "string":
      return text(name, node);
    case "number":
    case "integer":
      return { type: node["type"], ...bounds(node) };
    case "boolean":
      return { type: "boolean" };
    case "array":
      return multiSelect(name, node, defs);
    case "object":
      throw nested(name, node);
    default:
      throw new SchemaProblem(
        name,
        "has no type that a form can ask for",
        "make it text, a number, a boolean or a choice",
      );
  }
}

function text(name: string, node: JsonObject): JsonObject {
  const { format } = node;
  if (
    node["contentEncoding"] !== undefined ||
    (format !== undefined && ![...FORMATS, ...CHECKS].includes(format as string))
  ) {
    throw new SchemaProblem(
      name,
      `has the format "${format ?? node["contentEncoding"]}", which a form cannot ask for`,
      `use one of ${
        FORMATS.join(", ")
      }, or plain text with .refine(…), which is checked when the answer comes`,
    );
  }
  return {
    type: "string",
    ...pick(node, ["minLength", "maxLength"], Number.isInteger),
    ...(FORMATS.includes(format as string) && { format }),
  };
}

/**
 * Returns inclusive bounds, because forms have no others. An exclusive bound is replaced by the
 * nearest inclusive one; parsing still checks the exact bound.
 */
function bounds(
  { type, minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below }: JsonObject,
): JsonObject {
  const whole = type === "integer";
  const least = typeof above === "number" ? (whole ? Math.floor(above) + 1 : above) : minimum;
  const most = typeof below === "number" ? (whole ? Math.ceil(below) - 1 : below) : maximum;
  return pick({ minimum: least, maximum: most }, ["minimum", "maximum"], Number.isFinite);
}

function refuseMixed(name: string, node: JsonObject): void {
  const branches = [node["anyOf"] ?? node["oneOf"] ?? []].flat() as JsonObject[];
  const types = [node["type"], ...branches.map((branch) => branch["type"])].flat();
  if (types.includes("null")) throw nullable(name);
  if (branches.length > 0 || Array.isArray(node["type"])) {
    throw new SchemaProblem(
      name,
      "may be of more than one type",
      "use one type, or make an optional field for each type",
    );
  }
  const parts = [node["allOf"] ?? []].flat() as JsonObject[];
  const areChecks = parts.every((part) =>
    Object.keys(part).every((key) => key === "pattern" || key === "multipleOf")
  );
  if (!areChecks || node["not"] !== undefined) {
    throw new SchemaProblem(
      name,
      "is a combination of several schemas",
      "write it as one text, number, boolean or choice",
    );
  }
}

function nested(name: string, node: JsonObject): SchemaProblem {
  const inner = isObject(node["properties"]) ? Object.keys(node["properties"])[0] : undefined;
  if (inner === undefined) {
    return new SchemaProblem(
      name,
      "is an object, and a form cannot have nested fields",
      "ask for its parts as fields of the form",
    );
  }
  const flat = `${name}${inner.charAt(0).toUpperCase()}${inner.slice(1)}`;
  return new SchemaProblem(
    name,
    `is an object, and a form cannot have nested fields such as "${name}.${inner}"`,
    `ask for "${flat}" instead, and do the same for its other fields`,
  );
}

/**
 * Returns true if the field accepts the value as its default. The default of a Zod type may have
 * the output type; such a default is not sent.
 */
function fits(value: unknown, { type, enum: plain, oneOf, items }: JsonObject): boolean {
  const options = plain ?? (oneOf as JsonObject[] | undefined)?.map((choice) => choice["const"]);
  switch (type) {
    case "string":
      return isText(value) && (!Array.isArray(options) || options.includes(value));
    case "integer":
      return Number.isInteger(value);
    case "number":
      return Number.isFinite(value);
    case "boolean":
      return typeof value === "boolean";
    default: {
      const { enum: each, anyOf } = items as JsonObject;
      return Array.isArray(value) &&
        value.every((it) => fits(it, { type: "string", enum: each, oneOf: anyOf }));
    }
  }
}

/** One option of a choice field. */
export interface Choice {
  readonly value: unknown;
  readonly title?: string;
}

/** Builds a single-choice field. */
export function select(name: string, node: JsonObject, options: readonly Choice[]): JsonObject {
  if (options.length > 0 && options.every(({ value }) => typeof value === "boolean")) {
    return { type: "boolean" };
  }
  const { enumNames } = node;
  if (Array.isArray(enumNames) && enumNames.length === options.length && enumNames.every(isText)) {
    return { type: "string", enum: textsOf(name, options), enumNames };
  }
  // The title of a lone literal belongs to the field, not to the option.
  const isAsked = !("const" in node) && isTitled(options);
  return {
    type: "string",
    ...(isAsked ? { oneOf: titled(name, options) } : { enum: textsOf(name, options) }),
  };
}

/** Builds a multiple-choice field from the choices of its items. */
export function multiSelect(name: string, node: JsonObject, defs: JsonObject): JsonObject {
  const items = node["items"];
  const item = isObject(items) ? resolve(name, items, defs) : {};
  const options = choicesOf(name, item, defs);
  if (!options) {
    const what = item["type"] === "object"
      ? "a list of objects"
      : item["type"] === "string"
      ? "a list of free text"
      : "a list whose items are not choices";
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

/**
 * Returns the choices of a node without repeated values, or undefined if the node is not a list of
 * choices.
 */
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

/** Replaces the `$ref` of a node with its target. Keywords beside `$ref` take precedence. */
export function resolve(name: string, node: JsonObject, defs: JsonObject): JsonObject {
  const { $ref, ...rest } = node;
  if ($ref === undefined) return node;
  const target = defs[definitionName($ref) ?? ""];
  if (!isObject(target)) {
    throw new SchemaProblem(
      name,
      "uses $ref, which a form does not allow",
      "write the referenced schema in its place",
    );
  }
  return resolve(name, { ...target, ...rest }, defs);
}

/** Returns those of the listed keywords that the node has with a value of the right type. */
export function pick(
  node: JsonObject,
  keys: readonly string[],
  isRight: (value: unknown) => boolean,
): JsonObject {
  return Object.fromEntries(
    keys.filter((key) => isRight(node[key])).map((key) => [key, node[key]]),
  );
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Returns the error for a field that may be null. */
export function nullable(name: string): SchemaProblem {
  return new SchemaProblem(
    name,
    "may be null, which a form cannot give",
    "use .optional(): the person may then leave it out",
  );
}
