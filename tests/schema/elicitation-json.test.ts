import assert from "node:assert/strict";
import { toElicitationSchema } from "../../src/schema/elicitation.ts";
import type { JsonSchemaObject } from "../../src/schema/types.ts";
import { assertForm, refusal } from "./form-rules.ts";
import { describe, it } from "../suite.ts";

describe("toElicitationSchema() with plain JSON Schema", () => {
  const valid: JsonSchemaObject = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      text: {
        type: "string",
        title: "T",
        description: "D",
        minLength: 1,
        maxLength: 2,
        default: "a",
      },
      mail: { type: "string", format: "email" },
      number: { type: "number", minimum: 0, maximum: 1, default: 0.5 },
      whole: { type: "integer", minimum: Number.MIN_SAFE_INTEGER },
      yes: { type: "boolean", default: false },
      one: { type: "string", enum: ["a", "b"], default: "a" },
      titled: { type: "string", oneOf: [{ const: "a", title: "A" }] },
      legacy: { type: "string", enum: ["a", "b"], enumNames: ["A", "B"] },
      some: { type: "array", items: { type: "string", enum: ["a"] }, minItems: 0, default: ["a"] },
      titledSome: { type: "array", items: { anyOf: [{ const: "a", title: "A" }] }, maxItems: 1 },
      unset: { type: "string", description: undefined },
    },
    required: ["text", "one"],
  };

  it("passes on verbatim what is valid", () => {
    const { json, parse } = toElicitationSchema(valid);
    assert.equal(json, valid);
    assertForm(JSON.parse(JSON.stringify(json)));
    assert.ok(parse({ text: "a", one: "b", titled: "a", some: [] }).ok);
    assert.deepEqual(parse({ text: "a", one: "c", titled: "x" }), {
      ok: false,
      issues: [
        { path: "one", message: `expected one of "a", "b"` },
        { path: "titled", message: `expected "a"` },
      ],
    });
  });

  it("refuses a field that is not written as a form needs it, and shows how to write it", () => {
    const cases: [unknown, RegExp][] = [
      [{ type: "string", pattern: "^a" }, /"pattern"/],
      [{ type: "number", exclusiveMinimum: 0 }, /"exclusiveMinimum"/],
      [{ type: "string", const: "a" }, /"const"/],
      [{ enum: ["a"] }, /not written/],
      [{ type: "string", anyOf: [{ const: "a", title: "A" }] }, /"anyOf"/],
      [{ type: "string", oneOf: [{ const: "a" }, { const: "b", title: "B" }] }, /not written/],
      [{ type: "string", enum: ["a", "b"], enumNames: ["A"] }, /"enumNames"/],
      [{ type: "string", enum: ["a", "a"] }, /not written/],
      [{ type: "string", enum: ["a"], default: "b" }, /default/],
      [{ type: "string", minLength: "1" }, /"minLength"/],
      [{ type: "integer", default: 1.5 }, /default/],
    ];
    for (const [field, expected] of cases) {
      const problem = refusal({ type: "object", properties: { f: field } });
      assert.equal(problem.field, "f");
      assert.match(problem.problem, expected);
      const written = JSON.parse(problem.wayOut.slice(problem.wayOut.indexOf("{")));
      assertForm({ type: "object", properties: { f: written } });
    }
  });

  it("refuses what no form can ask for", () => {
    for (
      const field of [
        { type: "object", properties: {} },
        { type: ["string", "null"] },
        { type: "string", format: "uuid" },
        { type: "array", items: { type: "string" } },
        { type: "array" },
        { $ref: "#/properties/ok" },
        { type: "string", enum: [] },
        { type: "string", not: {} },
        {},
        true,
      ]
    ) {
      const schema = { type: "object", properties: { ok: { type: "string" }, f: field } };
      assert.equal(refusal(schema).field, "f");
    }
  });

  it("refuses a root with more or less than a form's", () => {
    const properties = { a: { type: "string" } };
    for (
      const root of [
        { type: "object" },
        { properties },
        { type: "object", properties, additionalProperties: false },
        { type: "object", properties, required: ["b"] },
        { type: "object", properties, required: "a" },
        { type: "object", properties: [] },
      ]
    ) {
      assert.equal(refusal(root).field, "");
    }
  });
});
