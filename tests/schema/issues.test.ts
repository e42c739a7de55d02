import assert from "node:assert/strict";
import * as z from "zod";
import * as z3 from "zod/v3";
import { describeIssues } from "../../src/schema/issues.ts";
import { toSchema } from "../../src/schema/schema.ts";
import type { SchemaInput } from "../../src/schema/types.ts";
import { describe, it } from "../suite.ts";

function told(schema: SchemaInput, value: unknown): string {
  const outcome = toSchema(schema, "input").parse(value);
  assert.ok(!outcome.ok, "was not refused");
  return describeIssues(outcome.issues);
}

/** One schema in all three schema libraries. */
function dialects(four: z.ZodType, three: z3.ZodTypeAny): [string, SchemaInput][] {
  return [["Zod 4", four], ["Zod 3", three], ["JSON Schema", { ...toSchema(four, "input").json }]];
}

function sayTheSame(schemas: [string, SchemaInput][], cases: [unknown, string][]): void {
  for (const [dialect, schema] of schemas) {
    for (const [value, sentence] of cases) {
      assert.equal(told(schema, value), sentence, `${dialect}: ${JSON.stringify(value)}`);
    }
  }
}

describe("describeIssues()", () => {
  it("names each field, what was expected and what was received", () => {
    sayTheSame(
      dialects(
        z.object({ age: z.number(), name: z.string() }),
        z3.object({ age: z3.number(), name: z3.string() }),
      ),
      [
        [
          { age: "3", name: null },
          `"age": expected number, received string; "name": expected string, received null`,
        ],
        [{ name: "x" }, `"age": is required`],
        [
          { age: [], name: {} },
          `"age": expected number, received array; "name": expected string, received object`,
        ],
        ["x", "expected object, received string"],
        [null, "expected object, received null"],
        [undefined, "a value is required"],
      ],
    );
  });

  it("describes limits the same way for every schema library", () => {
    sayTheSame(
      dialects(
        z.object({
          s: z.string().min(2).max(3).optional(),
          one: z.string().min(1).optional(),
          n: z.number().min(2).max(3).optional(),
          x: z.number().gt(2).lt(3).optional(),
          i: z.int().optional(),
          a: z.array(z.string()).min(1).max(2).optional(),
        }),
        z3.object({
          s: z3.string().min(2).max(3).optional(),
          one: z3.string().min(1).optional(),
          n: z3.number().min(2).max(3).optional(),
          x: z3.number().gt(2).lt(3).optional(),
          i: z3.number().int().optional(),
          a: z3.array(z3.string()).min(1).max(2).optional(),
        }),
      ),
      [
        [{ s: "a" }, `"s": expected at least 2 characters`],
        [{ s: "aaaa" }, `"s": expected at most 3 characters`],
        [{ one: "" }, `"one": expected at least 1 character`],
        [{ n: 1 }, `"n": expected at least 2`],
        [{ n: 4 }, `"n": expected at most 3`],
        [{ x: 2 }, `"x": expected more than 2`],
        [{ x: 3 }, `"x": expected less than 3`],
        [{ i: 1.5 }, `"i": expected integer, received number`],
        [{ a: [] }, `"a": expected at least 1 item`],
        [{ a: ["", "", ""] }, `"a": expected at most 2 items`],
      ],
    );
  });

  it("describes choices and formats the same way for every schema library", () => {
    sayTheSame(
      dialects(
        z.object({
          e: z.enum(["a", "b"]).optional(),
          l: z.literal("a").optional(),
          m: z.email().optional(),
          u: z.url().optional(),
          d: z.iso.date().optional(),
        }),
        z3.object({
          e: z3.enum(["a", "b"]).optional(),
          l: z3.literal("a").optional(),
          m: z3.string().email().optional(),
          u: z3.string().url().optional(),
          d: z3.string().date().optional(),
        }),
      ).map(([dialect, schema]) => [dialect, withoutPatterns(schema)]),
      [
        [{ e: "c" }, `"e": expected one of "a", "b"`],
        [{ l: "c" }, `"l": expected "a"`],
        [{ l: 1 }, `"l": expected "a", received number`],
        [{ m: "c" }, `"m": expected a valid email address`],
        [{ u: "c" }, `"u": expected a valid URL`],
        [{ d: "c" }, `"d": expected a valid date (YYYY-MM-DD)`],
      ],
    );
  });

  it("finds the intended branch of a union, for every schema library", () => {
    sayTheSame(
      dialects(
        z.object({
          plain: z.union([z.string().min(1), z.number()]).optional(),
          shape: z.union([
            z.object({ kind: z.literal("dot"), at: z.number() }),
            z.object({ kind: z.literal("line"), from: z.number() }),
          ]).optional(),
          many: z.union([z.string(), z.array(z.string())]).optional(),
        }),
        z3.object({
          plain: z3.union([z3.string().min(1), z3.number()]).optional(),
          shape: z3.union([
            z3.object({ kind: z3.literal("dot"), at: z3.number() }),
            z3.object({ kind: z3.literal("line"), from: z3.number() }),
          ]).optional(),
          many: z3.union([z3.string(), z3.array(z3.string())]).optional(),
        }),
      ),
      [
        [{ plain: true }, `"plain": expected string or number, received boolean`],
        [{ plain: "" }, `"plain": expected at least 1 character`],
        [{ shape: { kind: "line", from: "x" } }, `"shape.from": expected number, received string`],
        [{ shape: { kind: "line" } }, `"shape.from": is required`],
        [{ shape: { kind: "ring" } }, `"shape": fits none of the allowed forms`],
        [{ many: ["a", 1] }, `"many[1]": expected string, received number`],
      ],
    );
  });

  it("names the tag of a tagged union", () => {
    const four = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("dot") }),
      z.object({ kind: z.literal("line"), to: z.number() }),
    ]);
    const three = z3.discriminatedUnion("kind", [
      z3.object({ kind: z3.literal("dot") }),
      z3.object({ kind: z3.literal("line"), to: z3.number() }),
    ]);
    sayTheSame([["Zod 4", four], ["Zod 3", three]], [
      [{ kind: "ring" }, `"kind": expected one of "dot", "line"`],
      [{ kind: 1 }, `"kind": expected one of "dot", "line", received number`],
      [{}, `"kind": is required`],
      [{ kind: "line" }, `"to": is required`],
      [1, "expected object, received number"],
    ]);
  });

  it("names an invalid key", () => {
    const schema = z.record(z.string().regex(/^a/), z.string());
    sayTheSame([["Zod 4", schema], ["JSON Schema", { ...toSchema(schema, "input").json }]], [
      [{ a: "", b: "" }, `"b": is not an allowed name`],
    ]);
  });

  it("names an unknown field, for every schema library", () => {
    sayTheSame(
      dialects(z.strictObject({ a: z.string() }), z3.object({ a: z3.string() }).strict()),
      [[{ a: "", "b c": 1, d: 1 }, `"["b c"]": is not a known field; "d": is not a known field`]],
    );
  });

  it("writes paths with dots and brackets", () => {
    sayTheSame(
      dialects(
        z.object({ a: z.array(z.object({ "b-c": z.array(z.string()) })) }),
        z3.object({ a: z3.array(z3.object({ "b-c": z3.array(z3.string()) })) }),
      ),
      [[
        { a: [{ "b-c": [] }, { "b-c": ["", 1] }] },
        `"a[1].b-c[1]": expected string, received number`,
      ]],
    );
  });

  it("counts issues beyond the fifth", () => {
    const issues = Array.from({ length: 8 }, (_, i) => ({ path: `f${i}`, message: "is required" }));
    assert.match(describeIssues(issues), /"f4": is required; and 3 more$/);
    assert.equal(describeIssues([]), "");
  });

  it("truncates a hostile field name", () => {
    const sentence = told(z.strictObject({}), { ["x\n".repeat(10_000)]: 1 });
    assert.ok(sentence.length < 200);
    assert.doesNotMatch(sentence, /\n/);
  });

  it("keeps the author's own messages", () => {
    const four = z.object({
      a: z.string({ error: "Say a" }),
      b: z.string().min(3, "Longer, please"),
      c: z.union([z.string(), z.number()], { error: "Either" }),
    });
    const three = z3.object({
      a: z3.string({ required_error: "Say a" }),
      b: z3.string().min(3, "Longer, please"),
      c: z3.union([z3.string(), z3.number()], { errorMap: () => ({ message: "Either" }) }),
    });
    for (const schema of [four, three]) {
      assert.equal(
        told(schema, { b: "", c: true }),
        `"a": Say a; "b": Longer, please; "c": Either`,
      );
    }
    assert.equal(told(z.string().refine(() => false), "x"), "is not valid");
  });

  it("uses Zod's messages if the program has configured its own", () => {
    z.config({ customError: () => "Nein" });
    try {
      assert.equal(told(z.string(), 1), "Nein");
    } finally {
      z.config({ customError: undefined });
    }
  });
});

/** Zod adds a pattern to each format, which JSON Schema would report as well. */
function withoutPatterns(schema: SchemaInput): SchemaInput {
  if ("_def" in schema) return schema;
  return JSON.parse(JSON.stringify(schema, (key, value) => key === "pattern" ? undefined : value));
}
