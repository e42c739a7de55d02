import assert from "node:assert/strict";
import * as z from "zod";
import * as z3 from "zod/v3";
import { toElicitationSchema } from "../../src/schema/elicitation.ts";
import type { SchemaInput } from "../../src/schema/types.ts";
import { assertForm, refusal } from "./form-rules.ts";
import { describe, it } from "../suite.ts";

/** The one field of a form, as it is sent. */
function fieldOf(field: z.ZodType | z3.ZodTypeAny): unknown {
  const form = "_zod" in field ? z.object({ f: field }) : z3.object({ f: field });
  return fieldsOf(form)["f"];
}

function fieldsOf(schema: SchemaInput): Record<string, unknown> {
  const { json } = toElicitationSchema(schema);
  assertForm(json);
  return json["properties"] as Record<string, unknown>;
}

const titled = z.union([
  z.literal("s").meta({ title: "Small" }),
  z.literal("l").meta({ title: "Large" }),
]);

describe("toElicitationSchema() with Zod 4", () => {
  it("returns no more than a form needs", () => {
    const { json } = toElicitationSchema(
      z.strictObject({ a: z.string(), b: z.string().optional() }).describe("dropped"),
    );
    assert.deepEqual(json, {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" } },
      required: ["a"],
    });
  });

  it("accepts an empty object as a plain confirmation", () => {
    const { json, parse } = toElicitationSchema(z.object({}));
    assert.deepEqual(json, { type: "object", properties: {} });
    assertForm(json);
    assert.ok(parse({}).ok);
  });

  it("describes text with its limits and format", () => {
    const cases: [z.ZodType, unknown][] = [
      [z.string().min(1).max(9), { type: "string", minLength: 1, maxLength: 9 }],
      [z.string().length(2), { type: "string", minLength: 2, maxLength: 2 }],
      [z.email(), { type: "string", format: "email" }],
      [z.string().email(), { type: "string", format: "email" }],
      [z.url(), { type: "string", format: "uri" }],
      [z.iso.date(), { type: "string", format: "date" }],
      [z.iso.datetime({ offset: true }), { type: "string", format: "date-time" }],
      [z.string().trim().toLowerCase(), { type: "string" }],
      [z.string().transform(Number), { type: "string" }],
      [z.stringbool(), { type: "string" }],
    ];
    for (const [field, expected] of cases) assert.deepEqual(fieldOf(field), expected);
  });

  it("leaves to parsing what a form cannot express", () => {
    for (
      const field of [
        z.string().regex(/^a/),
        z.string().regex(/a/).regex(/b/),
        z.string().startsWith("a").endsWith("b"),
        z.string().includes("a"),
        z.string().lowercase(),
        z.iso.time(),
        z.string().refine(() => false),
        z.string().readonly(),
        z.string().meta({ placeholder: "x", examples: ["y"] }),
      ]
    ) {
      assert.deepEqual(fieldOf(field), { type: "string" });
    }
    assert.ok(!toElicitationSchema(z.object({ f: z.string().regex(/^a/) })).parse({ f: "b" }).ok);
    assert.deepEqual(fieldOf(z.number().multipleOf(2).multipleOf(3)), { type: "number" });
  });

  it("describes numbers, without the limits of a double", () => {
    const cases: [z.ZodType, unknown][] = [
      [z.number(), { type: "number" }],
      [z.number().min(1).max(2.5), { type: "number", minimum: 1, maximum: 2.5 }],
      [z.number().gt(1).lt(2), { type: "number", minimum: 1, maximum: 2 }],
      [z.int(), { type: "integer" }],
      [z.float32(), { type: "number" }],
      [z.int().positive().lt(9), { type: "integer", minimum: 1, maximum: 8 }],
      [z.number().int().min(0), { type: "integer", minimum: 0 }],
      [z.int().meta({ id: "elicitation.test/Int" }), { type: "integer" }],
    ];
    for (const [field, expected] of cases) assert.deepEqual(fieldOf(field), expected);
  });

  it("describes a boolean", () => {
    assert.deepEqual(fieldOf(z.boolean()), { type: "boolean" });
    assert.deepEqual(fieldOf(z.literal(true)), { type: "boolean" });
    assert.ok(!toElicitationSchema(z.object({ f: z.literal(true) })).parse({ f: false }).ok);
  });

  it("describes a single choice", () => {
    const plain = { type: "string", enum: ["a", "b"] };
    assert.deepEqual(fieldOf(z.enum(["a", "b"])), plain);
    assert.deepEqual(fieldOf(z.literal(["a", "b"])), plain);
    assert.deepEqual(fieldOf(z.union([z.literal("a"), z.literal("b"), z.literal("a")])), plain);
    assert.deepEqual(fieldOf(z.enum({ A: "a", B: "b" })), plain);
    assert.deepEqual(fieldOf(z.literal("a").meta({ title: "T" })), {
      type: "string",
      title: "T",
      enum: ["a"],
    });
    assert.deepEqual(fieldOf(titled.meta({ title: "Size" })), {
      type: "string",
      title: "Size",
      oneOf: [{ const: "s", title: "Small" }, { const: "l", title: "Large" }],
    });
    assert.deepEqual(fieldOf(z.union([z.enum(["a"]), z.literal("b").meta({ title: "B!" })])), {
      type: "string",
      oneOf: [{ const: "a", title: "a" }, { const: "b", title: "B!" }],
    });
    assert.deepEqual(fieldOf(z.enum(["a"]).meta({ enumNames: ["A"] })), {
      type: "string",
      enum: ["a"],
      enumNames: ["A"],
    });
  });

  it("describes a multiple choice", () => {
    assert.deepEqual(fieldOf(z.array(z.enum(["a", "b"])).min(1).max(2).default(["a"])), {
      type: "array",
      minItems: 1,
      maxItems: 2,
      items: { type: "string", enum: ["a", "b"] },
      default: ["a"],
    });
    assert.deepEqual(fieldOf(z.array(titled)), {
      type: "array",
      items: { anyOf: [{ const: "s", title: "Small" }, { const: "l", title: "Large" }] },
    });
    const shared = z.enum(["a"]).meta({ id: "elicitation.test/Shared" });
    assert.deepEqual(fieldsOf(z.object({ one: shared.describe("D"), many: z.array(shared) })), {
      one: { type: "string", description: "D", enum: ["a"] },
      many: { type: "array", items: { type: "string", enum: ["a"] } },
    });
  });

  it("shows defaults, and makes such a field optional", () => {
    const { json, parse } = toElicitationSchema(z.object({
      a: z.string().default("x"),
      b: z.boolean().default(false),
      c: z.int().prefault(3),
      d: z.number().catch(4),
      e: z.enum(["a", "b"]).default("b"),
      f: titled.default("s"),
    }));
    assertForm(json);
    assert.deepEqual(json, {
      type: "object",
      properties: {
        a: { type: "string", default: "x" },
        b: { type: "boolean", default: false },
        c: { type: "integer", default: 3 },
        d: { type: "number", default: 4 },
        e: { type: "string", enum: ["a", "b"], default: "b" },
        f: {
          type: "string",
          oneOf: [{ const: "s", title: "Small" }, { const: "l", title: "Large" }],
          default: "s",
        },
      },
    });
    assert.deepEqual(parse({}), {
      ok: true,
      value: { a: "x", b: false, c: 3, d: 4, e: "b", f: "s" },
    });
  });

  it("shows no default that the field would not accept", () => {
    const schema = z.object({
      f: z.number().default(Infinity),
      n: z.string().transform(Number).default(3),
    });
    assert.deepEqual(toElicitationSchema(schema).json, {
      type: "object",
      properties: { f: { type: "number" }, n: { type: "string" } },
    });
  });

  it("parses with the schema itself", () => {
    const schema = z.object({ from: z.int(), to: z.coerce.number() })
      .refine((it) => it.from < it.to, { error: "must come after from", path: ["to"] })
      .transform((it) => it.to - it.from);
    const { json, parse } = toElicitationSchema(schema);
    assertForm(json);
    assert.deepEqual(parse({ from: 1, to: 3 }), { ok: true, value: 2 });
    assert.deepEqual(parse({ from: 3, to: 1 }), {
      ok: false,
      issues: [{ path: "to", message: "must come after from" }],
    });
  });

  it("accepts a field of any name", () => {
    const schema = z.object({
      ["__proto__"]: z.string(),
      constructor: z.string(),
      "a b": z.string(),
    });
    assert.deepEqual(Object.keys(fieldsOf(schema)), ["__proto__", "constructor", "a b"]);
  });

  it("refuses a nested object and names the field", () => {
    const problem = refusal(z.object({ address: z.object({ street: z.string() }) }));
    assert.equal(problem.field, "address");
    assert.match(problem.problem, /"address\.street"/);
    assert.match(problem.wayOut, /"addressStreet"/);
  });

  it("refuses every field that a form cannot ask for, and names it", () => {
    const fields: z.ZodType[] = [
      z.object({}),
      z.record(z.string(), z.string()),
      z.array(z.string()),
      z.array(z.number()),
      z.array(z.object({ a: z.string() })),
      z.array(z.array(z.enum(["a"]))),
      z.array(z.enum(["a"]).nullable()),
      z.tuple([z.enum(["a"])]),
      z.string().nullable(),
      z.enum(["a"]).nullish(),
      z.null(),
      z.literal(["a", null]),
      z.union([z.string(), z.number()]),
      z.union([z.email(), z.url()]),
      z.union([z.literal("a"), z.number()]),
      z.literal(["a", 1]),
      z.literal(5),
      z.enum({ A: 1, B: 2 }),
      z.any(),
      z.unknown(),
      z.never(),
      z.uuid(),
      z.ipv4(),
      z.base64(),
      z.date(),
      z.bigint(),
      z.json(),
      z.intersection(z.string(), z.string().min(2)),
    ];
    for (const field of fields) {
      assert.equal(refusal(z.object({ ok: z.string(), bad: field })).field, "bad");
    }
  });

  it("says that null is not an answer, and what to do instead", () => {
    assert.match(refusal(z.object({ a: z.string().nullable() })).wayOut, /optional/);
  });

  it("refuses a root that is not an object with named fields", () => {
    const branch = z.object({ a: z.string() });
    for (
      const root of [
        z.string(),
        z.array(branch),
        branch.nullable(),
        z.union([branch, z.object({})]),
        z.record(z.string(), z.string()),
      ]
    ) {
      assert.equal(refusal(root).field, "");
    }
  });
});

