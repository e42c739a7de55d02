import assert from "node:assert/strict";
import * as z from "zod";
import * as mini from "zod/mini";
import * as z3 from "zod/v3";
import { SchemaProblem } from "../../src/schema/problem.ts";
import { toObjectSchema, toSchema } from "../../src/schema/schema.ts";
import type { Infer, InferInput, InferObject } from "../../src/schema/types.ts";
import { describe, it } from "../suite.ts";

const DRAFT = "https://json-schema.org/draft/2020-12/schema";

/** Asserts that `make` throws a SchemaProblem about this field, for this reason. */
function problemOf(make: () => unknown, field: string, reason: RegExp): SchemaProblem {
  try {
    make();
  } catch (error) {
    assert.ok(error instanceof SchemaProblem, String(error));
    assert.equal(error.field, field);
    assert.match(error.problem, reason);
    assert.notEqual(error.wayOut, "");
    return error;
  }
  assert.fail("was not refused");
}

describe("toSchema() with Zod 4", () => {
  const schema = z.object({ name: z.string().default("x"), age: z.string().transform(Number) });

  it("describes the input side in draft 2020-12", () => {
    assert.deepEqual(toSchema(schema, "input").json, {
      $schema: DRAFT,
      type: "object",
      properties: { name: { type: "string", default: "x" }, age: { type: "string" } },
      required: ["age"],
    });
  });

  it("describes the output side", () => {
    const { json } = toSchema(z.object({ name: z.string().default("x") }), "output");
    assert.deepEqual(json["required"], ["name"]);
    assert.equal(json["additionalProperties"], false);
  });

  it("generates the JSON Schema when it is built, not when it parses", () => {
    let made = 0;
    const counted = z.string().default(() => `${++made}`).meta({ description: "counted" });
    const { json, parse } = toSchema(z.object({ counted }), "input");
    const before = made;
    assert.deepEqual([json, parse({ counted: "x" }).ok, made], [json, true, before]);
  });

  it("parses with defaults and transforms", () => {
    assert.deepEqual(toSchema(schema, "input").parse({ age: "3" }), {
      ok: true,
      value: { name: "x", age: 3 },
    });
  });

  it("accepts zod/mini", () => {
    const made = toSchema(mini.object({ a: mini.string() }), "input");
    assert.equal(made.json["type"], "object");
    assert.deepEqual(made.parse({}), {
      ok: false,
      issues: [{ path: "a", message: "is required" }],
    });
  });

  it("keeps the root in place even if it has an id", () => {
    const root = z.object({ a: z.string() }).meta({ id: "schema.test/Root", title: "Root" });
    assert.deepEqual(toSchema(root, "input").json, {
      $schema: DRAFT,
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      title: "Root",
    });
    const part = z.enum(["x"]).meta({ id: "schema.test/Part" });
    const whole = z.object({ part }).meta({ id: "schema.test/Whole" });
    const { json } = toSchema(whole, "input");
    assert.equal(json["type"], "object");
    assert.deepEqual(json["$defs"], { "schema.test/Part": { type: "string", enum: ["x"] } });
  });

  it("keeps the definition of a recursive root with an id", () => {
    interface Node {
      kids?: Node[] | undefined;
    }
    const node: z.ZodType<Node> = z.lazy(() => tree);
    const tree = z.object({ kids: z.array(node).optional() }).meta({ id: "schema.test/Tree" });
    const { json, parse } = toSchema(tree, "input");
    assert.equal(json["type"], "object");
    const text = JSON.stringify(json);
    for (const [, name] of text.matchAll(/"\$ref":"#\/\$defs\/([^"]+)"/g)) {
      assert.ok(name!.replaceAll("~1", "/") in (json["$defs"] as object), name);
    }
    assert.ok(parse({ kids: [{ kids: [] }] }).ok);
  });

  it("refuses types that JSON does not have, and names the field", () => {
    const cases: [z.ZodType, string, RegExp][] = [
      [z.object({ a: z.array(z.object({ due: z.date() })) }), "a[].due", /\bdate\b/],
      [z.object({ n: z.bigint() }), "n", /\bbigint\b/],
      [z.object({ m: z.map(z.string(), z.string()) }), "m", /\bmap\b/],
      [z.object({ f: z.file() }), "f", /\bfile\b/],
      [z.object({ p: z.promise(z.string()) }), "p", /\bpromise\b/],
      [z.object({ c: z.custom<string>() }), "c", /\bcustom\b/],
      [z.symbol(), "", /\bsymbol\b/],
    ];
    for (const [schema, field, reason] of cases) {
      problemOf(() => toSchema(schema, "input"), field, reason);
    }
  });

  it("refuses a transform on the output side only", () => {
    const schema = z.object({ n: z.string().transform(Number) });
    problemOf(() => toSchema(schema, "output"), "n", /\btransform\b/);
    assert.ok(toSchema(schema, "input"));
    assert.ok(toSchema(z.object({ n: z.string().transform(Number).pipe(z.number()) }), "output"));
  });

  it("refuses a default that is not JSON", () => {
    const schema = z.object({ a: z.string().default(undefined as never) });
    problemOf(() => toSchema(schema, "input"), "", /has no JSON Schema \(.+\)/);
  });

  it("parses an asynchronous check into an issue, and never runs it", () => {
    let ran = 0;
    const schema = z.object({
      a: z.string().refine(async () => {
        ran++;
        await Promise.reject(new Error("lost"));
      }),
    });
    const outcome = toSchema(schema, "input").parse({ a: "x" });
    assert.ok(!outcome.ok);
    assert.match(outcome.issues[0]!.message, /asynchronous/);
    assert.equal(ran, 0);
    const piped = toSchema(z.string().transform((it) => Promise.resolve(it)), "input").parse("x");
    assert.match(!piped.ok ? piped.issues[0]!.message : "", /asynchronous/);
  });

  it("returns an issue when a check throws, with the cause kept apart", () => {
    const cause = new Error("secret");
    const schema = z.string().refine(() => {
      throw cause;
    });
    const outcome = toSchema(schema, "input").parse("x");
    assert.ok(!outcome.ok);
    assert.equal(outcome.cause, cause);
    assert.doesNotMatch(JSON.stringify(outcome.issues), /secret/);
  });

  it("returns an issue for a value that is nested too deeply", () => {
    let deep: unknown = [];
    for (let i = 0; i < 200_000; i++) deep = [deep];
    const outcome = toSchema(z.json(), "input").parse(deep);
    assert.ok(!outcome.ok);
    assert.match(outcome.issues[0]!.message, /nested/);
  });
});

