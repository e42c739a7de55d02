import assert from "node:assert/strict";
import { createMcpPrompt, createMcpResource, createMcpTool } from "parley-mcp";
import { describe, it } from "../../suite.ts";
import { TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { ask, echo } from "../../support/tools.ts";

const note = createMcpResource("note").uri("notes://{name}").read(function* () {
  return "text";
});
const prompt = createMcpPrompt("prompt").description("d").execute(function* () {
  return "text";
});
const announcing = createMcpTool("announcing").description("Tells everybody")
  .execute(function* (_params, ctx) {
    yield* ctx.listChanged("prompts");
    yield* ctx.resourceUpdated("notes://today");
    return "told";
  });

const LISTS = ["tools", "prompts", "resources"].map((list) => `notifications/${list}/list_changed`);

describe("the legacy notification stream", () => {
  it("tells every client that a list has changed", () =>
    serving({ serve: [echo, prompt, note] }, async ({ fetch, parley }) => {
      const clients = [await TestClient.connect(fetch), await TestClient.connect(fetch)];
      const streams = [await clients[0]!.listen(), await clients[1]!.listen()];
      parley.add(ask);
      assert.equal(parley.remove("prompt", "prompt"), true);
      assert.equal(parley.remove("prompt", "prompt"), false);
      parley.remove("resource", "note");
      for (const stream of streams) {
        for (const method of LISTS) {
          assert.deepEqual(await stream.message(), { jsonrpc: "2.0", method });
        }
      }
      const { tools } = (await clients[0]!.request("tools/list")).result;
      assert.deepEqual(tools.map(({ name }: { name: string }) => name), [
        "echo",
        "ask",
        "continue_call",
        "answer_call",
      ]);
    }));

  it("sends nothing about lists that the server did not announce", () =>
    serving({ serve: [echo] }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      const stream = await client.listen();
      parley.add(prompt);
      parley.add(note);
      parley.add(ask);
      await stream.expect("notifications/tools/list_changed");
      await client.end();
      assert.deepEqual(await stream.rest(), []);
    }));

  it("reports a resource to its subscribers only, and only while they are subscribed", () =>
    serving({ serve: [note, announcing] }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      const other = await TestClient.connect(fetch);
      const uri = "notes://today";
      assert.deepEqual((await client.request("resources/subscribe", { uri })).result, {});
      const streams = [await client.listen(), await other.listen()];
      parley.resourceUpdated("notes://tomorrow");
      parley.resourceUpdated(uri);
      const updated = await streams[0]!.expect("notifications/resources/updated");
      assert.deepEqual(updated.params, { uri });
      await other.request("tools/call", { name: "announcing" });
      await streams[0]!.expect("notifications/resources/updated");
      assert.deepEqual((await client.request("resources/unsubscribe", { uri })).result, {});
      parley.resourceUpdated(uri);
      await client.end();
      await other.end();
      assert.deepEqual(await streams[0]!.rest(), []);
      assert.deepEqual(await streams[1]!.rest(), []);
    }));

  it("refuses subscriptions above the limit", () =>
    serving({ serve: [note] }, async ({ parley }) => {
      const client = await TestClient.connect(parley.fetch);
      for (let i = 0; i < 1_000; i++) {
        const { result } = await client.request("resources/subscribe", { uri: `notes://${i}` });
        assert.ok(result);
      }
      const { error } = await client.request("resources/subscribe", { uri: "notes://more" });
      assert.equal(error.code, -32600);
    }));

  it("keeps a limited number of messages for a client that is away", () =>
    serving({ serve: [echo, note] }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      await client.request("resources/subscribe", { uri: "notes://today" });
      for (let i = 0; i < 300; i++) parley.resourceUpdated("notes://today");
      const first = await client.listen();
      for (let i = 0; i < 256; i++) await first.expect("notifications/resources/updated");
      await first.leave();
      parley.remove("tool", "echo");
      const second = await client.listen();
      await second.expect("notifications/tools/list_changed");
      await client.end();
      assert.deepEqual(await second.rest(), []);
    }));

  it("can be resumed, and a new stream replaces the old one", () =>
    serving({ serve: [echo, note] }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      const first = await client.listen();
      parley.add(ask);
      parley.remove("tool", "ask");
      parley.remove("resource", "note");
      await first.expect("notifications/tools/list_changed");
      assert.equal(first.lastEventId, "0.1");
      const second = await client.listen("0.1");
      assert.deepEqual(await second.frame(), { id: "0.1", retry: 1_000, data: "" });
      await second.expect("notifications/tools/list_changed");
      await second.expect("notifications/resources/list_changed");
      const third = await client.listen();
      assert.deepEqual(await second.rest(), []);
      assert.equal(parley.counts.streams, 1);
      parley.add(ask);
      await third.expect("notifications/tools/list_changed");
      assert.equal(third.lastEventId, "0.4");
    }));
});
