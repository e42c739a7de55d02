/**
 * What MCP allows as `requestedSchema`, restated strictly: the official schema
 * lists the keywords but does not forbid others, this does.
 */
import assert from "node:assert/strict";
import { ElicitRequestFormParamsSchema } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { toElicitationSchema } from "../../src/schema/elicitation.ts";
import { SchemaProblem } from "../../src/schema/problem.ts";
import type { SchemaInput } from "../../src/schema/types.ts";

const common = { title: z.string().optional(), description: z.string().optional() };
const text = { ...common, type: z.literal("string"), default: z.string().optional() };
const list = {
  ...common,
  type: z.literal("array"),
  minItems: z.int().optional(),
  maxItems: z.int().optional(),
  default: z.array(z.string()).optional(),
};
const values = z.array(z.string()).min(1);
const titles = z.array(z.strictObject({ const: z.string(), title: z.string() })).min(1);

const field = z.union([
  z.strictObject({
    ...text,
    minLength: z.int().optional(),
    maxLength: z.int().optional(),
    format: z.enum(["email", "uri", "date", "date-time"]).optional(),
  }),
  z.strictObject({
    ...common,
    type: z.enum(["number", "integer"]),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    default: z.number().optional(),
  }),
  z.strictObject({ ...common, type: z.literal("boolean"), default: z.boolean().optional() }),
  z.strictObject({ ...text, enum: values }),
  z.strictObject({ ...text, enum: values, enumNames: z.array(z.string()) }),
  z.strictObject({ ...text, oneOf: titles }),
  z.strictObject({ ...list, items: z.strictObject({ type: z.literal("string"), enum: values }) }),
  z.strictObject({ ...list, items: z.strictObject({ anyOf: titles }) }),
]);

const form = z.strictObject({
  $schema: z.string().optional(),
  type: z.literal("object"),
  properties: z.record(z.string(), field),
  required: z.array(z.string()).optional(),
});

/** Fails unless `json` is a valid `requestedSchema`, by these rules and by the official SDK's. */
export function assertForm(json: unknown): void {
  const strict = form.safeParse(json);
  assert.ok(strict.success, `${JSON.stringify(json)}: ${strict.error}`);
  const official = ElicitRequestFormParamsSchema.safeParse({ message: "?", requestedSchema: json });
  assert.ok(official.success, `${JSON.stringify(json)}: ${official.error}`);
}

/** The problem with a schema that must not be accepted as a form. */
export function refusal(schema: SchemaInput): SchemaProblem {
  try {
    toElicitationSchema(schema);
  } catch (error) {
    assert.ok(error instanceof SchemaProblem, String(error));
    assert.ok(error.problem !== "" && error.wayOut !== "");
    return error;
  }
  assert.fail("was not refused");
}
