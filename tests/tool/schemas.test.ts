import assert from "node:assert/strict";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { createMcpTool, type FinalizedMcpTool, testTool } from "../../src/mod.ts";
import { describe, it } from "../suite.ts";

// One tool, written with three schema libraries: the difference must not be visible.

const zod4 = createMcpTool("order").description("Orders.")
  .parameters(z.object({ dish: z.string().min(2), plates: z.int().default(1) }))
  .output(z.object({ total: z.number() }))
  .elicits({
    pay: { response: z.object({ tip: z.number().min(0) }), context: z.object({ sum: z.number() }) },
  })
  .execute(function* ({ dish, plates }, ctx) {
    const sum = plates * dish.length;
    const paid = yield* ctx.elicit("pay", { message: "Tip?", sum });
    return { total: sum + (paid.action === "accept" ? paid.content.tip : 0) };
  });

const zod3 = createMcpTool("order").description("Orders.")
  .parameters(z3.object({ dish: z3.string().min(2), plates: z3.number().int().default(1) }))
  .output(z3.object({ total: z3.number() }))
  .elicits({
    pay: {
      response: z3.object({ tip: z3.number().min(0) }),
      context: z3.object({ sum: z3.number() }),
    },
  })
  .execute(function* ({ dish, plates }, ctx) {
    const sum = plates * dish.length;
    const paid = yield* ctx.elicit("pay", { message: "Tip?", sum });
    return { total: sum + (paid.action === "accept" ? paid.content.tip : 0) };
  });

const json = createMcpTool("order").description("Orders.")
  .parameters({
    type: "object",
    properties: {
      dish: { type: "string", minLength: 2 },
      plates: { type: "integer", default: 1 },
    },
    required: ["dish"],
  })
  .output({ type: "object", properties: { total: { type: "number" } }, required: ["total"] })
  .elicits({
    pay: {
      response: {
        type: "object",
        properties: { tip: { type: "number", minimum: 0 } },
        required: ["tip"],
      },
      context: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
    },
  })
  .execute(function* ({ dish, plates }, ctx) {
    const sum = Number(plates ?? 1) * String(dish).length;
    const paid = yield* ctx.elicit("pay", { message: "Tip?", sum });
    return { total: sum + (paid.action === "accept" ? Number(paid.content["tip"]) : 0) };
  });

const tools: Record<string, FinalizedMcpTool> = {
  "Zod 4": zod4,
  "Zod 3": zod3,
  "JSON Schema": json,
};

/** The same without the keywords that have no effect here. */
function essence(schema: unknown): unknown {
  const { type, properties, required } = schema as Record<string, unknown>;
  return { type, properties, required };
}

for (const [written, tool] of Object.entries(tools)) {
  const run = (params: unknown, tip: unknown = 2) =>
    testTool(tool as typeof zod4, params as { dish: string }, {
      elicit: { pay: { action: "accept", content: { tip: tip as number } } },
    });

  describe(`a tool whose schemas are in ${written}`, () => {
    it("is called, asks and answers", async () => {
      const { structured, text, conversation } = await run({ dish: "soup", plates: 3 });
      assert.deepEqual(structured, { total: 14 });
      assert.equal(text, '{"total":14}');
      assert.equal(conversation.length, 1);
    });

    it("accepts missing optional arguments", async () => {
      assert.deepEqual((await run({ dish: "soup" })).structured, { total: 6 });
    });

    it("tells the model which argument is wrong", async () => {
      for (const params of [{}, { dish: 5 }, { dish: "x" }, { dish: "soup", plates: 1.5 }, null]) {
        const { result, conversation, faults } = await run(params);
        assert.equal(result.isError, true);
        assert.deepEqual([conversation.length, faults.length], [0, 0]);
        const field = params && "plates" in params ? "plates" : "dish";
        assert.match((result.content[0] as { text: string }).text, new RegExp(field));
      }
    });

    it("never sees an answer that does not fit", async () => {
      const { outcome, conversation } = await run({ dish: "soup" }, -1);
      assert.equal(conversation.length, 4);
      assert.equal((outcome as { result: { isError?: boolean } }).result.isError, true);
    });

    it("publishes the same schemas", () => {
      const { parameters, output, elicits } = tool;
      assert.deepEqual((essence(parameters.json) as { required: unknown }).required, ["dish"]);
      assert.deepEqual(essence(output!.json), essence(json.output!.json));
      assert.deepEqual(
        essence(elicits.get("pay")!.response.json),
        essence(json.elicits.get("pay")!.response.json),
      );
    });
  });
}

describe("parameters()", () => {
  it("reports a schema that threw to the operator, and only that fact to the model", async () => {
    const tool = createMcpTool("t").description("d")
      .parameters(z.object({
        n: z.number().refine(() => {
          throw new Error("a secret of the server");
        }),
      }))
      .execute(function* () {});
    const { outcome, faults } = await testTool(tool, { n: 1 });
    assert.equal(faults.length, 1);
    assert.match(String(faults[0]), /secret/);
    const { result } = outcome as { result: { isError?: boolean } };
    assert.equal(result.isError, true);
    assert.doesNotMatch(JSON.stringify(result), /secret/);
  });

  it("passes the parsed arguments to the body", async () => {
    const tool = createMcpTool("t").description("d")
      .parameters(z.object({ day: z.iso.date().transform((day) => new Date(day)) }))
      .execute(function* ({ day }) {
        return day.getUTCFullYear();
      });
    assert.equal((await testTool(tool, { day: "2026-05-01" })).text, "2026");
  });
});