describe("toSchema() with Zod 3", () => {
  it("describes both sides in draft 2020-12", () => {
    const schema = z3.object({
      n: z3.number().gt(3).optional(),
      pair: z3.tuple([z3.string(), z3.number()]).rest(z3.boolean()),
      none: z3.literal(null),
    });
    assert.deepEqual(toSchema(schema, "input").json, {
      $schema: DRAFT,
      type: "object",
      properties: {
        n: { type: "number", exclusiveMinimum: 3 },
        pair: {
          type: "array",
          minItems: 2,
          prefixItems: [{ type: "string" }, { type: "number" }],
          items: { type: "boolean" },
        },
        none: { type: "null" },
      },
      required: ["pair", "none"],
      additionalProperties: true,
    });
    assert.equal(toSchema(schema, "output").json["additionalProperties"], false);
  });

  it("inlines a reused schema, and writes a recursive one as a reference", () => {
    interface Node {
      "a/b"?: [Node] | undefined;
    }
    const name = z3.string();
    const node: z3.ZodType<Node> = z3.lazy(() =>
      z3.object({ "a/b": z3.tuple([inner]).optional() })
    );
    const inner: z3.ZodType<Node> = z3.object({
      "a/b": z3.tuple([z3.lazy(() => inner)]).optional(),
    });
    const { json, parse } = toSchema(z3.object({ x: name, y: name, node }), "input");
    const { properties } = json as { properties: Record<string, unknown> };
    assert.deepEqual(properties["x"], properties["y"]);
    assert.match(
      JSON.stringify(properties["node"]),
      /"\$ref":"#\/properties\/node\/properties\/a~1b\/prefixItems\/0"/,
    );
    assert.ok(parse({ x: "", y: "", node: { "a/b": [{}] } }).ok);
  });

  it("describes the input or output side of a pipe and of a transform", () => {
    const piped = z3.object({ n: z3.string().pipe(z3.coerce.number()) });
    assert.deepEqual(toSchema(piped, "input").json["properties"], { n: { type: "string" } });
    assert.deepEqual(toSchema(piped, "output").json["properties"], { n: { type: "number" } });
    const made = z3.object({ n: z3.string().transform(Number) });
    assert.deepEqual(toSchema(made, "input").parse({ n: "4" }), { ok: true, value: { n: 4 } });
    problemOf(() => toSchema(made, "output"), "n", /\btransform\b/);
  });

  it("refuses types that JSON does not have, and names the field", () => {
    const cases: [z3.ZodTypeAny, RegExp][] = [
      [z3.date(), /\bdate\b/],
      [z3.bigint(), /\bbigint\b/],
      [z3.map(z3.string(), z3.string()), /\bmap\b/],
      [z3.set(z3.string()), /\bset\b/],
      [z3.symbol(), /\bsymbol\b/],
      [z3.undefined(), /\bundefined\b/],
      [z3.function(), /\bfunction\b/],
      [z3.promise(z3.string()), /\bpromise\b/],
      [z3.literal(1n), /\bbigint\b/],
    ];
    for (const [bad, reason] of cases) {
      problemOf(() => toSchema(z3.object({ a: z3.array(bad) }), "input"), "a[]", reason);
    }
    const when = toSchema(z3.object({ when: z3.coerce.date() }), "input");
    assert.ok(when.parse({ when: "2026-01-01" }).ok);
  });

  it("parses an asynchronous check into an issue", () => {
    const schema = z3.string().refine(() => Promise.resolve(true));
    const outcome = toSchema(schema, "input").parse("x");
    assert.match(!outcome.ok ? outcome.issues[0]!.message : "", /asynchronous/);
  });
});

