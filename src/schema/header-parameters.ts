/** Finds the parameters that a tool's schema marks with `x-mcp-header`, and validates the marks. */
import type { JsonObject } from "../model/content.ts";
import { DefinitionError } from "../model/errors.ts";
import type { HeaderParameter } from "../model/header-parameter.ts";

const MARK = "x-mcp-header";
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const PRIMITIVE = new Set(["string", "integer", "boolean"]);
/** Keywords whose value is a map from names to schemas. */
const NAMED_SCHEMAS = new Set(["$defs", "definitions", "patternProperties", "dependentSchemas"]);
/** Keywords whose value is data and not a schema. */
const DATA = new Set(["default", "enum", "const", "examples"]);

export function checkedHeaders(subject: string, schema: JsonObject): HeaderParameter[] {
  const found: HeaderParameter[] = [];
  const seen = new Set<string>();
  walk(schema, [], (parameter, reachable) => {
    const { name, path, type } = parameter;
    const field = path.join(".") || "parameters";
    const refuse = (problem: string, wayOut: string): never => {
      throw new DefinitionError(subject, `${MARK} of ${field}`, problem, wayOut);
    };
    if (!reachable) {
      refuse("is at a place that clients do not look at", "mark a plain property instead");
    }
    if (typeof name !== "string" || !TOKEN.test(name)) {
      refuse("is not a header name", "use letters, digits and hyphens");
    }
    if (typeof type !== "string" || !PRIMITIVE.has(type)) {
      refuse("marks a value that a header cannot carry", "mark a string, an integer or a boolean");
    }
    const key = String(name).toLowerCase();
    if (seen.has(key)) refuse(`repeats the name "${name}"`, "give each parameter its own name");
    seen.add(key);
    found.push({ name: String(name), path });
  });
  return found;
}

/**
 * Visits every subschema. Clients can find a value only if all keywords on the path to it are
 * `properties`.
 */
function walk(
  schema: unknown,
  path: readonly string[],
  visit: (
    found: { name: unknown; path: readonly string[]; type: unknown },
    reachable: boolean,
  ) => void,
  reachable = true,
): void {
  if (typeof schema !== "object" || schema === null) return;
  if (Array.isArray(schema)) {
    for (const item of schema) walk(item, path, visit, false);
    return;
  }
  const node = schema as JsonObject;
  if (MARK in node) visit({ name: node[MARK], path, type: node.type }, reachable);
  for (const [keyword, value] of Object.entries(node)) {
    if (DATA.has(keyword) || typeof value !== "object" || value === null) continue;
    if (keyword === "properties") {
      for (const [key, property] of Object.entries(value)) {
        walk(property, [...path, key], visit, reachable);
      }
    } else if (NAMED_SCHEMAS.has(keyword)) {
      for (const part of Object.values(value)) walk(part, path, visit, false);
    } else walk(value, path, visit, false);
  }
}
