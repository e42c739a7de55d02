/**
 * Supports Zod 4: generates the JSON Schema, and parses with `safeParse`. The error map supplies
 * the messages that the author did not define.
 */
import {
  $ZodAsyncError,
  type $ZodIssue,
  type $ZodRawIssue,
  type $ZodType,
  config,
  safeParse,
  toJSONSchema,
} from "zod/v4/core";
import type { JsonObject } from "../model/content.ts";
import { type Finding, MAX_ISSUES, refused, settle, unchecked } from "./issues.ts";
import { definitionName } from "./pointer.ts";
import { fieldAt, notJson, SchemaProblem } from "./problem.ts";
import type { Schema, SchemaSide } from "./types.ts";
import {
  boundOf,
  choices,
  countedIn,
  kindName,
  kindOf,
  MANY_FORMS_FIT,
  NO_FORM_FITS,
  NOT_VALID,
  outside,
  UNKNOWN_FIELD,
  WRONG_NAME,
  wrongChoice,
  wrongFormat,
  wrongKind,
  wrongPattern,
} from "./wording.ts";

const CONTEXT = { error: wordingOf, reportInput: true };
const ASYNC = "its schema has an asynchronous check or transform";

/** Returns true for a type of Zod 4, including Zod Mini. */
export function isZod4(input: object): input is $ZodType {
  return "_zod" in input;
}

/** Builds a schema from a Zod 4 type. */
export function fromZod4<T>(schema: $ZodType<T>, side: SchemaSide): Schema<T> {
  const { json, asynchronous } = describe(schema, side);
  // Never parse with such a schema: Zod does not handle the promise of the asynchronous check, so
  // its rejection would end the process.
  if (asynchronous) return { json, parse: () => unchecked(undefined, ASYNC) };
  return { json, parse: zod4Parser(schema) };
}

/** Returns the parser of a Zod 4 type that is known to be synchronous. */
export function zod4Parser<T>(schema: $ZodType<T>): Schema<T>["parse"] {
  return (value) => {
    try {
      const result = safeParse(schema, value, CONTEXT);
      if (result.success) return { ok: true, value: result.data };
      return refused(
        result.error.issues.slice(0, MAX_ISSUES).flatMap((issue) => findings(issue, [])),
      );
    } catch (error) {
      return unchecked(error, error instanceof $ZodAsyncError ? ASYNC : undefined);
    }
  };
}

function describe(schema: $ZodType, side: SchemaSide): { json: JsonObject; asynchronous: boolean } {
  let asynchronous = false;
  try {
    const json = toJSONSchema(schema, {
      io: side,
      target: "draft-2020-12",
      unrepresentable: ({ zodSchema, path, message }) => {
        throw notJson(fieldAt(path), zodSchema._zod.def.type, message);
      },
      override: ({ zodSchema, path }) => {
        const { type } = zodSchema._zod.def;
        // Zod generates a JSON Schema for these types, but no JSON value is valid for them.
        if (type === "file" || type === "promise") throw notJson(fieldAt(path.map(String)), type);
        asynchronous ||= isAsynchronous(zodSchema);
      },
    });
    return { json: withoutRootRef(json as JsonObject), asynchronous };
  } catch (error) {
    if (error instanceof SchemaProblem) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SchemaProblem("", `has no JSON Schema (${reason})`, "use types that JSON has", {
      cause: error,
    });
  }
}

function isAsynchronous(schema: $ZodType): boolean {
  const def = schema._zod.def as {
    checks?: unknown[];
    fn?: unknown;
    in?: $ZodType;
    out?: $ZodType;
  };
  const parts = [
    schema,
    def.in,
    def.out,
    ...(def.checks ?? []),
  ] as ({ _zod: { check?: unknown; def: { fn?: unknown; transform?: unknown } } } | undefined)[];
  return parts.some((part) =>
    part && [part._zod.check, part._zod.def.fn, part._zod.def.transform].some(isAsyncFunction)
  );
}

function isAsyncFunction(fn: unknown): boolean {
  return typeof fn === "function" &&
    (fn as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] === "AsyncFunction";
}

/**
 * Moves the root schema out of `$defs`. Zod puts a root with `.meta({ id })` there, but MCP
 * requires `type` at the root.
 */
function withoutRootRef(json: JsonObject): JsonObject {
  const { $schema, $ref, $defs, ...rest } = json;
  const name = definitionName($ref);
  if (name === undefined) return json;
  const { [name]: root, ...others } = $defs as Record<string, JsonObject>;
  const isRecursive = JSON.stringify([root, others]).includes(JSON.stringify($ref));
  const defs = isRecursive ? $defs as JsonObject : others;
  return { $schema, ...root, ...rest, ...(Object.keys(defs).length > 0 && { $defs: defs }) };
}

function wordingOf(issue: $ZodRawIssue): string | undefined {
  if (config().customError) return undefined;
  switch (issue.code) {
    case "invalid_type":
      return wrongKind(issue.expected as string, kindOf(issue.input));
    case "invalid_value":
      return wrongChoice(issue.values as unknown[], kindOf(issue.input));
    case "too_small":
    case "too_big": {
      const counted = countedIn(issue.origin as string);
      if (counted === null) return undefined;
      const [side, limit] = issue.code === "too_small"
        ? ["min" as const, issue.minimum]
        : ["max" as const, issue.maximum];
      return outside(
        boundOf(side, issue.inclusive as boolean, issue.exact as boolean),
        limit,
        counted,
      );
    }
    case "invalid_format":
      return issue.format === "regex"
        ? wrongPattern(String(issue.pattern))
        : wrongFormat(issue.format as string);
    case "unrecognized_keys":
      return UNKNOWN_FIELD;
    case "invalid_union":
      if (issue.options) return wrongChoice(issue.options as unknown[], kindOf(tagOf(issue)));
      return issue.inclusive === false ? MANY_FORMS_FIT : NO_FORM_FITS;
    case "invalid_key":
      return WRONG_NAME;
    case "custom":
      return NOT_VALID;
    default:
      return undefined;
  }
}

/** Returns the value at the tag of a tagged union. */
function tagOf({ input, discriminator }: $ZodRawIssue): unknown {
  return (input as JsonObject | null | undefined)?.[discriminator as string];
}

function findings(issue: $ZodIssue, base: readonly PropertyKey[]): readonly Finding[] {
  const path = [...base, ...issue.path];
  const { message } = issue;
  switch (issue.code) {
    case "invalid_type":
      return [{ path, message, wanted: kindName(issue.expected) }];
    case "invalid_value":
      return [{ path, message, wanted: choices(issue.values), isChoice: true }];
    case "unrecognized_keys":
      return message === UNKNOWN_FIELD
        ? issue.keys.map((key) => ({ path: [...path, key], message }))
        : [{ path, message }];
    case "invalid_union":
      if (message !== NO_FORM_FITS || issue.errors.length === 0) return [{ path, message }];
      return settle(
        issue.errors.map((branch) => branch.flatMap((it) => findings(it, path))),
        path,
        kindOf(issue.input),
      );
    default:
      return [{ path, message }];
  }
}
