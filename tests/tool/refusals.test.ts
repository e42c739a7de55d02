import assert from "node:assert/strict";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { DefinitionError } from "../../src/mod.ts";
import { describe, it } from "../suite.ts";
import { type Loose, loosely } from "./loose.ts";

function* body() {}

/** Asserts that the tool is refused, with an error that names the tool, the field and a remedy. */
function refuses(field: string, build: () => unknown, subject = 'tool "t"'): void {
  let refused: unknown;
  try {
    build();
  } catch (error) {
    refused = error;
  }
  assert.ok(refused instanceof DefinitionError, `${field} was not refused: ${refused}`);
  assert.equal(refused.code, "PARLEY_DEFINITION");
  assert.equal(refused.name, "DefinitionError");
  assert.equal(refused.subject, subject);
  assert.equal(refused.field, field);
  const [problem, ...wayOut] = refused.message.split("; ");
  assert.ok(problem!.includes(subject) && problem!.includes(field), refused.message);
  assert.ok(wayOut.join("").length > 5, `no way out in: ${refused.message}`);
}

const described = () => loosely("t").description("d");
const asks = (question: unknown): Loose => described().elicits({ q: question });

describe("execute() and handoff() refuse", () => {
  it("a name outside MCP's rules", () => {
    for (const name of ["", "two words", "schräg", "a/b", "x".repeat(129), undefined, 7, null]) {
      const subject = `tool "${name}"`;
      refuses("its name", () => loosely(name).description("d").execute(body), subject);
    }
    refuses(
      "its name",
      () => loosely(Symbol("s")).description("d").execute(body),
      'tool "Symbol(s)"',
    );
  });

  it("a tool without a description", () => {
    refuses("its description", () => loosely("t").execute(body));
    for (const empty of ["", "  \n", undefined, 5]) {
      refuses("its description", () => loosely("t").description(empty).execute(body));
    }
  });

  it("a body that is not a function", () => {
    for (const none of [undefined, null, "body", {}, body()]) {
      refuses("execute", () => described().execute(none));
    }
    refuses("before", () => described().handoff());
    refuses("before", () => described().handoff({ client: body, after: body }));
    refuses("client", () => described().handoff({ before: body, after: body, client: 1 }));
    refuses("after", () => described().handoff({ before: body, client: body }));
  });

  it("a body that is async", () => {
    refuses("execute", () => described().execute(async () => {}));
    refuses("execute", () => described().execute(async function () {}));
    refuses("execute", () => described().execute(async function* () {}));
    for (const part of ["before", "client", "after"]) {
      const phases = { before: body, client: body, after: body, [part]: async () => {} };
      refuses(part, () => described().handoff(phases));
    }
  });

  it("a limit that is not a number of 0 or more, or an unknown limit", () => {
    for (const wrong of [-1, NaN, "5", null]) {
      for (const key of ["maxDepth", "maxTokens", "timeout"]) {
        refuses(`limits.${key}`, () => described().limits({ [key]: wrong }).execute(body));
      }
    }
    refuses("limits.timout", () => described().limits({ timout: 5 }).execute(body));
    described().limits({ maxDepth: 0, maxTokens: 0, timeout: Infinity }).execute(body);
  });
});

describe("parameters() and output()", () => {
  it("refuse what is not an object schema", () => {
    for (const method of ["parameters", "output"] as const) {
      for (
        const schema of [
          z.string(),
          z.array(z.object({})),
          z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
          z3.number(),
          { type: "string" },
          { anyOf: [{ type: "object" }] },
          [],
          "object",
          null,
          // What an import returns when two files import each other.
          undefined,
        ]
      ) {
        refuses(method, () => described()[method](schema).execute(body));
      }
    }
  });

  it("refuse what JSON cannot express, and name the field", () => {
    for (const method of ["parameters", "output"] as const) {
      const build = (schema: unknown) => () => described()[method](schema).execute(body);
      refuses(`${method}.when`, build(z.object({ when: z.date() })));
      refuses(`${method}.when`, build(z3.object({ when: z3.date() })));
      refuses(`${method}.a.b[]`, build(z.object({ a: z.object({ b: z.array(z.bigint()) }) })));
    }
  });

  it("refuse a plain object of Zod types", () => {
    refuses("parameters.name", () => described().parameters({ name: z.string() }).execute(body));
  });
});

describe("elicits()", () => {
  it("refuses a form that is not flat", () => {
    for (
      const wrong of [
        z.object({}),
        z.array(z.string()),
        z.array(z.number()),
        z.record(z.string(), z.string()),
        z.union([z.string(), z.object({})]),
      ]
    ) {
      const response = z.object({ fine: z.string(), wrong });
      refuses("elicits.q.response.wrong", () => asks({ response }).execute(body));
    }
    const zod3 = z3.object({ wrong: z3.object({ a: z3.string() }) });
    refuses("elicits.q.response.wrong", () => asks({ response: zod3 }).execute(body));
    const json = { type: "object", properties: { wrong: { type: "object" } } };
    refuses("elicits.q.response.wrong", () => asks({ response: json }).execute(body));
  });

  it("refuses a form that is not an object", () => {
    for (const response of [z.string(), { type: "string" }, undefined, null, "yes"]) {
      refuses("elicits.q.response", () => asks({ response }).execute(body));
    }
  });

  it("refuses a question without a form", () => {
    for (const question of [undefined, null, {}, z.object({ a: z.string() }), "q?"]) {
      refuses("elicits.q", () => asks(question).execute(body));
    }
  });

  it("accepts primitives, formats, single, titled and multi-select enums", () => {
    const response = z.object({
      text: z.string().min(1).max(5).describe("A text"),
      mail: z.email(),
      day: z.iso.date(),
      count: z.int().min(0),
      price: z.number().optional(),
      sure: z.boolean().default(false),
      size: z.enum(["s", "m"]),
      titled: z.union([
        z.literal("s").meta({ title: "Small" }),
        z.literal("m").meta({ title: "Mid" }),
      ]),
      many: z.array(z.enum(["a", "b"])),
    });
    const tool = asks({ response }).execute(body);
    const { properties, required } = tool.elicits.get("q")!.response.json as {
      properties: Record<string, { type: string; enum?: string[]; items?: object }>;
      required: string[];
    };
    assert.deepEqual(
      Object.entries(properties).map(([name, { type }]) => `${name}: ${type}`),
      [
        "text: string",
        "mail: string",
        "day: string",
        "count: integer",
        "price: number",
        "sure: boolean",
        "size: string",
        "titled: string",
        "many: array",
      ],
    );
    assert.ok(!required.includes("price") && !required.includes("sure"));
  });

  it("refuses sensitive fields that the form does not have", () => {
    const response = z.object({ user: z.string() });
    refuses(
      "elicits.q.sensitive",
      () => asks({ response, sensitive: ["user", "password"] }).execute(body),
    );
    refuses(
      "elicits.q.sensitive",
      () => asks({ response: z.object({}), sensitive: ["password"] }).execute(body),
    );
  });

  it("refuses a context that is not an object, or that has a field named message", () => {
    const response = z.object({ ok: z.boolean() });
    for (const context of [z.string(), { type: "array" }, undefined]) {
      refuses("elicits.q.context", () => asks({ response, context }).execute(body));
    }
    const context = z.object({ message: z.string() });
    refuses("elicits.q.context.message", () => asks({ response, context }).execute(body));
  });
});
