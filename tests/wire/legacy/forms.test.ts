import assert from "node:assert/strict";
import fc from "fast-check";
import { newerAnswer, olderForm } from "../../../src/wire/legacy/forms.ts";
import { toElicitationSchema } from "../../../src/schema/elicitation.ts";
import { z } from "zod";
import { describe, it } from "../../suite.ts";
import { complaintsAbout } from "../../support/legacy/schemas.ts";

const colours = [
  { const: "r", title: "Red" },
  { const: "g", title: "Green" },
  { const: "b", title: "Blue" },
];

function form(properties: object, required?: string[]) {
  return { type: "object", properties, ...(required && { required }) };
}

/** How one field looks to an older client. */
function older(field: object): unknown {
  return (olderForm(form({ field })).properties as { field: unknown }).field;
}

/** How a person's text in one field is converted. */
function newer(field: object, written: unknown, required: string[] = []): unknown {
  const response = { action: "accept" as const, content: { field: written } };
  const answer = newerAnswer(form({ field }, required), response);
  return (answer as unknown as typeof response).content.field;
}

describe("olderForm()", () => {
  it("does not change what older clients know", () => {
    for (
      const field of [
        { type: "string", title: "T", description: "D", minLength: 1, format: "email" },
        { type: "integer", minimum: 0, maximum: 9 },
        { type: "boolean", default: true },
        { type: "string", enum: ["a", "b"] },
        { type: "string", enum: ["a"], enumNames: ["A"] },
      ]
    ) assert.deepEqual(older(field), field);
  });

  it("turns titled choices into enum and enumNames", () => {
    assert.deepEqual(older({ type: "string", title: "Colour", oneOf: colours }), {
      type: "string",
      title: "Colour",
      enum: ["r", "g", "b"],
      enumNames: ["Red", "Green", "Blue"],
    });
  });

  it("turns a multiple choice into text, and explains what to write", () => {
    assert.deepEqual(
      older({
        type: "array",
        title: "Colours",
        description: "Which?",
        minItems: 1,
        maxItems: 2,
        items: { anyOf: colours },
      }),
      {
        type: "string",
        title: "Colours",
        description:
          "Which?\nChoose at least 1 and at most 2 of these, separated by commas: r (Red), g (Green), b (Blue)",
      },
    );
    assert.deepEqual(older({ type: "array", items: { type: "string", enum: ["a", "b"] } }), {
      type: "string",
      description: "Choose any number of these, separated by commas: a, b",
    });
  });

  it("separates with semicolons if a choice contains a comma", () => {
    const field = { type: "array", items: { type: "string", enum: ["Oslo, NO", "Rome, IT"] } };
    assert.match(JSON.stringify(older(field)), /separated by semicolons: Oslo, NO; Rome, IT/);
    assert.deepEqual(newer(field, "Oslo, NO; rome, it"), ["Oslo, NO", "Rome, IT"]);
  });

  it("keeps a default, and also writes it in the description", () => {
    assert.deepEqual(older({ type: "string", description: "D", default: "x" }), {
      type: "string",
      description: "D\nDefault: x",
      default: "x",
    });
    assert.deepEqual(older({ type: "number", default: 2.5 }), {
      type: "number",
      description: "Default: 2.5",
      default: 2.5,
    });
    assert.deepEqual(older({ type: "string", oneOf: colours, default: "g" }), {
      type: "string",
      description: "Default: g",
      enum: ["r", "g", "b"],
      enumNames: ["Red", "Green", "Blue"],
      default: "g",
    });
  });

  it("writes the default of a multiple choice so that it can be read back", () => {
    const field = { type: "array", items: { enum: ["a", "b"] }, default: ["a", "b"] };
    const shown = older(field) as { description: string; default: string };
    assert.match(shown.description, /Default: a, b/);
    assert.equal(shown.default, "a, b");
    assert.deepEqual(newer(field, shown.default), ["a", "b"]);
  });

  it("keeps which fields are required, and no other root property", () => {
    assert.deepEqual(
      olderForm({ $schema: "x", ...form({ a: { type: "string" } }, ["a"]) }),
      form({ a: { type: "string" } }, ["a"]),
    );
  });

  it("returns forms that match the official schema of 2025-06-18", async () => {
    const { json } = toElicitationSchema(z.object({
      name: z.string().default("John"),
      age: z.int().min(0).optional(),
      agreed: z.boolean().default(false),
      mail: z.email(),
      size: z.enum(["s", "m"]).default("m"),
      colour: z.union([z.literal("r").meta({ title: "Red" }), z.literal("g")]),
      colours: z.array(z.enum(["r", "g"])).min(1).default(["r"]),
    }));
    const params = { message: "m", requestedSchema: olderForm(json) };
    const request = { jsonrpc: "2.0", id: "q", method: "elicitation/create", params };
    assert.deepEqual(await complaintsAbout("2025-06-18", request), []);
    const asItIs = { ...request, params: { message: "m", requestedSchema: json } };
    assert.ok((await complaintsAbout("2025-06-18", asItIs)).length > 0);
  });
});

describe("newerAnswer()", () => {
  const field = { type: "array", items: { anyOf: colours } };

  it("turns written values or titles, in any case, into a list without duplicates", () => {
    assert.deepEqual(newer(field, "r, Green ,BLUE,r,, red"), ["r", "g", "b"]);
  });

  it("leaves unknown choices for parsing to refuse", () => {
    assert.deepEqual(newer(field, "r, pink"), ["r", "pink"]);
  });

  it("treats an empty text as an empty list, or as absent if none was required", () => {
    assert.deepEqual(newer(field, " "), undefined);
    assert.deepEqual(newer(field, " ", ["field"]), []);
  });

  it("does not change a list, other fields, and answers without content", () => {
    assert.deepEqual(newer(field, ["r"]), ["r"]);
    assert.deepEqual(newer({ type: "string" }, "a, b"), "a, b");
    const schema = form({ field });
    for (
      const response of [
        { action: "decline" as const },
        { action: "accept" as const },
        { error: { code: 1, message: "no" } },
      ]
    ) assert.deepEqual(newerAnswer(schema, response), response);
  });

  it("reads back every choice as it was listed", () => {
    const word = fc.string({ minLength: 1 }).map((text) => text.replace(/[;\s]/g, "x"));
    fc.assert(fc.property(fc.uniqueArray(word, { minLength: 1 }), (values) => {
      const choices = { type: "array", items: { type: "string", enum: values } };
      const mark = values.some((value) => value.includes(",")) ? "; " : ", ";
      assert.deepEqual(newer(choices, values.join(mark)), values);
    }));
  });

  it("returns an outcome for whatever a client may send", () => {
    fc.assert(fc.property(fc.jsonValue(), (content) => {
      newerAnswer(form({ field }), { action: "accept", content: content as never });
    }));
  });
});