describe("toSchema() with any other value", () => {
  it("refuses it, and says what to do", () => {
    for (const name of [z.string(), z3.string()]) {
      const { wayOut } = problemOf(() => toSchema({ name }, "input"), "name", /plain object/);
      assert.match(wayOut, /z\.object/);
    }
    const foreign = { type: "object", "~standard": { version: 1 } } as const;
    problemOf(() => toSchema(foreign, "input"), "", /library/);
    const cases: [unknown, RegExp][] = [
      [undefined, /\bundefined\b/],
      [null, /\bnull\b/],
      ["string", /\bstring\b/],
      [1, /\bnumber\b/],
      [true, /\bboolean\b/],
      [[], /\barray\b/],
      [() => {}, /\bfunction\b/],
    ];
    for (const [bad, reason] of cases) {
      problemOf(() => toSchema(bad as never, "input"), "", reason);
    }
  });
});

describe("toObjectSchema()", () => {
  it("accepts an object of each kind", () => {
    assert.ok(toObjectSchema(z.object({}), "input"));
    assert.ok(toObjectSchema(z.record(z.string(), z.string()), "input"));
    assert.ok(toObjectSchema(z.object({ a: z.string() }).refine(() => true), "input"));
    assert.ok(toObjectSchema(z3.object({}).refine(() => true), "input"));
    assert.ok(toObjectSchema({ type: "object" }, "input"));
  });

  it("refuses any other root", () => {
    const branch = z.object({ a: z.string() });
    const cases: [Parameters<typeof toObjectSchema>[0], RegExp][] = [
      [z.string(), /not an object.*"string"/],
      [z.array(z.string()), /not an object.*"array"/],
      [z.any(), /not an object.*no type/],
      [branch.nullable(), /not an object.*union/],
      [z.union([branch, z.object({ b: z.string() })]), /not an object.*union/],
      [z3.string(), /not an object.*"string"/],
      [{}, /not an object.*no type/],
      [{ type: ["object"] }, /not an object.*\["object"\]/],
      [{ properties: {} }, /not an object.*no type/],
    ];
    for (const [bad, reason] of cases) problemOf(() => toObjectSchema(bad, "input"), "", reason);
  });
});

describe("Infer", () => {
  it("infers the output and the input of each kind", () => {
    const four = z.object({ n: z.string().transform(Number) });
    const three = z3.object({ n: z3.string().transform(Number) });
    const fourOut: Infer<typeof four> = { n: 1 };
    const fourIn: InferInput<typeof four> = { n: "1" };
    const threeOut: Infer<typeof three> = { n: 1 };
    const threeIn: InferInput<typeof three> = { n: "1" };
    // @ts-expect-error: the output is a number
    const wrongOut: Infer<typeof four> = { n: "1" };
    // @ts-expect-error: the input is text
    const wrongIn: InferInput<typeof three> = { n: 1 };
    assert.ok(fourOut && fourIn && threeOut && threeIn && wrongOut && wrongIn);
  });

  it("infers whether plain JSON Schema is an object", () => {
    const one = toSchema({ type: "object", properties: {} }, "input").parse({ a: 1 });
    assert.equal(one.ok && one.value["a"], 1);
    const text = toSchema({ type: "string" }, "input").parse("a");
    // @ts-expect-error: nothing is known of it
    assert.equal(text.ok && text.value.length, 1);
    const wide: { [key: string]: unknown } = { type: "object" };
    const other = toObjectSchema(wide, "input").parse({ a: 1 });
    assert.equal(other.ok && other.value["a"], 1);
    const object: InferObject<{ type: string }> = { anything: 1 };
    assert.ok(object);
  });

  it("is the type that parse() returns", () => {
    const outcome = toSchema(z.object({ n: z.number() }), "input").parse({ n: 1 });
    if (!outcome.ok) assert.fail();
    const n: number = outcome.value.n;
    // @ts-expect-error: there is no such field
    assert.equal(outcome.value.m, undefined);
    assert.equal(n, 1);
  });
});
