/**
 * The way in: whatever an author wrote a schema in becomes a `Schema`, once,
 * when the tool is defined. Nothing outside this folder tells Zod from JSON.
 */
import type { JsonObject } from "../model/content.ts";
import { fromJsonSchema } from "./json-schema.ts";
import { SchemaProblem } from "./problem.ts";
import type { Infer, InferObject, Schema, SchemaInput, SchemaSide } from "./types.ts";
import { fromZod3, isZod3 } from "./zod3.ts";
import { fromZod4, isZod4 } from "./zod4.ts";

/** The schema that `input` describes, seen from its input or its output side. */
export function toSchema<S extends SchemaInput>(input: S, side: SchemaSide): Schema<Infer<S>> {
  return read(input, side) as Schema<Infer<S>>;
}

/** As `toSchema`, for places where only an object will do. */
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

/** True for what Zod made, of either version. */
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

/** Nearly everything is a valid JSON Schema; these are mistakes all the same. */
function refuseOthers(input: object): void {
  if (Array.isArray(input)) {
    throw new SchemaProblem("", "is an array", "use a Zod type or a JSON Schema object");
  }
  const fields = Object.entries(input);
  if (fields.some(([name]) => name === "~standard")) {
    throw new SchemaProblem(
      "",
      "comes from another schema library",
      "use Zod, or give the JSON Schema that the library makes of it",
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

/** `toSchema` for what comes in, made once for each schema however often it is used. */
export function schemaOf(input: SchemaInput): Schema<unknown> {
  const schema = known.get(input);
  if (schema) return schema;
  const made = toSchema(input, "input");
  known.set(input, made);
  return made;
}
