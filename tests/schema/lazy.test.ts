import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import * as z3 from "zod/v3";
import { toElicitationSchema } from "../../src/schema/elicitation.ts";
import { checkedHeaders } from "../../src/schema/header-parameters.ts";
import {
  fieldsOf,
  formSchema,
  isPlainForm,
  isPlainObject,
  objectSchema,
} from "../../src/schema/lazy.ts";
import { toObjectSchema } from "../../src/schema/schema.ts";
import type { Schema, SchemaInput } from "../../src/schema/types.ts";
import { describe, it } from "../suite.ts";

const word = fc.string({ minLength: 1, maxLength: 5 });
const words = fc.uniqueArray(word, { minLength: 1, maxLength: 3 });

/** Parts that are always present, and one or two of each kind that must be tried. */
const part: fc.Arbitrary<z.ZodType> = fc.oneof(
  fc.nat(9).chain((n) =>
    fc.constantFrom<z.ZodType>(z.string(), z.string().min(n).max(n), z.string().length(n))
  ),
  fc.integer().chain((n) =>
    fc.constantFrom<z.ZodType>(z.number().gt(n), z.int().lte(n), z.number().multipleOf(2), z.nan())
  ),
  fc.constantFrom<z.ZodType>(
    z.boolean(),
    z.email(),
    z.string().regex(/a/),
    z.string().trim(),
    z.date(),
    z.bigint(),
    z.file(),
    z.promise(z.string()),
    z.null(),
    z.undefined(),
    z.any(),
    z.never(),
    z.symbol(),
    z.map(z.string(), z.string()),
    z.record(z.string(), z.int()),
    z.string().refine((text) => text !== ""),
    z.string().refine((text) => Promise.resolve(text !== "")),
    z.string().refine(async (text) => await Promise.resolve(text !== "")),
    z.string().transform(async (text) => await Promise.resolve(text)),
    z.string().transform(Number),
    z.lazy(() => z.string()),
    z.coerce.number(),
    z.literal([1, "a", true, null]),
    z.literal(3n),
    z.enum({ A: 1, B: 2 }),
    z.stringbool(),
    z.tuple([z.string()]),
    z.templateLiteral(["a", z.int()]),
    z.custom(() => true),
  ),
  words.map((values) => z.enum(values)),
  words.map((values) => z.literal(values)),
  fc.tuple(words, word).map(([values, title]) =>
    z.union(values.map((value) => z.literal(value).meta({ title })))
  ),
);

const type: fc.Arbitrary<z.ZodType> = fc.letrec<{ type: z.ZodType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    part,
    tie("type").map((inner) => inner.optional()),
    tie("type").map((inner) => inner.nullable()),
    tie("type").map((inner) => inner.readonly()),
    fc.tuple(tie("type"), fc.constantFrom<unknown>("a", 1, false, null, { a: 1 }, 2n)).map((
      [inner, value],
    ) => inner.default(value as never)),
    tie("type").map((inner) => z.array(inner).min(1)),
    tie("type").map((inner) => z.union([inner, z.string()])),
    fc.dictionary(word, tie("type"), { maxKeys: 2 }).map((shape) => z.object(shape)),
    fc.dictionary(word, tie("type"), { maxKeys: 2 }).map((shape) => z.strictObject(shape)),
    fc.tuple(
      tie("type"),
      fc.constantFrom<{ [key: string]: unknown }>(
        { title: "A" },
        { description: "B" },
        { id: "c" },
        { "x-mcp-header": "D" },
        { examples: [2n] },
      ),
    ).map(([inner, meta]) => inner.clone().register(z.globalRegistry, meta)),
  ),
})).type;

const object = fc.dictionary(word, type, { maxKeys: 4 }).map((shape) => z.object(shape));

/** The outcome: a schema or an error. */
function outcome(make: () => Schema): unknown {
  try {
    const { json, parse } = make();
    return { json, parsed: [parse({}), parse({ a: 1 }), parse(undefined)] };
  } catch (error) {
    return String(error);
  }
}

