import assert from "node:assert/strict";
import { describeIssues } from "../../src/schema/issues.ts";
import { SchemaProblem } from "../../src/schema/problem.ts";
import { toSchema } from "../../src/schema/schema.ts";
import type { JsonSchemaObject } from "../../src/schema/types.ts";
import { describe, it } from "../suite.ts";

function told(schema: JsonSchemaObject, value: unknown): string {
  const outcome = toSchema(schema, "input").parse(value);
  return outcome.ok ? "" : describeIssues(outcome.issues);
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.values(Object.freeze(value)).forEach(freeze);
  }
  return value;
}

describe("toSchema() with plain JSON Schema", () => {
  it("passes it on verbatim and does not modify it", () => {
    const schema = freeze({
      type: "object",
      properties: { a: { $ref: "#/$defs/A" } },
      $defs: { A: { type: "string" } },
      "x-mine": [1],
    });
    const made = toSchema(schema, "input");
    assert.equal(made.json, schema);
    assert.ok(made.parse({ a: "x" }).ok);
    assert.deepEqual(Reflect.ownKeys(schema.properties.a), ["$ref"]);
  });

  it("returns the same value that it was given", () => {
    const value = { a: 1 };
    const outcome = toSchema({ type: "object" }, "input").parse(value);
    assert.equal(outcome.ok && outcome.value, value);
  });

  it("treats undefined as absent, as JSON does", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } } as const;
    const outcome = toSchema(schema, "output").parse({ a: undefined, b: 1 });
    assert.deepEqual(outcome, { ok: true, value: { b: 1 } });
    assert.equal(told({ ...schema, required: ["a"] }, { a: undefined }), `"a": is required`);
  });

  it("refuses what cannot work, and names the field", () => {
    const cyclic: Record<string, unknown> = { type: "object" };
    cyclic["self"] = cyclic;
    const cases: [JsonSchemaObject, string][] = [
      [{ properties: { a: { items: { $ref: "#/$defs/Gone" } } } }, "a[]"],
      [{ properties: { "x y/z": { pattern: "(" } } }, "x y/z"],
      [{ patternProperties: { "[": {} } }, ""],
      [{ $id: "http://[" }, ""],
      [cyclic, ""],
      [{ const: 1n }, ""],
    ];
    for (const [schema, field] of cases) {
      assert.throws(
        () => toSchema(schema, "input"),
        (error) => error instanceof SchemaProblem && error.field === field,
        field,
      );
    }
  });

  it("does not mistake a property or a value for a keyword", () => {
    assert.ok(
      toSchema({ properties: { pattern: { type: "string" } }, const: { pattern: "(" } }, "input"),
    );
    const odd = {
      type: "object",
      properties: { $ref: { type: "string" }, required: { type: "number" } },
    } as const;
    assert.equal(
      told(odd, { $ref: 1, required: "x" }),
      `"$ref": expected string, received number; "required": expected number, received string`,
    );
  });

  it("follows references, including recursive ones", () => {
    const tree = {
      $ref: "#/$defs/Node",
      $defs: {
        Node: {
          type: "object",
          properties: {
            name: { type: "string" },
            kids: { type: "array", items: { $ref: "#/$defs/Node" } },
          },
          required: ["name"],
        },
      },
    };
    assert.equal(told(tree, { name: "a", kids: [{ name: "b" }] }), "");
    assert.equal(
      told(tree, { name: "a", kids: [{}, { name: 1 }] }),
      `"kids[0].name": is required; "kids[1].name": expected string, received number`,
    );
  });

  it("uses the draft that the schema states", () => {
    const four = "http://json-schema.org/draft-04/schema#";
    const above = { minimum: 3, exclusiveMinimum: true };
    assert.notEqual(told({ ...above, $schema: four }, 3), "");
    const seven = "http://json-schema.org/draft-07/schema#";
    // In draft 7, keywords beside a reference are ignored.
    const beside = {
      definitions: { S: { type: "string" } },
      $ref: "#/definitions/S",
      maxLength: 1,
    };
    assert.equal(told({ ...beside, $schema: seven }, "long"), "");
    assert.equal(told(beside, "long"), "expected at most 1 character");
  });

  it("has a message for every keyword, and never shows a pointer", () => {
    const cases: [JsonSchemaObject, unknown, string][] = [
      [{ type: ["string", "null"] }, 1, "expected string or null, received number"],
      [{ const: { a: 1 } }, { a: 2 }, `expected {"a":1}`],
      [{ enum: [1, "a"] }, true, `expected one of 1, "a", received boolean`],
      [{ pattern: "^a$" }, "b", "expected text matching /^a$/"],
      [{ format: "ipv4" }, "b", "expected the format ipv4"],
      [{ multipleOf: 2 }, 3, "expected a multiple of 2"],
      [{ uniqueItems: true }, [1, 1], "has the same item twice"],
      [{ minProperties: 1 }, {}, "expected at least 1 field"],
      [{ maxProperties: 1 }, { a: 1, b: 1 }, "expected at most 1 field"],
      [{ propertyNames: { pattern: "^a" } }, { ab: 1, b: 1 }, `"b": is not an allowed name`],
      [{ contains: { type: "string" } }, [1, 2], "has no item of the required kind"],
      [
        { prefixItems: [{}], items: false },
        [1, 2],
        `"[1]": is not allowed, because the list is too long`,
      ],
      [{ anyOf: [] }, "a", "fits none of the allowed forms"],
      [{ not: { type: "string" } }, "a", "is not valid"],
      [
        { dependentRequired: { a: ["b"] } },
        { a: 1 },
        "has no value for a field that another field requires",
      ],
      [{ if: { required: ["a"] }, then: { required: ["b"] } }, { a: 1 }, `"b": is required`],
      [{ allOf: [{ type: "string" }, { type: "string" }] }, 1, "expected string, received number"],
      [{ anyOf: [{ const: "a" }, { const: "b" }] }, "c", `expected "a" or "b"`],
      [
        { oneOf: [{ type: "number" }, { type: "integer" }] },
        1,
        "fits more than one of the allowed forms",
      ],
      [
        { anyOf: [{ additionalProperties: false, properties: { a: {} } }, { type: "string" }] },
        { b: 1 },
        `"b": is not a known field`,
      ],
      [
        { items: { anyOf: [{ type: "string" }, { type: "null" }] } },
        [1, "a", 2],
        [
          `"[0]": expected string or null, received number`,
          `"[2]": expected string or null, received number`,
        ].join("; "),
      ],
    ];
    for (const [schema, value, sentence] of cases) {
      assert.equal(told(schema, value), sentence, JSON.stringify(schema));
    }
  });
});

describe("parse() of plain JSON Schema", () => {
  const tree = {
    type: ["array", "object"],
    items: { $ref: "#" },
    additionalProperties: { $ref: "#" },
  } as const;

  it("returns an issue for hostile values", () => {
    let deep: unknown = [];
    for (let i = 0; i < 200_000; i++) deep = [deep];
    assert.match(told(tree, deep), /nested/);
    assert.match(told({ $ref: "#" }, 1), /nested/);
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    assert.match(told(tree, cyclic), /nested/);
    assert.match(told({ additionalProperties: false }, { "\ud800": 1 }), /could not be checked/);
    for (const odd of [1n, () => {}, Symbol("x"), [1n], undefined]) {
      assert.notEqual(told({ type: "number" }, odd), "");
    }
  });

  it("stops at the first issue of a large value", () => {
    const many = Array.from({ length: 300_000 }, () => 1);
    assert.equal(
      told({ items: { type: "string" } }, many),
      `"[0]": expected string, received number`,
    );
  });
});
