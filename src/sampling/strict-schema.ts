/**
 * OpenAI can guarantee that an answer fits its schema, but only for a subset of JSON Schema: every
 * object closed, every property required, and only the keywords below. It rejects any other schema.
 * For a schema outside the subset, the request is sent without the guarantee. The answer is
 * validated in both cases.
 */
import { isObject } from "../lib/json.ts";
import type { JsonObject } from "../model/content.ts";

const ALLOWED = new Set([
  "type",
  "description",
  "title",
  "enum",
  "const",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "anyOf",
  "$ref",
  "$defs",
  "pattern",
  "multipleOf",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minItems",
  "maxItems",
]);

const MAX_DEPTH = 10;

/** Returns the schema with all objects closed, or undefined if the schema is outside the subset. */
export function strictSchema(schema: JsonObject): JsonObject | undefined {
  if (schema.type !== "object") return undefined;
  try {
    return strict(schema, 0);
  } catch (error) {
    if (error instanceof NotStrict) return undefined;
    throw error;
  }
}

class NotStrict extends Error {}

function strict(node: unknown, depth: number): JsonObject {
  if (!isObject(node) || depth > MAX_DEPTH) throw new NotStrict();
  const { type, properties, required, additionalProperties = false, items, anyOf, $defs } = node;
  if (Object.keys(node).some((key) => !ALLOWED.has(key))) throw new NotStrict();
  // A node must constrain its value by at least one of these keywords.
  if (!("enum" in node || "const" in node || "$ref" in node || anyOf || type)) {
    throw new NotStrict();
  }
  if (type === "array" && items === undefined) throw new NotStrict();
  if (type === "object") {
    if (!isObject(properties) || additionalProperties !== false) throw new NotStrict();
    const asked = Array.isArray(required) ? required : [];
    if (Object.keys(properties).some((name) => !asked.includes(name))) throw new NotStrict();
  }
  return {
    ...node,
    ...(type === "object" && { required: node.required ?? [], additionalProperties: false }),
    ...(isObject(properties) && { properties: each(properties, depth) }),
    ...(items !== undefined && { items: strict(items, depth + 1) }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map((branch) => strict(branch, depth + 1)) }),
    ...(isObject($defs) && { $defs: each($defs, depth) }),
  };
}

function each(nodes: JsonObject, depth: number): JsonObject {
  return Object.fromEntries(
    Object.entries(nodes).map(([name, node]) => [name, strict(node, depth + 1)]),
  );
}
