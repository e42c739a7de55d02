import assert from "node:assert/strict";
import { z } from "zod";
import {
  createMcpTool,
  type ElicitRequest,
  type SchemaInput,
  testTool,
  type ToolTestRun,
} from "../../src/mod.ts";
import { describe, it } from "../suite.ts";

const CELLS = ["1", "2", "3"] as const;

const asking = createMcpTool("asking").description("Asks for a cell.")
  .elicits({
    pick: {
      response: z.object({ cell: z.enum(CELLS), pin: z.string().optional() }),
      context: z.object({ board: z.string() }),
      sensitive: ["pin"],
    },
  });

/** Asks with a narrower form, and returns the outcome. */
const narrowed = (response: unknown, timeout?: number) =>
  asking.execute(function* (_params, ctx) {
    const options = { response, ...(timeout !== undefined && { timeout }) };
    const ask = { message: "Which?", board: "xo" };
    const answer = yield* ctx.elicit("pick", ask, options as never);
    return answer.action === "accept" ? answer.content as object : answer.action;
  });

const forms = ({ events }: ToolTestRun) =>
  events.flatMap((event) =>
    event.type === "elicit_request" ? [(event as ElicitRequest).params] : []
  );

const accept = (content: object) => ({ action: "accept", content }) as never;

describe("ctx.elicit() with a narrower form", () => {
  it("offers only the choices of the narrower form", async () => {
    const run = await testTool(narrowed(z.object({ cell: z.enum(["1", "3"]) })), {}, {
      elicit: { pick: accept({ cell: "3" }) },
    });
    assert.deepEqual(run.structured, undefined);
    assert.deepEqual(JSON.parse(run.text), { cell: "3" });
    assert.deepEqual(forms(run), [{
      mode: "form",
      message: "Which?",
      requestedSchema: {
        type: "object",
        properties: { cell: { type: "string", enum: ["1", "3"] } },
        required: ["cell"],
      },
    }]);
  });

  it("asks again for an answer that only the declared form would accept", async () => {
    const run = await testTool(narrowed(z.object({ cell: z.enum(["1", "3"]) })), {}, {
      elicit: { pick: [accept({ cell: "2" }), accept({ cell: "1" })] },
    });
    assert.deepEqual(JSON.parse(run.text), { cell: "1" });
    assert.equal(forms(run).length, 2);
    assert.match(forms(run)[1]!.message, /could not be used/);
  });

  it("leaves the declared form unchanged for the next question", async () => {
    const tool = asking.execute(function* (_params, ctx) {
      const ask = { message: "?", board: "" };
      yield* ctx.elicit("pick", ask, { response: z.object({ cell: z.enum(["1"]) }) });
      yield* ctx.elicit("pick", ask);
    });
    const run = await testTool(tool, {}, { elicit: { pick: "decline" } });
    const [first, second] = forms(run).map((params) => JSON.stringify(params));
    assert.match(first!, /"enum":\["1"\]/);
    assert.match(second!, /"enum":\["1","2","3"\]/);
  });

  it("keeps sensitive fields sensitive", async () => {
    const response = z.object({ cell: z.enum(["1"]), pin: z.string() });
    const run = await testTool(narrowed(response), {}, {
      elicit: { pick: accept({ cell: "1", pin: "1234" }) },
    });
    const answer = run.events.find(({ type }) => type === "answer");
    assert.doesNotMatch(JSON.stringify(answer), /1234/);
    assert.match(JSON.stringify(run.events[0]), /"sensitive":\["pin"\]/);
  });

  it("applies a timeout if one is given", async () => {
    const tool = narrowed(z.object({ cell: z.enum(["1"]) }), 1_000);
    const run = await testTool(tool, {}, { elicit: { pick: "timeout" } });
    assert.equal(run.text, "timeout");
  });

  it("accepts plain JSON Schema too", async () => {
    const response: SchemaInput = {
      type: "object",
      properties: { cell: { type: "string", enum: ["2"] } },
      required: ["cell"],
    };
    const run = await testTool(narrowed(response), {}, { elicit: { pick: accept({ cell: "2" }) } });
    assert.deepEqual(JSON.parse(run.text), { cell: "2" });
  });

  it("refuses a form that cannot be shown, or that is not narrower", async () => {
    for (
      const response of [
        null,
        "cell",
        z.string(),
        z.object({ cell: z.object({ x: z.int() }) }),
        z.object({ cell: z.enum(["1"]), row: z.int() }),
      ]
    ) {
      const run = await testTool(narrowed(response), {}, { elicit: { pick: "decline" } });
      assert.ok(run.faults[0] instanceof TypeError, String(run.faults[0]));
      assert.match(run.faults[0].message, /"pick"/);
      assert.deepEqual(forms(run), []);
    }
  });
});
