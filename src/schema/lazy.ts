/**
 * Creates the schemas of tools, prompts and resources. For a plain Zod object, the JSON Schema is
 * generated on first access, because its generation cannot fail. Any other schema is converted
 * immediately, so that mistakes surface when the tool is defined.
 */
import { type $ZodType, globalRegistry } from "zod/v4/core";
import type { JsonObject } from "../model/content.ts";
import { toElicitationSchema } from "./elicitation.ts";
import type { SchemaReader } from "./schema-reader.ts";
import { schemaOf, toObjectSchema } from "./schema.ts";
import type { InferObject, Schema, SchemaInput, SchemaSide } from "./types.ts";
import { zod4Parser } from "./zod4.ts";

/** Converts the schemas and forms that a tool passes to `ctx`. */
export const schemaReader: SchemaReader = { schema: schemaOf, form: toElicitationSchema };

/**
 * Like `toObjectSchema`, but lazy for plain objects. Throws immediately for a schema that cannot be
 * used.
 */
export function objectSchema<S extends SchemaInput>(
  input: S,
  side: SchemaSide,
): Schema<InferObject<S>> {
  const made = () => toObjectSchema(input, side);
  return isPlainObject(input) ? lazySchema(() => made().json, zod4Parser(input)) : made();
}

/**
 * Like `toElicitationSchema`, but lazy for plain forms. Throws immediately for a schema that cannot
 * be used.
 */
export function formSchema<S extends SchemaInput>(input: S): Schema<InferObject<S>> {
  const made = () => toElicitationSchema(input);
  return isPlainForm(input) ? lazySchema(() => made().json, zod4Parser(input)) : made();
}

/** Returns the field names of an object schema. */
export function fieldsOf(input: SchemaInput, schema: Schema): string[] {
  return isPlainObject(input) ? plainFields(input) : Object.keys(schema.json.properties ?? {});
}

function lazySchema<T>(make: () => JsonObject, parse: Schema<unknown>["parse"]): Schema<T> {
  let json: JsonObject | undefined;
  return {
    get json() {
      return json ??= make();
    },
    parse: parse as Schema<T>["parse"],
  };
}

/** The parts of a Zod type that this file reads. */
interface Part {
  readonly _zod: {
    readonly def: {
      readonly type: string;
      readonly checks?: readonly Check[];
      readonly [name: string]: unknown;
    };
    readonly toJSONSchema?: unknown;
  };
}

interface Check {
  readonly _zod: { readonly def: { readonly check: string; readonly value?: unknown } };
}

const TEXT_CHECKS = ["min_length", "max_length", "length_equals"];
const LIST_CHECKS = TEXT_CHECKS;
const NUMBER_CHECKS = ["greater_than", "less_than"];
/** The maximum depth of a plain type. Types that nest deeper may be recursive. */
const MAX_DEPTH = 16;

const known = new WeakMap<object, boolean>();

/**
 * Returns true if the input is a Zod object with only well-known types, and no metadata other than
 * title and description.
 */
export function isPlainObject(input: SchemaInput): input is $ZodType {
  return memoized(input, (part) => isPlainShape(part, (field) => isPlain(field, 1)));
}

const forms = new WeakMap<object, boolean>();

/** Like `isPlainObject`, but returns true only if a form supports all fields. */
export function isPlainForm(input: SchemaInput): input is $ZodType {
  return memoized(input, (part) => isPlainShape(part, isAskable), forms);
}

/** Returns the field names of a plain object. */
export function plainFields(input: $ZodType): string[] {
  return Object.keys((input as unknown as Part)._zod.def.shape as object);
}

function memoized(
  input: unknown,
  check: (part: Part) => boolean,
  answers = known,
): boolean {
  if (typeof input !== "object" || input === null || !("_zod" in input)) return false;
  let answer = answers.get(input);
  if (answer === undefined) {
    answer = succeeds(() => check(input as Part));
    answers.set(input, answer);
  }
  return answer;
}

/**
 * Returns false if the check throws, because a getter of the author's schema threw. The full
 * conversion then reports that error with its field.
 */
function succeeds(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}

function isPlainShape(part: Part, isField: (field: Part) => boolean): boolean {
  const { type, shape, catchall } = part._zod.def;
  if (type !== "object" || catchall !== undefined || !hasNoMetadata(part) || hasChecks(part, [])) {
    return false;
  }
  return Object.entries(shape as { [name: string]: Part })
    .every(([name, field]) => name !== "__proto__" && isField(field));
}

function isPlain(part: Part, depth: number): boolean {
  if (depth > MAX_DEPTH || !hasNoMetadata(part)) return false;
  const { def } = part._zod;
  switch (def.type) {
    case "array":
      return !hasChecks(part, LIST_CHECKS) && isPlain(def.element as Part, depth + 1);
    case "object":
      return isPlainShape(part, (field) => isPlain(field, depth + 1));
    case "literal":
      return !hasChecks(part, []) && (def.values as unknown[]).every(isScalar);
    case "optional":
    case "default":
      return isWrapper(part) && isPlain(def.innerType as Part, depth + 1);
    default:
      return isSimple(part);
  }
}

function isAskable(part: Part): boolean {
  if (!hasNoMetadata(part)) return false;
  const { def } = part._zod;
  switch (def.type) {
    case "optional":
    case "default":
      return isWrapper(part) && isAskable(def.innerType as Part);
    case "union":
      return !hasChecks(part, []) && def.discriminator === undefined && def.inclusive !== false &&
        isNotEmpty(def.options as Part[]) && (def.options as Part[]).every(isChoice);
    default:
      return isSimple(part);
  }
}

/** Returns true if the type is a string, a number, a boolean or an enum of strings. */
function isSimple(part: Part): boolean {
  const { def } = part._zod;
  switch (def.type) {
    case "string":
      return def.format === undefined && !hasChecks(part, TEXT_CHECKS);
    case "number":
      return (def.format === undefined || def.format === "safeint") &&
        !hasChecks(part, NUMBER_CHECKS);
    case "boolean":
      return !hasChecks(part, []);
    case "enum": {
      const values = Object.values(def.entries as object);
      return isNotEmpty(values) && values.every((value) => typeof value === "string") &&
        !hasChecks(part, []);
    }
    default:
      return false;
  }
}

/** Returns true if the type is a string literal. */
function isChoice(part: Part): boolean {
  const { def } = part._zod;
  return def.type === "literal" && hasNoMetadata(part) && !hasChecks(part, []) &&
    isNotEmpty(def.values as unknown[]) &&
    (def.values as unknown[]).every((value) => typeof value === "string");
}

function isWrapper(part: Part): boolean {
  const { def } = part._zod;
  return !hasChecks(part, []) && (def.type === "optional" || isScalar(def.defaultValue));
}

/** Returns true if the type has checks that are not in `allowed`. */
function hasChecks({ _zod: { def } }: Part, allowed: readonly string[]): boolean {
  return def.checks?.some(({ _zod: { def: { check, value } } }) =>
    !allowed.includes(check) || (value !== undefined && typeof value !== "number")
  ) ?? false;
}

/** Returns true if the type has no metadata other than title and description. */
function hasNoMetadata(part: Part): boolean {
  if (part._zod.toJSONSchema !== undefined) return false;
  const metadata = globalRegistry.get(part as unknown as $ZodType) ?? {};
  return Object.entries(metadata).every(([key, value]) =>
    (key === "title" || key === "description") && typeof value === "string"
  );
}

function isNotEmpty(values: readonly unknown[]): boolean {
  return values.length > 0;
}

function isScalar(value: unknown): boolean {
  return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}