describe("objectSchema() and formSchema()", () => {
  it("return the same as toSchema(), whatever the schema", () => {
    let waiting = 0;
    let tried = 0;
    fc.assert(
      fc.property(object, fc.constantFrom("input" as const, "output" as const), (input, side) => {
        // Ids must be globally unique.
        z.globalRegistry._idmap.clear();
        if (isPlainObject(input)) {
          waiting++;
          assert.deepEqual(checkedHeaders("tool", toObjectSchema(input, side).json), []);
        } else tried++;
        assert.deepEqual(
          outcome(() => objectSchema(input, side)),
          outcome(() => toObjectSchema(input, side)),
        );
        assert.deepEqual(
          outcome(() => formSchema(input)),
          outcome(() => toElicitationSchema(input)),
        );
      }),
      { numRuns: 300 },
    );
    assert.ok(waiting > 20 && tried > 20, `${waiting} waited, ${tried} were tried`);
  });

  it("refuse at once what has no JSON Schema or is not a form", () => {
    for (const odd of [z.date(), z.custom(), z.lazy(() => z.bigint()), z.string().optional()]) {
      const input = z.object({ odd: z.object({ odd }) });
      if (odd.type !== "optional") assert.throws(() => objectSchema(input, "input"));
      assert.throws(() => formSchema(input));
    }
    assert.throws(() => objectSchema(z.string(), "input"));
    assert.throws(() => formSchema(z.object({ a: z.array(z.string()) })));
    assert.throws(() => formSchema(z.object({ a: z.string().nullable() })));
    assert.throws(() => formSchema(z.object({ a: z.literal(1) })));
    const none: [] = [];
    assert.throws(() => formSchema(z.object({ a: z.enum(none) })));
  });

  it("generate the JSON Schema of plain schemas on first access, once", () => {
    let made = 0;
    const counted = z.string();
    const input = z.object({
      get counted() {
        return counted;
      },
    });
    const { processJSONSchema } = counted._zod;
    counted._zod.processJSONSchema = (...args) => {
      made++;
      processJSONSchema!(...args);
    };
    const schema = objectSchema(input, "input");
    assert.equal(schema.parse({ counted: "x" }).ok, true);
    assert.deepEqual(fieldsOf(input, schema), ["counted"]);
    assert.equal(made, 0);
    assert.equal(schema.json, schema.json);
    assert.equal(made, 1);
  });
});

describe("isPlainObject()", () => {
  it("is true for what most tools take", () => {
    const airport = z.enum(["BER", "OSL"]).describe("Where");
    const input = z.object({
      from: airport,
      to: airport,
      passengers: z.int().min(1).max(9).default(1),
      notes: z.array(z.object({ text: z.string().max(100) })).optional(),
    });
    assert.ok(isPlainObject(input));
    assert.deepEqual(checkedHeaders("tool", toObjectSchema(input, "input").json), []);
  });

  it("is false for header parameters, custom names, and schemas that may be endless", () => {
    const others: SchemaInput[] = [
      z.object({ a: z.string().meta({ "x-mcp-header": "A" }) }),
      z.object({ a: z.string() }).meta({ id: "only here" }),
      z.object({
        get a() {
          return z.object({}).extend({ a: this });
        },
      }),
      z.object({
        get a(): z.ZodType {
          throw new Error("not yet");
        },
      }),
      z.looseObject({}),
      z3.object({ a: z3.string() }),
      { type: "object" },
      null as never,
      undefined as never,
    ];
    for (const input of others) assert.equal(isPlainObject(input) || isPlainForm(input), false);
  });
});

describe("isPlainForm()", () => {
  it("is true for most forms, and false for lists and objects", () => {
    const cell = z.union(["1", "2"].map((value) => z.literal(value).meta({ title: value })));
    assert.ok(isPlainForm(z.object({ cell, sure: z.boolean().default(true) })));
    assert.ok(!isPlainForm(z.object({ all: z.array(z.enum(["1"])) })));
    assert.ok(!isPlainForm(z.object({ nested: z.object({}) })));
  });
});
