/**
 * Converts schemas that a tool passes to `ctx` while it runs.
 *
 * Each definition contains its reader, so code that runs tools does not import a schema library. A
 * server without tools starts without loading Zod.
 */
import type { Schema, SchemaInput } from "./types.ts";

/** Converts schemas of the library that a definition uses. */
export interface SchemaReader {
  /** Converts the schema of a model's answer. */
  readonly schema: (input: SchemaInput) => Schema<unknown>;
  /** Converts the schema of a form that a person fills in. */
  readonly form: (input: SchemaInput) => Schema<unknown>;
}
