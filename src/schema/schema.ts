/**
 * Entry point of this folder. Converts an author's Zod type or JSON Schema into a `Schema` once,
 * when the tool is defined. No code outside this folder distinguishes Zod from JSON Schema.
 */
import type { JsonObject } from "../model/content.ts";
import { fromJsonSchema } from "./json-schema.ts";
import { SchemaProblem } from "./problem.ts";
import type { Infer, InferObject, Schema, SchemaInput, SchemaSide } from "./types.ts";
import { fromZod3, isZod3 } from "./zod3.ts";
import { fromZod4, isZod4 } from "./zod4.ts";

/**
 * Converts `input` to a schema. `side` says whether its JSON Schema describes values before or
 * after parsing.
 */
export function toSchema<S extends SchemaInput>(input: S, side: SchemaSide): Schema<Infer<S>> {
  return read(input, side) as Schema<Infer<S>>;
}

/** Like `toSchema`, but rejects schemas of anything other than an object. */
export function toObjectSchema<S extends SchemaInput>(
  input: S,
  side: SchemaSide,
): Schema<InferObject<S>> {
  const schema = read(input, side);
  if (schema.json["type"] !== "object") {
    throw new SchemaProblem(
      "",
      `is not an object (${rootOf(schema.json)})`,
      `use z.object({ … }), or JSON Schema with type: "object"`,
    );
  }
  return schema as Schema<InferObject<S>>;
}

/** Returns true for a type of Zod 4 or Zod 3. */
export function isZod(input: object): boolean {
  return isZod4(input) || isZod3(input);
}

function read(input: unknown, side: SchemaSide): Schema {
  if (typeof input === "object" && input !== null) {
    if (isZod4(input)) return fromZod4(input, side);
    if (isZod3(input)) return fromZod3(input, side);
    refuseOthers(input);
    return fromJsonSchema(input as JsonObject);
  }
  throw new SchemaProblem(
    "",
    `is ${input === null ? "null" : `a ${typeof input}`}`,
    "use a Zod type or a JSON Schema object",
  );
}

/**
 * Throws for common mistakes. Nearly every object is a valid JSON Schema, so the validator would
 * not report them.
 */
function refuseOthers(input: object): void {
  if (Array.isArray(input)) {
    throw new SchemaProblem("", "is an array", "use a Zod type or a JSON Schema object");
  }
  const fields = Object.entries(input);
  if (fields.some(([name]) => name === "~standard")) {
    throw new SchemaProblem(
      "",
      "comes from another schema library",
      "use Zod, or pass the JSON Schema that the library generates",
    );
  }
  const field = fields.find(([, value]) =>
    typeof value === "object" && value !== null && isZod(value)
  );
  if (field) {
    throw new SchemaProblem(
      field[0],
      "is a Zod type in a plain object",
      "wrap the object in z.object({ … })",
    );
  }
}

function rootOf({ type, anyOf, oneOf, allOf }: JsonObject): string {
  if (type !== undefined) return `its type is ${JSON.stringify(type)}`;
  if (anyOf ?? oneOf) return "it is a union";
  return allOf ? "it is an intersection" : "it has no type";
}

const known = new WeakMap<object, Schema<unknown>>();

/** Returns the input-side schema of `input`, converted once and then reused. */
export function schemaOf(input: SchemaInput): Schema<unknown> {
  const schema = known.get(input);
  if (schema) return schema;
  const made = toSchema(input, "input");
  known.set(input, made);
  return made;
}
