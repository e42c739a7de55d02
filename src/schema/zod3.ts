/**
 * Supports Zod 3, for authors who have not migrated. `zod-to-json-schema` generates draft 7; this
 * file converts tuples and references, which differ in draft 2020-12.
 */
import { defaultErrorMap, type ZodIssue, type ZodTypeAny, type ZodTypeDef } from "zod/v3";
import { ignoreOverride, zodToJsonSchema } from "zod-to-json-schema";
import type { JsonObject } from "../model/content.ts";
import { type Finding, MAX_ISSUES, refused, settle, unchecked } from "./issues.ts";
import { fieldAt, notJson, SchemaProblem } from "./problem.ts";
import type { Schema, SchemaSide } from "./types.ts";
import {
  boundOf,
  choices,
  countedIn,
  kindName,
  kindOf,
  NOT_VALID,
  outside,
  UNKNOWN_FIELD,
  wrongChoice,
  wrongFormat,
  wrongKind,
  wrongPattern,
} from "./wording.ts";

const NOT_JSON: Record<string, string> = {
  ZodDate: "date",
  ZodBigInt: "bigint",
  ZodMap: "map",
  ZodSet: "set",
  ZodSymbol: "symbol",
  ZodFunction: "function",
  ZodPromise: "promise",
  ZodNaN: "NaN",
  ZodUndefined: "undefined",
  ZodVoid: "void",
};

/** The fields of a `_def` that this file reads. */
interface Def extends ZodTypeDef {
  typeName?: string;
  coerce?: boolean;
  value?: unknown;
  effect?: { type: string };
}

/** Returns true for a type of Zod 3. */
export function isZod3(input: object): input is ZodTypeAny {
  return "_def" in input && "safeParse" in input;
}

/** Builds a schema from a Zod 3 type. */
export function fromZod3(schema: ZodTypeAny, side: SchemaSide): Schema {
  return {
    json: describe(schema, side),
    parse(value) {
      try {
        const result = schema.safeParse(value);
        if (result.success) return { ok: true, value: result.data };
        return refused(
          result.error.issues.slice(0, MAX_ISSUES).flatMap((issue) => findings(issue, value)),
        );
      } catch (error) {
        // Zod 3 throws a plain Error when a synchronous parse meets an asynchronous check.
        return unchecked(
          error,
          error instanceof RangeError ? undefined : "its schema threw an error or is asynchronous",
        );
      }
    },
  };
}

function describe(schema: ZodTypeAny, side: SchemaSide): JsonObject {
  try {
    const { $schema: _draft7, ...json } = zodToJsonSchema(schema, {
      target: "jsonSchema7",
      $refStrategy: "none",
      pipeStrategy: side,
      // The input may have fields that the schema strips. The output never has them.
      removeAdditionalStrategy: side === "input" ? "strict" : "passthrough",
      override(def: Def, refs, seen) {
        refuse(def, side, refs.currentPath);
        if (def.typeName === "ZodLiteral" && def.value === null) return { type: "null" };
        if (seen && isWithin(refs.currentPath, seen.path)) return { $ref: pointer(seen.path) };
        return ignoreOverride;
      },
      postProcess: (json, def: Def) =>
        json && def.typeName === "ZodTuple" ? tuple(json as JsonObject) : json,
    }) as JsonObject;
    return { $schema: "https://json-schema.org/draft/2020-12/schema", ...json };
  } catch (error) {
    if (error instanceof SchemaProblem) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SchemaProblem("", `has no JSON Schema (${reason})`, "use types that JSON has", {
      cause: error,
    });
  }
}

function refuse(def: Def, side: SchemaSide, path: readonly string[]): void {
  const type = NOT_JSON[def.typeName ?? ""];
  // `z.coerce.date()` accepts the string that the JSON Schema describes.
  const isRead = def.typeName === "ZodDate" && def.coerce && side === "input";
  if (type !== undefined && !isRead) throw notJson(fieldAt(path), type);
  if (
    def.typeName === "ZodLiteral" && ["bigint", "symbol", "undefined"].includes(typeof def.value)
  ) throw notJson(fieldAt(path), typeof def.value);
  if (side === "output" && def.effect?.type === "transform") {
    throw notJson(fieldAt(path), "transform");
  }
}

function isWithin(path: readonly string[], ancestor: readonly string[]): boolean {
  return ancestor.length < path.length && ancestor.every((part, i) => part === path[i]);
}

function pointer(path: readonly string[]): string {
  const parts: string[] = [];
  for (let i = 0; i < path.length; i++) {
    const part = path[i]!;
    if (part === "properties" && i + 1 < path.length) {
      parts.push(part, encodeURIComponent(path[++i]!.replaceAll("~", "~0").replaceAll("/", "~1")));
    } else if (part === "items" && /^\d+$/.test(path[i + 1] ?? "")) parts.push("prefixItems");
    else parts.push(part === "additionalItems" ? "items" : part);
  }
  return parts.join("/");
}

function tuple({ items, additionalItems, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    prefixItems: items,
    ...(additionalItems !== undefined && { items: additionalItems }),
  };
}

function findings(issue: ZodIssue, root: unknown): readonly Finding[] {
  const { path } = issue;
  const isOwn = issue.message !==
    defaultErrorMap(issue, { data: undefined, defaultError: "Invalid input" }).message;
  const message = isOwn ? issue.message : wordingOf(issue, root) ?? issue.message;
  switch (issue.code) {
    case "invalid_type":
      return [{ path, message, wanted: kindName(issue.expected) }];
    case "invalid_literal":
      return [{ path, message, wanted: choices([issue.expected]), isChoice: true }];
    case "invalid_enum_value":
      return [{ path, message, wanted: choices(issue.options), isChoice: true }];
    case "unrecognized_keys":
      return isOwn
        ? [{ path, message }]
        : issue.keys.map((key) => ({ path: [...path, key], message }));
    case "invalid_union":
      if (isOwn) return [{ path, message }];
      return settle(
        issue.unionErrors.map((branch) => branch.issues.flatMap((it) => findings(it, root))),
        path,
        kindOf(valueAt(root, path)),
      );
    default:
      return [{ path, message }];
  }
}

function wordingOf(issue: ZodIssue, root: unknown): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return wrongKind(
        issue.expected,
        issue.received === "undefined" ? "nothing" : kindName(issue.received),
      );
    case "invalid_literal":
      return wrongChoice([issue.expected], kindOf(issue.received));
    case "invalid_enum_value":
      return wrongChoice(issue.options, kindOf(issue.received));
    case "invalid_union_discriminator":
      return wrongChoice(issue.options, kindOf(valueAt(root, issue.path)));
    case "too_small":
    case "too_big": {
      const counted = countedIn(issue.type);
      if (counted === null) return undefined;
      const [side, limit] = issue.code === "too_small"
        ? ["min" as const, issue.minimum]
        : ["max" as const, issue.maximum];
      return outside(boundOf(side, issue.inclusive, issue.exact), limit, counted);
    }
    case "invalid_string":
      if (issue.validation === "regex") return wrongPattern("the pattern");
      return typeof issue.validation === "string" ? wrongFormat(issue.validation) : undefined;
    case "unrecognized_keys":
      return UNKNOWN_FIELD;
    case "custom":
      return NOT_VALID;
    default:
      return undefined;
  }
}

function valueAt(root: unknown, path: readonly (string | number)[]): unknown {
  let value = root;
  for (const part of path) {
    value = (value as Record<string | number, unknown> | null | undefined)?.[part];
  }
  return value;
}
