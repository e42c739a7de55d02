/**
 * Builds a schema from plain JSON Schema. Clients receive the schema exactly as the author wrote
 * it. Validation uses a copy, because the validator modifies the schema.
 */
import { dereference, type OutputUnit, type SchemaDraft, validate } from "@cfworker/json-schema";
import type { JsonObject } from "../model/content.ts";
import { refused, unchecked } from "./issues.ts";
import { findingsOf, type Subschemas } from "./json-schema-findings.ts";
import { decodePart } from "./pointer.ts";
import { fieldAt, SchemaProblem } from "./problem.ts";
import type { ParseOutcome, Schema } from "./types.ts";
import { kindOf, wrongKind } from "./wording.ts";

// For values with more parts than this, validation stops at the first error.
const MAX_FULLY_CHECKED = 2_000;

/** Builds a schema from a plain JSON Schema object. */
export function fromJsonSchema(json: JsonObject): Schema {
  const copy = copyOf(json);
  const subschemas = subschemasOf(copy);
  const draft = draftOf(copy);
  const errorsOf = (value: unknown, stopAtFirst: boolean): readonly OutputUnit[] =>
    validate(value, copy, draft, subschemas, stopAtFirst).errors;

  function check(value: unknown): ParseOutcome<unknown> {
    const first = errorsOf(value, true);
    if (first.length === 0) return { ok: true, value };
    return refused(
      findingsOf(isSmall(value) ? errorsOf(value, false) : first, copy, subschemas, value),
    );
  }

  return {
    json,
    parse(value) {
      try {
        return check(value);
      } catch (error) {
        return error instanceof RangeError ? unchecked(error) : checkAsJson(value, check);
      }
    },
  };
}

/**
 * Validates a value in the form that it has after a JSON round trip, because the validator throws
 * on `undefined` and similar values.
 */
function checkAsJson(
  value: unknown,
  check: (value: unknown) => ParseOutcome<unknown>,
): ParseOutcome<unknown> {
  try {
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined) {
      return refused([{ path: [], message: wrongKind("JSON", kindOf(value)) }]);
    }
    return check(JSON.parse(text));
  } catch (error) {
    return unchecked(error);
  }
}

function copyOf(json: JsonObject): JsonObject {
  try {
    return JSON.parse(JSON.stringify(json));
  } catch (error) {
    throw new SchemaProblem("", "is not plain JSON", "write it with JSON values only", {
      cause: error,
    });
  }
}

/**
 * Resolves references and compiles patterns when the tool is defined, so that mistakes do not
 * surface during a call.
 */
function subschemasOf(schema: JsonObject): Subschemas {
  let subschemas: Subschemas;
  try {
    subschemas = dereference(schema);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SchemaProblem(
      "",
      `is not a usable JSON Schema (${reason})`,
      "correct its $id and $ref keywords",
      { cause: error },
    );
  }
  for (const [uri, subschema] of Object.entries(subschemas)) {
    if (typeof subschema !== "object") continue;
    const field = fieldAt((uri.split("#/")[1] ?? "").split("/").map(decodePart));
    const { $ref, __absolute_ref__: target, pattern, patternProperties } = subschema;
    if (typeof $ref === "string" && subschemas[target ?? $ref] === undefined) {
      throw new SchemaProblem(
        field,
        `refers to "${$ref}", which does not exist`,
        "define it in $defs",
      );
    }
    for (const each of [pattern, ...Object.keys(patternProperties ?? {})]) {
      if (typeof each === "string" && !isPattern(each)) {
        throw new SchemaProblem(
          field,
          `has the pattern "${each}", which is not a regular expression`,
          "correct the pattern, which must be valid with the flag u",
        );
      }
    }
  }
  return subschemas;
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u") !== undefined;
  } catch {
    return false;
  }
}

function draftOf({ $schema }: JsonObject): SchemaDraft {
  if (typeof $schema !== "string") return "2020-12";
  if ($schema.includes("draft-04")) return "4";
  if ($schema.includes("draft-06") || $schema.includes("draft-07")) return "7";
  return $schema.includes("2019-09") ? "2019-09" : "2020-12";
}

function isSmall(value: unknown): boolean {
  const rest = [value];
  for (let count = 0; rest.length > 0; count++) {
    if (count + rest.length > MAX_FULLY_CHECKED) return false;
    const next = rest.pop();
    if (typeof next === "object" && next !== null) {
      for (const key of Object.keys(next)) rest.push((next as JsonObject)[key]);
    }
  }
  return true;
}