describe("toElicitationSchema() with Zod 3", () => {
  it("describes the same fields", () => {
    const cases: [z3.ZodTypeAny, unknown][] = [
      [z3.string().email().max(9), { type: "string", maxLength: 9, format: "email" }],
      [z3.string().url(), { type: "string", format: "uri" }],
      [z3.string().datetime(), { type: "string", format: "date-time" }],
      [z3.string().regex(/a/).describe("D"), { type: "string", description: "D" }],
      [z3.number().int().gt(0), { type: "integer", minimum: 1 }],
      [z3.boolean().default(true), { type: "boolean", default: true }],
      [z3.enum(["a", "b"]).optional(), { type: "string", enum: ["a", "b"] }],
      [z3.union([z3.literal("a"), z3.literal("b")]), { type: "string", enum: ["a", "b"] }],
      [z3.array(z3.enum(["a"])).min(1), {
        type: "array",
        minItems: 1,
        items: { type: "string", enum: ["a"] },
      }],
    ];
    for (const [field, expected] of cases) assert.deepEqual(fieldOf(field), expected);
    const { json } = toElicitationSchema(z3.object({ a: z3.string(), b: z3.string().default("") }));
    assert.deepEqual(json["required"], ["a"]);
  });

  it("refuses the same fields", () => {
    for (
      const field of [
        z3.object({}),
        z3.array(z3.string()),
        z3.string().nullable(),
        z3.string().min(2).nullable(),
        z3.union([z3.string(), z3.number()]),
        z3.any(),
        z3.date(),
        z3.string().uuid(),
        z3.string().base64(),
      ]
    ) {
      assert.equal(refusal(z3.object({ bad: field })).field, "bad");
    }
    assert.equal(refusal(z3.object({}).and(z3.object({}))).field, "");
  });
});

describe("toElicitationSchema()", () => {
  it("infers the type that parse() returns", () => {
    const outcome = toElicitationSchema(z.object({ n: z.int() })).parse({ n: 1 });
    assert.ok(outcome.ok);
    const n: number = outcome.value.n;
    // @ts-expect-error: there is no such field
    assert.equal(outcome.value.m, undefined);
    assert.equal(n, 1);
  });
});
