import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import * as z3 from "zod/v3";
import { toElicitationSchema } from "../../src/schema/elicitation.ts";
import { describeIssues } from "../../src/schema/issues.ts";
import { SchemaProblem } from "../../src/schema/problem.ts";
import { toSchema } from "../../src/schema/schema.ts";
import type { SchemaInput } from "../../src/schema/types.ts";
import { assertForm } from "./form-rules.ts";
import { describe, it } from "../suite.ts";

const words = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 4 });

const choice: fc.Arbitrary<z.ZodType> = fc.oneof(
  words.map((values) => z.enum(values)),
  words.map((values) => z.literal(values)),
  fc.tuple(words, fc.string()).map(([values, title]) =>
    z.union(values.map((value, i) => i % 2 ? z.literal(value) : z.literal(value).meta({ title })))
  ),
);

const flat: fc.Arbitrary<z.ZodType> = fc.oneof(
  fc.nat(9).chain((min) => fc.constantFrom(z.string(), z.string().min(min), z.string().max(min))),
  fc.constantFrom<z.ZodType>(z.email(), z.url(), z.iso.date(), z.iso.datetime()),
  fc.integer().map((limit) => z.number().gt(limit)),
  fc.double({ noNaN: true }).map((limit) => z.number().max(limit)),
  fc.integer().map((limit) => z.int().lt(limit).default(limit)),
  fc.boolean().map((value) => z.boolean().default(value)),
  fc.string().map((value) => z.string().regex(/^a/).default(value)),
  choice,
  fc.tuple(choice, fc.nat(3)).map(([item, min]) => z.array(item).min(min)),
);

const field = fc.tuple(flat, fc.boolean(), fc.option(fc.string(), { nil: undefined })).map(
  ([type, isOptional, description]) => {
    const described = description === undefined ? type : type.describe(description);
    return isOptional ? described.optional() : described;
  },
);

const form = fc.dictionary(fc.string(), field, { maxKeys: 6 }).map((shape) => z.object(shape));

const someSchemas: SchemaInput[] = [
  z.object({ a: z.string(), b: z.array(z.union([z.number(), z.object({ c: z.int() })])) }),
  z.discriminatedUnion("a", [z.object({ a: z.literal(1) }), z.strictObject({ a: z.literal("") })]),
  z.json(),
  z.record(z.enum(["a", "b"]), z.email()),
  z.object({ a: z.string().transform((it) => it.length).pipe(z.number().min(2)).catch(0) }),
  z3.object({
    a: z3.string(),
    b: z3.array(z3.union([z3.number(), z3.object({ c: z3.number().int() })])),
  }),
  z3.discriminatedUnion("a", [z3.object({ a: z3.literal(1) }), z3.object({ a: z3.literal("") })]),
  z3.intersection(z3.record(z3.number()), z3.object({ a: z3.number() }).strict()),
  {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["a", "b"],
    additionalProperties: false,
  },
  {
    anyOf: [{ type: "array", items: { $ref: "#" } }, {
      type: "object",
      additionalProperties: { $ref: "#" },
    }],
  },
  {
    oneOf: [{ type: "number" }, { type: "integer" }, false],
    propertyNames: { maxLength: 1 },
    contains: { const: null },
  },
  {
    type: "array",
    prefixItems: [{}],
    items: false,
    uniqueItems: true,
    minContains: 2,
    contains: { type: "string" },
  },
];

describe("toElicitationSchema() for any flat Zod schema", () => {
  it("returns what MCP allows as requestedSchema", () => {
    fc.assert(fc.property(form, (schema) => {
      assertForm(toElicitationSchema(schema).json);
    }));
  });

  it("returns a schema that it would pass on verbatim", () => {
    fc.assert(fc.property(form, (schema) => {
      const { json } = toElicitationSchema(schema);
      assert.equal(toElicitationSchema(json).json, json);
    }));
  });

  it("parses any answer without throwing", () => {
    fc.assert(fc.property(form, fc.jsonValue(), (schema, answer) => {
      const outcome = toElicitationSchema(schema).parse(answer);
      assert.ok(outcome.ok || outcome.issues.length > 0);
    }));
  });
});

describe("parse() of any schema", () => {
  const schemas = someSchemas.map((input) => toSchema(input, "input"));

  it("returns a value or issues for every value", () => {
    const anything = fc.oneof(fc.jsonValue(), fc.anything({ withBigInt: true, withDate: true }));
    fc.assert(
      fc.property(fc.constantFrom(...schemas), anything, (schema, value) => {
        const outcome = schema.parse(value);
        if (outcome.ok) return;
        assert.notEqual(describeIssues(outcome.issues), "");
        // Not of the sentence: a hostile name may look like anything.
        for (const { message } of outcome.issues) {
          assert.doesNotMatch(message, /undefined|#\/|subschema/);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("toElicitationSchema() for any JSON value", () => {
  it("accepts it, or throws a SchemaProblem", () => {
    fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (value, fieldValue) => {
      for (const input of [value, { type: "object", properties: { f: fieldValue } }]) {
        try {
          assertForm(toElicitationSchema(input as never).json);
        } catch (error) {
          assert.ok(error instanceof SchemaProblem, String(error));
        }
      }
    }));
  });
});
