import assert from "node:assert/strict";
import { createMcpTool, DefinitionError, type SchemaInput } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../suite.ts";

function build(parameters: SchemaInput) {
  return createMcpTool("t").description("A tool").parameters(parameters).execute(function* () {});
}

function marked(type: unknown, name: unknown = "Name"): SchemaInput {
  const a = { type, "x-mcp-header": name };
  return { type: "object", properties: { a } } as unknown as SchemaInput;
}

describe("x-mcp-header", () => {
  it("marks strings, integers and booleans, also inside objects", () => {
    const tool = build(z.object({
      region: z.string().meta({ "x-mcp-header": "Region" }),
      deep: z.object({
        properties: z.object({ n: z.int().meta({ "x-mcp-header": "N!#$%&'*+.^_`|~" }) }),
      }),
      dry: z.boolean().meta({ "x-mcp-header": "dry-run" }).optional(),
      plain: z.string(),
    }));
    assert.deepEqual(tool.headerParameters, [
      { name: "Region", path: ["region"] },
      { name: "N!#$%&'*+.^_`|~", path: ["deep", "properties", "n"] },
      { name: "dry-run", path: ["dry"] },
    ]);
    assert.deepEqual(build(z.object({ a: z.string() })).headerParameters, []);
  });

  it("is an ordinary name if it is a property", () => {
    const schema = {
      type: "object",
      properties: {
        "x-mcp-header": { type: "string" },
        a: {
          type: "object",
          default: { "x-mcp-header": 1 },
          examples: [{ "x-mcp-header": 1 }],
          properties: { b: { type: "string", enum: ["x-mcp-header"] } },
        },
      },
      $defs: { "x-mcp-header": { type: "string" } },
    } as unknown as SchemaInput;
    assert.deepEqual(build(schema).headerParameters, []);
  });

  it("is refused if it is not a valid header name", () => {
    for (const name of ["", " ", "a b", "a:b", "a\r\nb", "ä", "a/b", "(x)", 1, null, ["a"], true]) {
      assert.throws(() => build(marked("string", name)), DefinitionError, JSON.stringify(name));
    }
  });

  it("is refused on a type that no header can carry", () => {
    for (const type of ["number", "object", "array", "null", ["string", "null"], undefined]) {
      assert.throws(() => build(marked(type)), DefinitionError, JSON.stringify(type));
    }
    assert.throws(
      () => build(z.object({ a: z.string().nullable().meta({ "x-mcp-header": "A" }) })),
      DefinitionError,
    );
  });

  it("is refused if it repeats, ignoring case", () => {
    const twice = z.object({
      a: z.string().meta({ "x-mcp-header": "Region" }),
      b: z.object({ c: z.string().meta({ "x-mcp-header": "REGION" }) }),
    });
    assert.throws(() => build(twice), DefinitionError);
  });

  it("is refused where a client could not find the value", () => {
    const mark = { type: "string", "x-mcp-header": "A" };
    const places: object[] = [
      { properties: { a: { type: "array", items: mark } } },
      { properties: { a: { type: "array", prefixItems: [mark] } } },
      { properties: { a: { anyOf: [mark, { type: "null" }] } } },
      { anyOf: [{ properties: { a: mark } }, {}] },
      { allOf: [{ properties: { a: mark } }] },
      { if: { properties: { a: mark } }, then: {} },
      { not: { properties: { a: mark } } },
      { properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: mark } },
      { additionalProperties: mark },
      { patternProperties: { "^a": mark } },
      { dependentSchemas: { a: { properties: { a: mark } } } },
      { "x-mcp-header": "A" },
    ];
    for (const place of places) {
      const schema = { type: "object", ...place } as unknown as SchemaInput;
      assert.throws(() => build(schema), DefinitionError, JSON.stringify(place));
    }
  });
});

describe(".task()", () => {
  it("accepts only whole milliseconds and a known start", () => {
    const build = (task: object) =>
      createMcpTool("t").description("A tool").task(task).execute(function* () {});
    assert.deepEqual(build({}).task, {});
    assert.deepEqual(build({ ttl: 1, pollInterval: 1, start: "when_told" }).task?.ttl, 1);
    for (const value of [0, -1, 0.5, NaN, Infinity, "1", null]) {
      assert.throws(() => build({ ttl: value }), DefinitionError, String(value));
      assert.throws(() => build({ pollInterval: value }), DefinitionError, String(value));
    }
    assert.throws(() => build({ start: "never" }), DefinitionError);
  });
});
