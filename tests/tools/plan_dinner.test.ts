import assert from "node:assert/strict";
import { type SampleRequest, testTool } from "../../src/mod.ts";
import { planDinner } from "../../tools/plan_dinner.ts";
import { describe, it } from "../suite.ts";

/** A model that suggests soup, then roast, then writes a list. */
const sample = ["Soup", " Roast\n", "1 kg of it"];
const second = { action: "accept", content: { dish: "second", without: "fish" } } as const;

describe("plan_dinner", () => {
  it("lets the person choose between the two dishes that the model suggests", async () => {
    const { structured, conversation, leftover } = await testTool(planDinner, { guests: 4 }, {
      elicit: { choose: second },
      sample,
    });
    assert.deepEqual(structured, { dish: "Roast", shoppingList: "1 kg of it" });
    assert.deepEqual(conversation.map(({ kind }) => kind), [
      "sample",
      "sample",
      "elicit",
      "sample",
    ]);
    assert.match(conversation[2]!.asked, /1\. Soup\n2\. Roast$/);
    assert.deepEqual(leftover, []);
  });

  it("tells the model what was on offer and what was chosen", async () => {
    const { events } = await testTool(planDinner, { guests: 4 }, {
      elicit: { choose: second },
      sample,
    });
    const { params } = events.findLast(({ type }) => type === "sample_request") as SampleRequest;
    const [, asked, answered] = params.messages;
    assert.equal(asked!.content[0]!.type, "tool_use");
    assert.match(JSON.stringify(asked), /"input":\{"first":"Soup","second":"Roast"\}/);
    assert.match(JSON.stringify(answered), /fish/);
  });

  it("takes the quick dish when nobody answers", async () => {
    const run = await testTool(planDinner, { guests: 1 }, {
      elicit: { choose: "timeout" },
      sample,
    });
    assert.equal(run.structured.dish, "Soup");
  });

  it("gives up when the person wants neither", async () => {
    for (const choose of ["decline", "cancel"] as const) {
      const run = await testTool(planDinner, { guests: 1 }, { elicit: { choose }, sample });
      assert.equal(run.result.isError, true);
      assert.deepEqual(run.leftover, ["sample[2]"]);
    }
  });
});
