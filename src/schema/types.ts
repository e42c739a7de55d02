/**
 * The common interface of all schemas, `Schema<T>`, independent of the library that the author
 * uses, and the types that are inferred from a schema.
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

/**
 * A plain JSON Schema object. The type of `type` lists the names so that TypeScript keeps
 * `"object"` as a literal, which `Infer` needs.
 */
export interface JsonSchemaObject {
  readonly type?: JsonSchemaType | (string & Record<never, never>) | readonly string[];
  readonly [keyword: string]: unknown;
}

/** A schema as an author writes it: Zod 4, Zod 3 or plain JSON Schema. */
export type SchemaInput = $ZodType | ZodTypeAny | JsonSchemaObject;

/** The type of a parsed value. For plain JSON Schema: `JsonObject` for an object, else `unknown`. */
export type Infer<S> = S extends { readonly _zod: { readonly output: infer T } } ? T
  : S extends { readonly _def: unknown; readonly _output: infer T } ? T
  : S extends { readonly type: "object" } ? JsonObject
  : unknown;

/** The type of a value before parsing. */
export type InferInput<S> = S extends { readonly _zod: { readonly input: infer T } } ? T
  : S extends { readonly _def: unknown; readonly _input: infer T } ? T
  : S extends { readonly type: "object" } ? JsonObject
  : unknown;

/** Like `Infer`, for object schemas: `JsonObject` instead of `unknown`. */
export type InferObject<S> = unknown extends Infer<S> ? JsonObject : Infer<S>;

/** A validation error of a value. */
export interface SchemaIssue {
  /** The path of the invalid part, such as `a.b[0]`. Empty for the whole value. */
  readonly path: string;
  readonly message: string;
}

/** The result of parsing a value. */
export type ParseOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | {
    readonly ok: false;
    readonly issues: readonly SchemaIssue[];
    /**
     * The error that the schema threw, if any. It may be shown to the operator, but never to the
     * client.
     */
    readonly cause?: unknown;
  };

/** A schema that clients can read and that parses values. */
export interface Schema<T = unknown> {
  /** The JSON Schema. Draft 2020-12, unless the author's schema names another draft. */
  readonly json: JsonObject;
  /** Parses a value. Never throws. */
  parse(value: unknown): ParseOutcome<T>;
}

/** Whether a JSON Schema describes values before parsing (`input`) or after parsing (`output`). */
export type SchemaSide = "input" | "output";
