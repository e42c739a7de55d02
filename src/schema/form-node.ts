/** Reading the JSON Schema of a form's field. */
import type { JsonObject } from "../model/content.ts";
import { definitionName } from "./pointer.ts";
import { SchemaProblem } from "./problem.ts";

/** The node with its references followed; what stands beside a reference wins. */
export function resolve(name: string, node: JsonObject, defs: JsonObject): JsonObject {
  const { $ref, ...rest } = node;
  if ($ref === undefined) return node;
  const target = defs[definitionName($ref) ?? ""];
  if (!isObject(target)) throw new SchemaProblem(name, "refers to another schema", "write it out");
  return resolve(name, { ...target, ...rest }, defs);
}

/** Those keywords of the node whose values are right. */
export function pick(
  node: JsonObject,
  keys: readonly string[],
  isRight: (value: unknown) => boolean,
): JsonObject {
  return Object.fromEntries(
    keys.filter((key) => isRight(node[key])).map((key) => [key, node[key]]),
  );
}

/** True for a string. */
export function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** True for a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The problem of a field that may be null. */
export function nullable(name: string): SchemaProblem {
  return new SchemaProblem(
    name,
    "may be null, which a form cannot give",
    "use .optional(): the person may then leave it out",
  );
}
