import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import * as mini from "zod/mini";
import * as z3 from "zod/v3";
import { SchemaProblem } from "../../src/schema/problem.ts";
import { toObjectSchema, toSchema } from "../../src/schema/schema.ts";
import type { Infer, InferInput, InferObject } from "../../src/schema/types.ts";

const DRAFT = "https://json-schema.org/draft/2020-12/schema";

function problemOf(make: () => unknown): SchemaProblem {
  try {
    make();
  } catch (error) {
    assert.ok(error instanceof SchemaProblem, String(error));
    assert.ok(error.problem !== "" && error.wayOut !== "");
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

  it("makes the JSON when it is built, not when it parses", () => {
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

  it("takes zod/mini", () => {
    const made = toSchema(mini.object({ a: mini.string() }), "input");
    assert.equal(made.json["type"], "object");
    assert.deepEqual(made.parse({}), {
      ok: false,
      issues: [{ path: "a", message: "is required" }],
    });
  });

  it("keeps the root where it belongs although it has an id", () => {
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

  it("refuses what JSON has not, and names the field", () => {
    const cases: [z.ZodType, string][] = [
      [z.object({ a: z.array(z.object({ due: z.date() })) }), "a[].due"],
      [z.object({ n: z.bigint() }), "n"],
      [z.object({ m: z.map(z.string(), z.string()) }), "m"],
      [z.object({ f: z.file() }), "f"],
      [z.object({ p: z.promise(z.string()) }), "p"],
      [z.object({ c: z.custom<string>() }), "c"],
      [z.symbol(), ""],
    ];
    for (const [schema, field] of cases) {
      assert.equal(problemOf(() => toSchema(schema, "input")).field, field);
    }
  });

  it("refuses a transform on the output side only", () => {
    const schema = z.object({ n: z.string().transform(Number) });
    assert.equal(problemOf(() => toSchema(schema, "output")).field, "n");
    assert.ok(toSchema(schema, "input"));
    assert.ok(toSchema(z.object({ n: z.string().transform(Number).pipe(z.number()) }), "output"));
  });

  it("refuses a default that is not JSON", () => {
    problemOf(() => toSchema(z.object({ a: z.string().default(undefined as never) }), "input"));
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

  it("parses into an issue when a check throws, with the cause apart", () => {
    const cause = new Error("secret");
    const schema = z.string().refine(() => {
      throw cause;
    });
    const outcome = toSchema(schema, "input").parse("x");
    assert.ok(!outcome.ok);
    assert.equal(outcome.cause, cause);
    assert.doesNotMatch(JSON.stringify(outcome.issues), /secret/);
  });

  it("parses a value that is nested too deeply into an issue", () => {
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

  it("writes a reused schema out and a recursive one as a reference", () => {
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

  it("takes the side of a pipe and of a transform", () => {
    const piped = z3.object({ n: z3.string().pipe(z3.coerce.number()) });
    assert.deepEqual(toSchema(piped, "input").json["properties"], { n: { type: "string" } });
    assert.deepEqual(toSchema(piped, "output").json["properties"], { n: { type: "number" } });
    const made = z3.object({ n: z3.string().transform(Number) });
    assert.deepEqual(toSchema(made, "input").parse({ n: "4" }), { ok: true, value: { n: 4 } });
    assert.equal(problemOf(() => toSchema(made, "output")).field, "n");
  });

  it("refuses what JSON has not, and names the field", () => {
    for (
      const bad of [
        z3.date(),
        z3.bigint(),
        z3.map(z3.string(), z3.string()),
        z3.set(z3.string()),
        z3.symbol(),
        z3.undefined(),
        z3.function(),
        z3.promise(z3.string()),
        z3.literal(1n),
      ]
    ) {
      assert.equal(
        problemOf(() => toSchema(z3.object({ a: z3.array(bad) }), "input")).field,
        "a[]",
      );
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

describe("toSchema() with anything else", () => {
  it("refuses mistakes with a way out", () => {
    assert.match(problemOf(() => toSchema({ name: z.string() }, "input")).wayOut, /z\.object/);
    assert.equal(problemOf(() => toSchema({ name: z3.string() }, "input")).field, "name");
    const foreign = { type: "object", "~standard": { version: 1 } } as const;
    assert.match(problemOf(() => toSchema(foreign, "input")).problem, /library/);
    for (const bad of [undefined, null, "string", 1, true, [], () => {}]) {
      problemOf(() => toSchema(bad as never, "input"));
    }
  });
});

describe("toObjectSchema()", () => {
  it("takes an object of each kind", () => {
    assert.ok(toObjectSchema(z.object({}), "input"));
    assert.ok(toObjectSchema(z.record(z.string(), z.string()), "input"));
    assert.ok(toObjectSchema(z.object({ a: z.string() }).refine(() => true), "input"));
    assert.ok(toObjectSchema(z3.object({}).refine(() => true), "input"));
    assert.ok(toObjectSchema({ type: "object" }, "input"));
  });

  it("refuses any other root", () => {
    const branch = z.object({ a: z.string() });
    for (
      const bad of [
        z.string(),
        z.array(z.string()),
        z.any(),
        branch.nullable(),
        z.union([branch, z.object({ b: z.string() })]),
        z3.string(),
        {},
        { type: ["object"] },
        { properties: {} },
      ]
    ) {
      assert.equal(problemOf(() => toObjectSchema(bad, "input")).field, "");
    }
  });
});

describe("Infer", () => {
  it("knows the output and the input of each kind", () => {
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

  it("knows of plain JSON Schema whether it is an object", () => {
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

  it("reaches what parse() gives", () => {
    const outcome = toSchema(z.object({ n: z.number() }), "input").parse({ n: 1 });
    if (!outcome.ok) assert.fail();
    const n: number = outcome.value.n;
    // @ts-expect-error: there is no such field
    assert.equal(outcome.value.m, undefined);
    assert.equal(n, 1);
  });
});
