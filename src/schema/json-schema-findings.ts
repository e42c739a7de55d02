/**
 * Converts the errors of the JSON Schema validator into findings. The validator returns a flat list
 * in which each error precedes its causes. Only the innermost causes help the reader. The causes of
 * an `anyOf` or `oneOf` error must be grouped by branch.
 */
import type { dereference, OutputUnit } from "@cfworker/json-schema";
import type { JsonObject } from "../model/content.ts";
import { type Finding, settle } from "./issues.ts";
import { decodePart } from "./pointer.ts";
import {
  choices,
  kindOf,
  MANY_FORMS_FIT,
  NOT_VALID,
  outside,
  REQUIRED,
  UNKNOWN_FIELD,
  WRONG_NAME,
  wrongChoice,
  wrongFormat,
  wrongKind,
  wrongPattern,
} from "./wording.ts";

/** All subschemas of a schema, by absolute URI. */
export type Subschemas = ReturnType<typeof dereference>;

const HAS_CAUSES = new Set([
  "$ref",
  "$recursiveRef",
  "additionalItems",
  "additionalProperties",
  "allOf",
  "dependentSchemas",
  "if",
  "items",
  "patternProperties",
  "prefixItems",
  "properties",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** Returns the findings that `errors` describe for `value`. */
export function findingsOf(
  errors: readonly OutputUnit[],
  schema: JsonObject,
  subschemas: Subschemas,
  value: unknown,
): readonly Finding[] {
  const missed = new Set<string>();

  function read(list: readonly OutputUnit[]): readonly Finding[] {
    const found: Finding[] = [];
    for (let i = 0; i < list.length;) {
      const error = list[i++]!;
      if (HAS_CAUSES.has(error.keyword) || isCovered(error, list[i])) continue;
      const start = i;
      if (["anyOf", "oneOf", "contains", "propertyNames"].includes(error.keyword)) {
        while (i < list.length && isBelow(list[i]!, error)) {
          i++;
        }
      }
      found.push(...readOne(error, list.slice(start, i)));
    }
    return found;
  }

  function readOne(error: OutputUnit, below: readonly OutputUnit[]): readonly Finding[] {
    const path = pathTo(error.instanceLocation, value);
    const at = valueAt(value, path);
    const wants = keywordAt(error.keywordLocation, schema, subschemas);
    switch (error.keyword) {
      case "anyOf":
      case "oneOf": {
        const branches = byBranch(error, below);
        if (Array.isArray(wants) && branches.length < wants.length) {
          return [{ path, message: MANY_FORMS_FIT }];
        }
        return settle(branches.map(read), path, kindOf(at));
      }
      case "required":
        return missing(error, path, at, wants);
      case "type": {
        const kinds = [wants].flat().join(" or ");
        return [{ path, message: wrongKind(kinds, kindOf(at)), wanted: kinds }];
      }
      case "const":
      case "enum": {
        const values = error.keyword === "enum" ? wants as unknown[] : [wants];
        return [{
          path,
          message: wrongChoice(values, kindOf(at)),
          wanted: choices(values),
          isChoice: true,
        }];
      }
      case "propertyNames":
        return [{
          path: below[0] ? pathTo(below[0].instanceLocation, value) : path,
          message: WRONG_NAME,
        }];
      case "false":
        return [{
          path,
          message: typeof path.at(-1) === "number"
            ? "is not allowed, because the list is too long"
            : UNKNOWN_FIELD,
        }];
      default:
        return [{ path, message: wordingOf(error.keyword, wants) }];
    }
  }

  /**
   * Returns a finding for each missing field. The validator names the missing field only in the
   * text of its error, so this function finds the missing fields itself.
   */
  function missing(
    error: OutputUnit,
    path: readonly PropertyKey[],
    at: unknown,
    wants: unknown,
  ): readonly Finding[] {
    const place = `${error.instanceLocation} ${error.keywordLocation}`;
    if (missed.has(place)) return [];
    missed.add(place);
    if (!Array.isArray(wants)) return [{ path, message: "has no value for a required field" }];
    return wants.filter((key) => !Object.hasOwn(at as JsonObject, key)).map((key) => ({
      path: [...path, key],
      message: REQUIRED,
    }));
  }

  return read(errors);
}

function wordingOf(keyword: string, wants: unknown): string {
  switch (keyword) {
    case "minimum":
      return outside("at least", wants, undefined);
    case "maximum":
      return outside("at most", wants, undefined);
    case "exclusiveMinimum":
      return outside("more than", wants, undefined);
    case "exclusiveMaximum":
      return outside("less than", wants, undefined);
    case "minLength":
      return outside("at least", wants, "character");
    case "maxLength":
      return outside("at most", wants, "character");
    case "minItems":
      return outside("at least", wants, "item");
    case "maxItems":
      return outside("at most", wants, "item");
    case "minProperties":
      return outside("at least", wants, "field");
    case "maxProperties":
      return outside("at most", wants, "field");
    case "multipleOf":
      return `expected a multiple of ${wants}`;
    case "uniqueItems":
      return "has the same item twice";
    case "pattern":
      return wrongPattern(`/${wants}/`);
    case "format":
      return wrongFormat(String(wants)) ?? `expected the format ${wants}`;
    case "contains":
    case "minContains":
      return "has no item of the required kind";
    case "maxContains":
      return "has too many items of one kind";
    case "dependentRequired":
      return "has no value for a field that another field requires";
    default:
      return NOT_VALID;
  }
}

/**
 * Returns true if a type error can be dropped, because an `enum` or `const` error for the same
 * value says more.
 */
function isCovered(error: OutputUnit, next: OutputUnit | undefined): boolean {
  return error.keyword === "type" && (next?.keyword === "const" || next?.keyword === "enum") &&
    error.instanceLocation === next.instanceLocation &&
    error.keywordLocation.replace(/type$/, next.keyword) === next.keywordLocation;
}

/**
 * Returns true if `error` is a cause of `parent`. For a `false` schema, the validator reports a
 * location in the value instead of the schema.
 */
function isBelow(error: OutputUnit, parent: OutputUnit): boolean {
  return error.keyword === "false" ||
    error.keywordLocation.startsWith(`${parent.keywordLocation}/`);
}

function byBranch(
  parent: OutputUnit,
  below: readonly OutputUnit[],
): readonly (readonly OutputUnit[])[] {
  const branches = new Map<string, OutputUnit[]>();
  let branch = "0";
  for (const error of below) {
    if (error.keyword !== "false") {
      branch = error.keywordLocation.slice(parent.keywordLocation.length + 1).split("/", 1)[0]!;
    }
    const errors = branches.get(branch);
    if (errors) errors.push(error);
    else branches.set(branch, [error]);
  }
  return [...branches.values()];
}

function pathTo(instanceLocation: string, value: unknown): readonly PropertyKey[] {
  const path: PropertyKey[] = [];
  let at = value;
  for (const part of instanceLocation.split("/").slice(1).map(decodePart)) {
    path.push(Array.isArray(at) ? Number(part) : part);
    at = (at as JsonObject | null | undefined)?.[part];
  }
  return path;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const part of path) at = (at as Record<PropertyKey, unknown> | null | undefined)?.[part];
  return at;
}

function keywordAt(keywordLocation: string, schema: JsonObject, subschemas: Subschemas): unknown {
  let at: unknown = schema;
  for (const part of keywordLocation.split("/").slice(1).map(decodePart)) {
    if (typeof at !== "object" || at === null) return undefined;
    const { $ref, __absolute_ref__: target } = at as { $ref?: unknown; __absolute_ref__?: string };
    at = part === "$ref" && typeof $ref === "string"
      ? subschemas[target ?? $ref]
      : (at as JsonObject)[part];
  }
  return at;
}
