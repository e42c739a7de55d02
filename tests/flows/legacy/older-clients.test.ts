/**
 * Earlier official clients, each in the release that was current for its revision, over real
 * sockets and the transports of their time.
 */
import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../../suite.ts";
import { answerForm, planTrip, POEM } from "../../support/multi-round-tool.ts";
import { onLegacySocket } from "../../support/socket.ts";
import { noticed } from "../../support/turn.ts";

const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };

/** The part of a client that all releases have. */
interface OlderClient {
  connect(transport: unknown): Promise<void>;
  setRequestHandler(schema: unknown, handle: (request: never) => object): void;
  setNotificationHandler(schema: unknown, handle: (note: never) => void): void;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(
    params: object,
    schema?: unknown,
    options?: object,
  ): Promise<{ content: { type: string; text?: string }[]; structuredContent?: object }>;
  close(): Promise<void>;
}

/** Loads a release of the SDK, and connects its client over one of its transports. */
async function connect(sdk: string, url: string, over: "sse" | "streamableHttp") {
  const types = await import(`${sdk}/types.js`);
  const { Client } = await import(`${sdk}/client/index.js`);
  const transports = await import(`${sdk}/client/${over}.js`);
  const Transport = transports.SSEClientTransport ?? transports.StreamableHTTPClientTransport;
  const client: OlderClient = new Client({ name: sdk, version: "1" }, {
    capabilities: CAPABILITIES,
  });
  const asked: string[] = [];
  client.setRequestHandler(types.CreateMessageRequestSchema, () => {
    asked.push("sampling");
    return POEM;
  });
  if (types.ElicitRequestSchema) {
    client.setRequestHandler(
      types.ElicitRequestSchema,
      ({ params }: { params: { message: string; requestedSchema: { properties: object } } }) => {
        asked.push(Object.keys(params.requestedSchema.properties).join());
        if (!params.message.startsWith("Toppings")) return answerForm(params.message);
        return { action: "accept", content: { toppings: "Cheese, basil" } };
      },
    );
  }
  await client.connect(new Transport(new URL(url)));
  return { client, asked };
}

const rich = createMcpTool("rich").description("Answers with everything")
  .execute(function* (_params, ctx) {
    yield* ctx.notify("Asking", 1, 2);
    const { text } = yield* ctx.sample({
      messages: [{
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image", data: "aaaa", mimeType: "image/png" },
        ],
      }],
    });
    return [
      { type: "text", text },
      { type: "audio", data: "aaaa", mimeType: "audio/wav" },
      { type: "resource_link", uri: "notes://x", name: "x" },
    ];
  });

const pizza = createMcpTool("pizza").description("Asks for several things at once")
  .elicits({
    toppings: {
      response: z.object({
        toppings: z.array(z.union([
          z.literal("c").meta({ title: "Cheese" }),
          z.literal("b").meta({ title: "Basil" }),
        ])),
      }),
    },
  })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("toppings", { message: "Toppings?" });
    return JSON.stringify(answer.action === "accept" && answer.content);
  });

const serve = [planTrip, rich, pizza];

describe("an earlier official client", () => {
  it("of 2024-11-05 is served over HTTP+SSE", () =>
    onLegacySocket({ serve, legacySse: true }, async ({ origin, parley, watch }) => {
      const { client, asked } = await connect("mcp-sdk-2024-11-05", `${origin}/sse`, "sse");
      const { tools } = await client.listTools();
      assert.deepEqual(tools.map(({ name }) => name), [
        "plan_trip",
        "rich",
        "pizza",
        "continue_call",
        "answer_call",
      ]);
      const progress: unknown[] = [];
      const { content } = await client.callTool({ name: "rich" }, undefined, {
        onprogress: (step: unknown) => progress.push(step),
      });
      assert.deepEqual(content.map(({ type }) => type), ["text", "resource", "text"]);
      assert.equal(progress.length, 1);
      assert.deepEqual(asked, ["sampling"]);
      await client.close();
      await noticed(() => parley.counts.clientSessions === 0);
      assert.ok(watch.messages > 4);
    }));

  it("of 2025-03-26 is served over Streamable HTTP", () =>
    onLegacySocket({ serve }, async ({ url }) => {
      const { client, asked } = await connect("mcp-sdk-2025-03-26", url, "streamableHttp");
      const { content } = await client.callTool({ name: "rich" });
      assert.deepEqual(content.map(({ type }) => type), ["text", "audio", "text"]);
      assert.deepEqual(asked, ["sampling"]);
      // It declared elicitation, which its revision does not have. So the model asks.
      const { content: [deferral] } = await client.callTool({ name: "pizza" });
      assert.match(deferral!.text!, /Toppings\?/);
      const [, ticket] = /"ticket":"([^"]+)"/.exec(deferral!.text!)!;
      const { content: [chosen] } = await client.callTool({
        name: "continue_call",
        arguments: { ticket, answer: { toppings: ["b"] } },
      });
      assert.deepEqual(JSON.parse(chosen!.text!), { toppings: ["b"] });
      assert.deepEqual(asked, ["sampling"]);
      await client.close();
    }));

  it("of 2025-06-18 gets forms in its own format", () =>
    onLegacySocket({ serve }, async ({ url }) => {
      const { client, asked } = await connect("mcp-sdk-2025-06-18", url, "streamableHttp");
      const { content } = await client.callTool({ name: "rich" });
      assert.deepEqual(content.map(({ type }) => type), ["text", "audio", "resource_link"]);
      const { content: [chosen] } = await client.callTool({ name: "pizza" });
      assert.deepEqual(JSON.parse(chosen!.text!), { toppings: ["c", "b"] });
      const trip = await client.callTool({ name: "plan_trip", arguments: { to: "Graz" } });
      assert.equal((trip.structuredContent as { extras: boolean }).extras, false);
      assert.deepEqual(asked, [
        "sampling",
        "toppings",
        "date,flexible",
        "seat",
        "insurance",
        "sampling",
      ]);
      await client.close();
    }));
});

describe("the current official client", () => {
  it("is served over HTTP+SSE too, with questions", () =>
    onLegacySocket({ serve, legacySse: true }, async ({ origin, parley }) => {
      const sdk = "@modelcontextprotocol/sdk";
      const { client, asked } = await connect(sdk, `${origin}/sse`, "sse");
      const trip = await client.callTool({ name: "plan_trip", arguments: { to: "Graz" } });
      assert.deepEqual(trip.structuredContent, {
        plan: "Graz on 2026-08-01, window",
        extras: false,
        poem: "O Graz, thy clock is tall.",
      });
      assert.equal(asked.length, 4);
      await client.close();
      await noticed(() => parley.counts.clientSessions === 0);
    }));
});
