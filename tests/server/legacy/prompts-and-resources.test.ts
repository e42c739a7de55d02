import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createMcpPrompt, createMcpResource, ProtocolError, ToolError } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../../suite.ts";
import { ABLE, TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";

const question = { name: { response: z.object({ name: z.string() }) } };

const serve = [
  createMcpPrompt("review").title("Review").description("Reviews code")
    .arguments(
      z.object({ code: z.string().describe("What to review"), tone: z.string().optional() }),
    )
    .execute(function* ({ code, tone }) {
      return `Review ${code}, ${tone ?? "kindly"}`;
    }),
  createMcpPrompt("personal").description("Asks who you are").elicits(question)
    .execute(function* (_args, ctx) {
      const answer = yield* ctx.elicit("name", { message: "Who are you?" });
      if (answer.action !== "accept") throw new ToolError("Nobody is there");
      return [
        { role: "user", content: { type: "text", text: `I am ${answer.content.name}` } },
        { role: "assistant", content: { type: "text", text: "Hello!" } },
      ];
    }),
  createMcpPrompt("broken").description("Fails").execute(function* () {
    throw new Error("secret details");
  }),
  createMcpResource("note").uri("notes://{folder}/{+path}").mimeType("text/plain")
    .read(function* ({ folder, path, uri }) {
      return `${folder}: ${path} (${uri})`;
    }),
  createMcpResource("bytes").uri("bytes://x").mimeType("image/png").size(3)
    .read(function* () {
      return Buffer.from([1, 2, 3]);
    }),
  createMcpResource("private").uri("private://x").elicits(question)
    .read(function* (_address, ctx) {
      const answer = yield* ctx.elicit("name", { message: "Who are you?" });
      if (answer.action !== "accept") throw new ProtocolError(-32001, "Not for you");
      return `For ${answer.content.name}`;
    }),
];

describe("prompts", () => {
  it("are listed with their arguments", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const { prompts } = (await client.request("prompts/list")).result;
      assert.deepEqual(prompts[0], {
        name: "review",
        title: "Review",
        description: "Reviews code",
        arguments: [
          { name: "code", description: "What to review", required: true },
          { name: "tone", required: false },
        ],
      });
      assert.deepEqual(prompts[1], { name: "personal", description: "Asks who you are" });
    }));

  it("are filled in, and refused if an argument is missing", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const get = (args?: object) =>
        client.request("prompts/get", { name: "review", ...(args && { arguments: args }) });
      assert.deepEqual((await get({ code: "x" })).result, {
        description: "Reviews code",
        messages: [{ role: "user", content: { type: "text", text: "Review x, kindly" } }],
      });
      const { error } = await get();
      assert.equal(error.code, -32602);
      assert.match(error.message, /code/);
    }));

  it("may ask like a tool, and report errors", () =>
    serving({ serve }, async ({ fetch, faults }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const params = { name: "personal" };
      const asking = await client.start("prompts/get", params);
      const asked = await asking.expect("elicitation/create");
      await client.answer(asked, { action: "accept", content: { name: "Ada" } });
      const { messages } = await asking.result();
      assert.equal(messages[0].content.text, "I am Ada");

      const declined = await client.start("prompts/get", params);
      await client.answer(await declined.expect("elicitation/create"), { action: "decline" });
      assert.match((await declined.rest())[0]?.error.message, /Nobody is there/);

      const { error } = await client.request("prompts/get", { name: "broken" });
      assert.equal(error.code, -32603);
      assert.doesNotMatch(error.message, /secret/);
      assert.equal(faults.splice(0).length, 1);
    }));
});

describe("resources", () => {
  it("are listed, and their templates separately", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      assert.deepEqual((await client.request("resources/list")).result.resources, [
        { uri: "bytes://x", name: "bytes", mimeType: "image/png", size: 3 },
        { uri: "private://x", name: "private" },
      ]);
      const { resourceTemplates } = (await client.request("resources/templates/list")).result;
      assert.deepEqual(resourceTemplates, [
        { uriTemplate: "notes://{folder}/{+path}", name: "note", mimeType: "text/plain" },
      ]);
    }));

  it("are read as text and as bytes, by address or by template", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const read = async (uri: string) =>
        (await client.request("resources/read", { uri })).result.contents;
      const uri = "notes://work/a/b%20c";
      assert.deepEqual(await read(uri), [
        { uri, mimeType: "text/plain", text: `work: a/b c (${uri})` },
      ]);
      assert.deepEqual(await read("bytes://x"), [
        { uri: "bytes://x", mimeType: "image/png", blob: "AQID" },
      ]);
    }));

  it("may ask like a tool, and refuse", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      for (const action of ["accept", "decline"]) {
        const reading = await client.start("resources/read", { uri: "private://x" });
        const content = { name: "Ada" };
        await client.answer(await reading.expect("elicitation/create"), { action, content });
        const [answer] = await reading.rest();
        if (action === "accept") assert.equal(answer?.result.contents[0].text, "For Ada");
        else assert.deepEqual(answer?.error, { code: -32001, message: "Not for you" });
      }
    }));
});
