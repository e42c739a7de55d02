import assert from "node:assert/strict";
import { z } from "zod";
import { strictSchema } from "../../src/sampling/strict-schema.ts";
import { describe, it } from "../suite.ts";

/** The schema of a Zod type, as a provider gets it. */
function schemaOf(type: z.ZodType) {
  const { $schema: _dialect, ...json } = z.toJSONSchema(type, { io: "input" });
  return json as Record<string, unknown>;
}

describe("strictSchema()", () => {
  it("closes every object of a schema that strict mode supports", () => {
    const type = z.object({
      cell: z.number().min(0).max(8),
      why: z.enum(["win", "block"]),
      tags: z.array(z.object({ name: z.string() })),
      nothing: z.null(),
      either: z.union([z.string(), z.object({ a: z.literal(1) })]),
    });
    const strict = strictSchema(schemaOf(type)) as { additionalProperties: unknown };
    assert.equal(strict.additionalProperties, false);
    const text = JSON.stringify(strict);
    assert.equal(text.match(/"additionalProperties":false/g)?.length, 3);
  });

  it("handles definitions and references to them", () => {
    const Person = z.object({
      name: z.string(),
      get friends() {
        return z.array(Person);
      },
    });
    assert.ok(strictSchema(schemaOf(z.object({ person: Person }))));
  });

  it("returns nothing for a schema that strict mode does not support", () => {
    for (
      const type of [
        z.object({ note: z.string().optional() }),
        z.object({ note: z.string().default("") }),
        z.object({ name: z.string().min(1) }),
        z.object({ mail: z.email() }),
        z.object({ any: z.unknown() }),
        z.object({ map: z.record(z.string(), z.number()) }),
        z.object({ pair: z.tuple([z.string(), z.number()]) }),
        z.looseObject({ a: z.string() }),
        z.object({
          kind: z.discriminatedUnion("t", [z.object({ t: z.literal("a") })]).optional(),
        }),
        z.array(z.string()),
        z.string(),
      ]
    ) {
      assert.equal(strictSchema(schemaOf(type)), undefined, JSON.stringify(schemaOf(type)));
    }
    assert.equal(strictSchema({ type: "object" }), undefined);
    assert.equal(
      strictSchema({ type: "object", properties: { a: { allOf: [] } }, required: ["a"] }),
      undefined,
    );
    assert.equal(
      strictSchema({ type: "object", properties: { a: { type: "array" } }, required: ["a"] }),
      undefined,
    );
  });

  it("stops at a maximum depth", () => {
    let type: z.ZodType = z.string();
    for (let depth = 0; depth < 12; depth++) type = z.object({ inner: type });
    assert.equal(strictSchema(schemaOf(type)), undefined);
  });
});
