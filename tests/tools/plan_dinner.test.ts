import assert from "node:assert/strict";
import { type SampleRequest, testTool } from "../../src/mod.ts";
import { planDinner } from "../../tools/plan_dinner.ts";
import { describe, it } from "../suite.ts";

/** A model that suggests soup, then roast, then writes a list. */
const sample = ["Soup", " Roast\n", "1 kg of it"];
const second = { action: "accept", content: { dish: "second", without: "fish" } } as const;

describe("plan_dinner", () => {
  it("lets the person choose between the two dishes that the model suggests", async () => {
    const { structured, conversation, leftover, warnings } = await testTool(planDinner, {
      guests: 4,
    }, {
      elicit: { choose: second },
      sample,
    });
    assert.deepEqual(structured, {
      dish: "Roast",
      chosenBy: "person",
      shoppingList: "1 kg of it",
    });
    assert.deepEqual(conversation.map(({ kind }) => kind), [
      "sample",
      "sample",
      "elicit",
      "sample",
    ]);
    assert.equal(conversation[2]!.asked, "Which dish shall it be: Soup, or Roast?");
    assert.deepEqual(leftover, []);
    assert.deepEqual(warnings, []);
  });

  it("offers the dishes as choices, each on one line", async () => {
    const { events, conversation } = await testTool(planDinner, { guests: 4 }, {
      elicit: { choose: second },
      sample: ["  Soup\nwith noodles", "x".repeat(500), "list"],
    });
    const form = events.find((event) => event.type === "elicit_request")!;
    const titles = [...JSON.stringify(form).matchAll(/"title":"([^"]*)"/g)].map(([, title]) =>
      title!
    );
    assert.equal(titles[0], "Soup with noodles");
    assert.equal(titles[1]!.length, 80);
    assert.doesNotMatch(conversation[2]!.asked, /\n/);
  });

  it("reports that no model can be asked before it asks anybody", async () => {
    const client = { name: "Acme", capabilities: { elicitation: {} } };
    const run = await testTool(planDinner, { guests: 4 }, { client });
    assert.equal(run.result.isError, true);
    assert.match(run.text, /Acme does not support sampling; .*PARLEY_MODEL/);
    assert.deepEqual(run.events.map(({ type }) => type), ["result"]);
    assert.equal(planDinner.requires.elicitation, true);
  });

  it("works with the server's own model", async () => {
    const provider = {
      name: "own",
      sample: () =>
        Promise.resolve({
          role: "assistant" as const,
          content: { type: "text" as const, text: "Soup" },
          model: "m",
        }),
    };
    const run = await testTool(planDinner, { guests: 4 }, {
      client: { name: "Acme", capabilities: { elicitation: {} } },
      sampling: { provider },
      elicit: { choose: second },
    });
    assert.equal(run.structured.shoppingList, "Soup");
  });

  it("tells the model what was offered and what was chosen", async () => {
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

  it("chooses the quick dish if nobody answers", async () => {
    const run = await testTool(planDinner, { guests: 1 }, {
      elicit: { choose: "timeout" },
      sample,
    });
    assert.equal(run.structured.dish, "Soup");
    assert.equal(run.structured.chosenBy, "nobody");
  });

  it("gives up when the person wants neither", async () => {
    for (const choose of ["decline", "cancel"] as const) {
      const run = await testTool(planDinner, { guests: 1 }, { elicit: { choose }, sample });
      assert.equal(run.result.isError, true);
      assert.deepEqual(run.leftover, ["sample[2]"]);
    }
  });
});
