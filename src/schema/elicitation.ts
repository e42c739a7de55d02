/**
 * Converts schemas into elicitation forms. A form is flat and has only the field types that MCP
 * allows. The JSON Schema that Zod generates is rewritten to fit; a JSON Schema written by the
 * author must fit already. Constraints that a form cannot express, such as patterns and
 * refinements, are checked when the answer is parsed.
 */
import { deepCompareStrict } from "@cfworker/json-schema";
import { isObject } from "../lib/json.ts";
import type { JsonObject } from "../model/content.ts";
import { resolve, toFormField } from "./form-field.ts";
import { SchemaProblem } from "./problem.ts";
import { isZod, toObjectSchema } from "./schema.ts";
import type { InferObject, Schema, SchemaInput } from "./types.ts";

const ROOT_KEYWORDS = ["$schema", "type", "properties", "required"];

/**
 * Builds a form's schema: `json` is sent as `requestedSchema`, and `parse` reads the person's
 * answer.
 */
export function toElicitationSchema<S extends SchemaInput>(input: S): Schema<InferObject<S>> {
  const schema = toObjectSchema(input, "input");
  // Verify the schema as it will be sent: JSON drops keywords whose value is undefined.
  if (!isZod(input)) verify(JSON.parse(JSON.stringify(schema.json)));
  return { ...schema, json: isZod(input) ? rewrite(schema.json) : schema.json };
}

function rewrite(json: JsonObject): JsonObject {
  const { required, $defs } = json;
  const defs = isObject($defs) ? $defs : {};
  const fields = fieldsOf(json).map(([name, field]) =>
    [name, toFormField(name, withoutZodBounds(resolve(name, field, defs)), defs)] as const
  );
  const optional = new Set(fields.filter(([, field]) => "default" in field).map(([name]) => name));
  const asked = Array.isArray(required) ? required.filter((name) => !optional.has(name)) : [];
  return {
    type: "object",
    properties: Object.fromEntries(fields),
    ...(asked.length > 0 && { required: asked }),
  };
}

function verify(json: JsonObject): void {
  const extra = Object.keys(json).find((key) => !ROOT_KEYWORDS.includes(key));
  if (extra !== undefined) {
    throw new SchemaProblem(
      "",
      `uses "${extra}", which MCP does not allow in the schema of a form`,
      "leave it out",
    );
  }
  const fields = fieldsOf(json);
  for (const [name, field] of fields) {
    const written = toFormField(name, field, {});
    if (deepCompareStrict(field, written)) continue;
    const odd = Object.keys(field).find((key) => !(key in written));
    const problem = odd === "default"
      ? "has a default that the field does not accept"
      : odd === undefined
      ? "is not written in the way that MCP requires for forms"
      : `uses "${odd}", which a form does not allow for this type of field`;
    throw new SchemaProblem(name, problem, `write it as ${JSON.stringify(written)}`);
  }
  const { required = [] } = json;
  const names = new Set(fields.map(([name]) => name));
  const unknown = Array.isArray(required) ? required.find((name) => !names.has(name)) : required;
  if (unknown !== undefined) {
    throw new SchemaProblem(
      "",
      `requires ${JSON.stringify(unknown)}, which is not among its fields`,
      "add the field or leave it out of required",
    );
  }
}

function fieldsOf(
  { properties, patternProperties }: JsonObject,
): readonly (readonly [string, JsonObject])[] {
  if (!isObject(properties) || patternProperties !== undefined) {
    throw new SchemaProblem(
      "",
      "has no fixed fields",
      "name each field, as in z.object({ name: z.string() })",
    );
  }
  return Object.entries(properties).map(([name, field]) => [name, isObject(field) ? field : {}]);
}

/**
 * Removes the bounds that Zod adds to every integer. They are the limits of safe integers, which do
 * not help the person who fills in the form.
 */
function withoutZodBounds(field: JsonObject): JsonObject {
  const { minimum, maximum, ...rest } = field;
  const isTelling = (bound: unknown): bound is number =>
    typeof bound === "number" && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  return {
    ...rest,
    ...(isTelling(minimum) && { minimum }),
    ...(isTelling(maximum) && { maximum }),
  };
}
