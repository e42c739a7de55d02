/**
 * Schemas of definitions: their JSON is made when it is looked at, where nothing can go
 * wrong. Whoever has definitions also reads what their runs give.
 */
import { type $ZodType, globalRegistry } from "zod/v4/core";
import type { JsonObject } from "../model/content.ts";
import { toElicitationSchema } from "./elicitation.ts";
import type { SchemaReader } from "./schema-reader.ts";
import { schemaOf, toObjectSchema } from "./schema.ts";
import type { InferObject, Schema, SchemaInput, SchemaSide } from "./types.ts";
import { zod4Parser } from "./zod4.ts";

/** Reads schemas and forms during a run. */
export const schemaReader: SchemaReader = { schema: schemaOf, form: toElicitationSchema };

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

/** A Zod type, as far as it is read here. */
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

const OF_TEXT = ["min_length", "max_length", "length_equals"];
const OF_LISTS = OF_TEXT;
const OF_NUMBERS = ["greater_than", "less_than"];
/** Deeper ones may be endless. */
const DEEPEST = 16;

const known = new WeakMap<object, boolean>();

/** An object with well-known fields, and nothing said of them but titles and descriptions. */
export function isPlainObject(input: SchemaInput): input is $ZodType {
  return remembered(input, (part) => isObject(part, (field) => isPlain(field, 1)));
}

const forms = new WeakMap<object, boolean>();

/** As `isPlainObject`, with fields that every form can ask for. */
export function isPlainForm(input: SchemaInput): input is $ZodType {
  return remembered(input, (part) => isObject(part, isAskable), forms);
}

/** The names of the fields of a plain object. */
export function plainFields(input: $ZodType): string[] {
  return Object.keys((input as unknown as Part)._zod.def.shape as object);
}

function remembered(
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

/** What an author wrote may throw; whoever tries it then says so better. */
function succeeds(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}

function isObject(part: Part, isField: (field: Part) => boolean): boolean {
  const { type, shape, catchall } = part._zod.def;
  if (type !== "object" || catchall !== undefined || !isUnmarked(part) || hasChecks(part, [])) {
    return false;
  }
  return Object.entries(shape as { [name: string]: Part })
    .every(([name, field]) => name !== "__proto__" && isField(field));
}

function isPlain(part: Part, depth: number): boolean {
  if (depth > DEEPEST || !isUnmarked(part)) return false;
  const { def } = part._zod;
  switch (def.type) {
    case "array":
      return !hasChecks(part, OF_LISTS) && isPlain(def.element as Part, depth + 1);
    case "object":
      return isObject(part, (field) => isPlain(field, depth + 1));
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
  if (!isUnmarked(part)) return false;
  const { def } = part._zod;
  switch (def.type) {
    case "optional":
    case "default":
      return isWrapper(part) && isAskable(def.innerType as Part);
    case "union":
      return !hasChecks(part, []) && def.discriminator === undefined && def.inclusive !== false &&
        isFull(def.options as Part[]) && (def.options as Part[]).every(isChoice);
    default:
      return isSimple(part);
  }
}

/** Text, a number, yes or no, or one of some texts. */
function isSimple(part: Part): boolean {
  const { def } = part._zod;
  switch (def.type) {
    case "string":
      return def.format === undefined && !hasChecks(part, OF_TEXT);
    case "number":
      return (def.format === undefined || def.format === "safeint") && !hasChecks(part, OF_NUMBERS);
    case "boolean":
      return !hasChecks(part, []);
    case "enum": {
      const values = Object.values(def.entries as object);
      return isFull(values) && values.every((value) => typeof value === "string") &&
        !hasChecks(part, []);
    }
    default:
      return false;
  }
}

/** A text that can be chosen. */
function isChoice(part: Part): boolean {
  const { def } = part._zod;
  return def.type === "literal" && isUnmarked(part) && !hasChecks(part, []) &&
    isFull(def.values as unknown[]) &&
    (def.values as unknown[]).every((value) => typeof value === "string");
}

function isWrapper(part: Part): boolean {
  const { def } = part._zod;
  return !hasChecks(part, []) && (def.type === "optional" || isScalar(def.defaultValue));
}

/** Whether anything is checked besides these. */
function hasChecks({ _zod: { def } }: Part, allowed: readonly string[]): boolean {
  return def.checks?.some(({ _zod: { def: { check, value } } }) =>
    !allowed.includes(check) || (value !== undefined && typeof value !== "number")
  ) ?? false;
}

/** Whether nothing is said of it but what people read. */
function isUnmarked(part: Part): boolean {
  if (part._zod.toJSONSchema !== undefined) return false;
  const said = globalRegistry.get(part as unknown as $ZodType) ?? {};
  return Object.entries(said).every(([key, value]) =>
    (key === "title" || key === "description") && typeof value === "string"
  );
}

function isFull(values: readonly unknown[]): boolean {
  return values.length > 0;
}

function isScalar(value: unknown): boolean {
  return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}
