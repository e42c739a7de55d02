/**
 * Schemas of definitions: their JSON is made when it is looked at, where nothing can go
 * wrong. Whoever has definitions also reads what their runs give.
 */
import type { JsonObject } from "../model/content.ts";
import { toElicitationSchema } from "./elicitation.ts";
import { readSchemasWith } from "./schema-reader.ts";
import { isPlainForm, isPlainObject, plainFields } from "./plain.ts";
import { schemaOf, toObjectSchema } from "./schema.ts";
import type { InferObject, Schema, SchemaInput, SchemaSide } from "./types.ts";
import { zod4Parser } from "./zod4.ts";

readSchemasWith({ schema: schemaOf, form: toElicitationSchema });

/** As `toObjectSchema`: what it refuses is refused at once. */
export function objectSchema<S extends SchemaInput>(
  input: S,
  side: SchemaSide,
): Schema<InferObject<S>> {
  const made = () => toObjectSchema(input, side);
  return isPlainObject(input) ? later(() => made().json, zod4Parser(input)) : made();
}

/** As `toElicitationSchema`: what it refuses is refused at once. */
export function formSchema<S extends SchemaInput>(input: S): Schema<InferObject<S>> {
  const made = () => toElicitationSchema(input);
  return isPlainForm(input) ? later(() => made().json, zod4Parser(input)) : made();
}

/** The names of an object's fields. */
export function fieldsOf(input: SchemaInput, schema: Schema): string[] {
  return isPlainObject(input) ? plainFields(input) : Object.keys(schema.json.properties ?? {});
}

function later<T>(make: () => JsonObject, parse: Schema<unknown>["parse"]): Schema<T> {
  let json: JsonObject | undefined;
  return {
    get json() {
      return json ??= make();
    },
    parse: parse as Schema<T>["parse"],
  };
}
