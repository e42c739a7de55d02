import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { LEGACY_VERSIONS, type LegacyVersion } from "../../../src/wire/versions.ts";
import { describe, it } from "../../suite.ts";
import { ABLE, TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";

const trip = createMcpTool("trip")
  .description("Plans a trip")
  .elicits({
    plan: {
      response: z.object({
        name: z.string().default("nobody"),
        nights: z.int().min(1).default(2),
        class: z.union([
          z.literal("1").meta({ title: "First" }),
          z.literal("2").meta({ title: "Second" }),
        ]),
        meals: z.array(z.enum(["breakfast", "lunch", "dinner"])).min(1),
        insured: z.boolean().default(true),
      }),
    },
  })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("plan", { message: "How would you like to travel?" });
    return JSON.stringify(answer.action === "accept" ? answer.content : answer.action);
  });

const describeImage = createMcpTool("describe")
  .description("Asks the model with several blocks, and answers with several kinds of content")
  .execute(function* (_params, ctx) {
    const { text } = yield* ctx.sample({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look and listen" },
            { type: "image", data: "aaaa", mimeType: "image/png" },
            { type: "audio", data: "aaaa", mimeType: "audio/wav" },
          ],
        },
        { role: "assistant", content: [{ type: "tool_use", id: "1", name: "look", input: {} }] },
        {
          role: "user",
          content: [{
            type: "tool_result",
            toolUseId: "1",
            content: [{ type: "text", text: "a cat" }],
          }],
        },
      ],
    });
    yield* ctx.notify("Nearly there");
    return [
      { type: "text", text },
      { type: "audio", data: "aaaa", mimeType: "audio/wav" },
      { type: "resource_link", uri: "notes://cat", name: "cat" },
    ];
  });

const serve = [trip, describeImage];

function connect(fetch: Parameters<typeof TestClient.connect>[0], version: LegacyVersion) {
  return TestClient.connect(fetch, { version, capabilities: ABLE });
}

describe("a form", () => {
  it("is shown to 2025-06-18 as far as that can show it, with the same answer", () =>
    serving({ serve }, async ({ fetch }) => {
      for (
        const [version, meals] of [
          ["2025-11-25", ["lunch", "dinner"]],
          ["2025-06-18", "Lunch, dinner"],
        ] as const
      ) {
        const client = await connect(fetch, version);
        const call = await client.call("trip");
        const question = await call.expect("elicitation/create");
        const { required } = question.params.requestedSchema;
        assert.deepEqual(required, ["class", "meals"]);
        await client.answer(question, { action: "accept", content: { class: "1", meals } });
        assert.deepEqual(JSON.parse(await call.text()), {
          name: "nobody",
          nights: 2,
          class: "1",
          meals: ["lunch", "dinner"],
          insured: true,
        });
      }
    }));

  it("is shown again in the same revision if the answer does not fit", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await connect(fetch, "2025-06-18");
      const call = await client.call("trip");
      const first = await call.expect("elicitation/create");
      const content = { class: "1", meals: "tea" };
      await client.answer(first, { action: "accept", content });
      const second = await call.expect("elicitation/create");
      assert.match(second.params.message, /meals/);
      assert.deepEqual(second.params.requestedSchema, first.params.requestedSchema);
      await client.answer(second, { action: "accept", content: { ...content, meals: "lunch" } });
      assert.deepEqual(JSON.parse(await call.text()).meals, ["lunch"]);
    }));
});

describe("content blocks", () => {
  it("are sent to the model and returned in the format of each revision", () =>
    serving({ serve }, async ({ fetch, watch }) => {
      for (const version of LEGACY_VERSIONS) {
        const client = await connect(fetch, version);
        const call = await client.call("describe", {}, { progressToken: "p" });
        const question = await call.expect("sampling/createMessage");
        const { messages } = question.params;
        assert.equal(messages.length, version === "2025-11-25" ? 3 : 5);
        const content = { type: "text", text: "A cat, purring" };
        await client.answer(question, { role: "assistant", content, model: "m" });
        await call.expect("notifications/progress");
        const types = (await call.result()).content.map(({ type }: { type: string }) => type);
        assert.deepEqual(
          types,
          {
            "2025-11-25": ["text", "audio", "resource_link"],
            "2025-06-18": ["text", "audio", "resource_link"],
            "2025-03-26": ["text", "audio", "text"],
            "2024-11-05": ["text", "resource", "text"],
          }[version],
        );
      }
      // All of it was checked against the schemas.
      assert.ok(watch.messages >= 4 * 4);
    }));
});
