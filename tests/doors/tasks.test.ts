import assert from "node:assert/strict";
import { createMcpTool, createParley, InMemoryToolSessionStore, Sealer } from "parley-mcp";
import { z } from "zod";
import { ABLE_WITH_TASKS, TASKS, TestClient } from "../support/modern/client.ts";
import { serving } from "../support/modern/server.ts";
import { describe, it } from "../suite.ts";
import { connectHost, ERAS, type Result, textOf, ticketOf } from "./host.ts";

const ask = createMcpTool("ask").description("Asks.")
  .elicits({ who: { response: z.object({ name: z.string() }) } })
  .durable()
  .task()
  .execute(function* (_params, ctx) {
    const one = yield* ctx.elicit("who", { message: "Who?" });
    const two = yield* ctx.elicit("who", { message: "Who else?" });
    return [one, two].map((who) =>
      who.action === "accept" ? `${who.content.name} via ${who.via}` : who.action
    )
      .join(", ");
  });

describe("a task that asks", () => {
  it("is completed with a deferral if its client cannot ask, and stays completed", async () => {
    await serving({ serve: [ask] }, async ({ fetch }) => {
      const client = new TestClient(fetch, { capabilities: { extensions: { [TASKS]: {} } } });
      const { taskId } = await client.call("ask");
      const task = await client.result("tasks/get", { taskId });
      assert.equal(task.status, "completed");
      const second = await client.call("continue_call", {
        ticket: ticketOf(task.result),
        answer: "Ada",
      });
      assert.equal((await client.result("tasks/get", { taskId })).status, "completed");
      const last = await client.call("continue_call", { ticket: ticketOf(second), answer: "Bob" });
      assert.equal(textOf(last), "Ada via model, Bob via model");
    });
  });

  it("names the view that can draw its forms, if both sides declare that", async () => {
    const ui = "io.modelcontextprotocol/ui";
    const mimeTypes = ["text/html;profile=mcp-app"];
    const taskOf = async (extension: object) => {
      let asked: Result;
      await serving({ serve: [ask] }, async ({ fetch }) => {
        const extensions = { [TASKS]: {}, [ui]: extension };
        const capabilities = { elicitation: { form: {} }, extensions };
        const client = new TestClient(fetch, { capabilities });
        const { taskId } = await client.call("ask");
        const { inputRequests } = await client.result("tasks/get", { taskId });
        [asked] = Object.values(inputRequests);
        await client.result("tasks/cancel", { taskId });
      });
      return asked.params._meta;
    };
    const meta = await taskOf({ mimeTypes, elicitation: {} });
    assert.deepEqual(meta, { ui: { resourceUri: "ui://parley/ask.html" } });
    assert.equal(await taskOf({ mimeTypes }), undefined);
  });

  it("asks a client with forms as its input", async () => {
    await serving({ serve: [ask] }, async ({ fetch }) => {
      const client = new TestClient(fetch, { capabilities: ABLE_WITH_TASKS });
      const { taskId } = await client.call("ask");
      for (const name of ["Ada", "Bob"]) {
        const task = await client.result("tasks/get", { taskId });
        assert.equal(task.status, "input_required");
        const [key] = Object.keys(task.inputRequests);
        const inputResponses = { [key!]: { action: "accept", content: { name } } };
        await client.result("tasks/update", { taskId, inputResponses });
      }
      const { result } = await client.result("tasks/get", { taskId });
      assert.equal(textOf(result), "Ada via form, Bob via form");
    });
  });
});

for (const era of ERAS) {
  describe(`a durable call that was deferred, in the ${era} era`, () => {
    it("continues with the same ticket on the next server", async () => {
      const store = new InMemoryToolSessionStore();
      const sealer = new Sealer("a key that outlasts the server");
      const start = () => createParley({ serve: [ask], store, sealer });
      const one = start();
      const first = await (await connectHost(era, one.fetch)).call("ask");
      await one.close();
      const two = start();
      const second = await (await connectHost(era, two.fetch)).call("continue_call", {
        ticket: ticketOf(first),
        answer: "Ada",
      });
      await two.close();
      const three = start();
      const host = await connectHost(era, three.fetch);
      // An older ticket returns the current state.
      const older = await host.call("continue_call", { ticket: ticketOf(first) });
      assert.match(textOf(older), /Who else\?/);
      const last = await host.call("continue_call", { ticket: ticketOf(second), answer: "Bob" });
      assert.equal(textOf(last), "Ada via model, Bob via model");
      await three.close();
    });
  });
}
