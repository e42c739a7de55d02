/**
 * Schemas that a tool gives in the middle of its run. They are read by whoever has
 * built the tool: a server that has no tools yet starts without everything, Zod
 * above all, that only tools need.
 */
import type { Schema, SchemaInput } from "./types.ts";

export interface SchemaReader {
  readonly schema: (input: SchemaInput) => Schema<unknown>;
  readonly form: (input: SchemaInput) => Schema<unknown>;
}

let reader: SchemaReader | undefined;

/** From now on, schemas are read by this. */
export function readSchemasWith(given: SchemaReader): void {
  reader = given;
}

/** What a model is to answer with. */
export function readSchema(input: SchemaInput): Schema<unknown> {
  return present().schema(input);
}

/** What a person is to fill in. */
export function readForm(input: SchemaInput): Schema<unknown> {
  return present().form(input);
}

function present(): SchemaReader {
  if (reader) return reader;
  throw new Error(
    "Cannot read the schema: no tool was ever built here; build tools with createMcpTool",
  );
}
