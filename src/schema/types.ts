/**
 * What the rest of the project sees of a schema: one `Schema<T>`, whatever the
 * author wrote it in, and the types to be inferred from what was written.
 */
import type { $ZodType } from "zod/v4/core";
import type { ZodTypeAny } from "zod/v3";
import type { JsonObject } from "../model/content.ts";

/** The type names of JSON Schema. */
export type JsonSchemaType =
  | "object"
  | "array"
  | "string"
  | "number"
  | "integer"
  | "boolean"
  | "null";

/** A plain JSON Schema object. Naming the types keeps `type: "object"` a literal, for `Infer`. */
export interface JsonSchemaObject {
  readonly type?: JsonSchemaType | (string & Record<never, never>) | readonly string[];
  readonly [keyword: string]: unknown;
}

/** Anything that a schema may be written in: Zod 4, Zod 3 or plain JSON Schema. */
export type SchemaInput = $ZodType | ZodTypeAny | JsonSchemaObject;

/** What parsing gives. A plain JSON Schema says no more than whether it is an object. */
export type Infer<S> = S extends { readonly _zod: { readonly output: infer T } } ? T
  : S extends { readonly _def: unknown; readonly _output: infer T } ? T
  : S extends { readonly type: "object" } ? JsonObject
  : unknown;

/** What may be handed to be parsed. */
export type InferInput<S> = S extends { readonly _zod: { readonly input: infer T } } ? T
  : S extends { readonly _def: unknown; readonly _input: infer T } ? T
  : S extends { readonly type: "object" } ? JsonObject
  : unknown;

/** As `Infer`, where the schema is known to be one of an object. */
export type InferObject<S> = unknown extends Infer<S> ? JsonObject : Infer<S>;

/** Something that is wrong with a value. */
export interface SchemaIssue {
  /** Where: `a.b[0]`, or the empty string for the whole value. */
  readonly path: string;
  readonly message: string;
}

/** What became of a value. */
export type ParseOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | {
    readonly ok: false;
    readonly issues: readonly SchemaIssue[];
    /** What the schema threw, if it did: for the operator, never for the client. */
    readonly cause?: unknown;
  };

/** A schema, ready to be shown to a client and to parse values. */
export interface Schema<T = unknown> {
  /** JSON Schema, draft 2020-12 unless the author's own says otherwise. */
  readonly json: JsonObject;
  /** Total: no value makes it throw. */
  parse(value: unknown): ParseOutcome<T>;
}

/** Whether a schema describes what goes into it or what comes out of it. */
export type SchemaSide = "input" | "output";
