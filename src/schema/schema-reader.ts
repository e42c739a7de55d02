/**
 * How a run reads the schemas that a tool passes to `ctx`, in the middle of the run.
 *
 * Each definition carries its reader. Code that runs tools therefore needs no schema library:
 * a server without tools starts without loading Zod.
 */
import type { Schema, SchemaInput } from "./types.ts";

export interface SchemaReader {
  /** Reads a schema that a model's answer must fit. */
  readonly schema: (input: SchemaInput) => Schema<unknown>;
  /** Reads a form that a person fills in. */
  readonly form: (input: SchemaInput) => Schema<unknown>;
}
