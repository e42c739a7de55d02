import assert from "node:assert/strict";
import { suspend } from "effection";
import { createMcpTool, createParley, type EndedCall } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../suite.ts";
import { Gate } from "../support/gate.ts";
import { ABLE, TestClient } from "../support/legacy/client.ts";
import { serving } from "../support/legacy/server.ts";
import { turn } from "../support/turn.ts";

const add = createMcpTool("add").description("Adds.")
  .elicits({ b: { response: z.object({ b: z.int() }) } })
  .execute(function* (_, ctx) {
    const answer = yield* ctx.elicit("b", { message: "?" });
    return answer.action === "accept" ? `${answer.content.b}` : answer.action;
  });

function toolCall(id: number, name: string): object {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name } };
}

describe("close() with a grace time", () => {
  it("waits for running calls, refuses new ones, and tells health checks so", async () => {
    const gate = new Gate();
    const slow = createMcpTool("slow").description("Takes its time.")
      .execute(function* () {
        yield* gate.pass();
        return "done at last";
      });
    const parley = createParley({ serve: [slow], report: () => {} });
    const client = await TestClient.connect(parley.fetch);
    const call = (name: string) => client.post(toolCall(client.nextId(), name));
    const answer = call("slow").then((response) => response.text());
    while (parley.counts.live === 0) await turn();
    let closed = false;
    const closing = parley.close({ grace: 60_000 }).then(() => closed = true);
    await turn();
    const health = await parley.fetch(new Request("http://localhost/healthz"));
    assert.equal(health.status, 503);
    assert.equal((await call("slow")).status, 503);
    assert.equal(closed, false);
    gate.open();
    assert.match(await answer, /done at last/);
    await closing;
  });

  it("does not wait for answers that may never come", async () => {
    const parley = createParley({ serve: [add], report: () => {} });
    const client = await TestClient.connect(parley.fetch, { capabilities: ABLE });
    const call = client.post(toolCall(1, "add"));
    while (parley.counts.live === 0) await turn();
    await parley.close({ grace: 3_600_000 });
    assert.match(await (await call).text(), /shutting down/);
  });

  it("accepts answers while it waits for something else", async () => {
    const stuck = createMcpTool("stuck").description("Waits.").execute(() => suspend());
    await serving({ serve: [add, stuck] }, async ({ parley, clock, fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const calls = [client.post(toolCall(1, "add")), client.post(toolCall(2, "stuck"))];
      while (parley.counts.live < 2) await turn();
      const closing = parley.close({ grace: 5_000 });
      const reader = (await calls[0]!).body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      while (!text.includes("elicitation/create")) text += (await reader.read()).value ?? "";
      const [, id] = /"id":"(elicit_[^"]+)"/.exec(text)!;
      const result = { action: "accept", content: { b: 42 } };
      assert.equal((await client.post({ jsonrpc: "2.0", id, result })).status, 202);
      while (!text.includes('"text":"42"')) text += (await reader.read()).value ?? "";
      await reader.cancel();
      clock.advance(5_000);
      await closing;
      await (await calls[1]!).body?.cancel();
    });
  });

  it("halts what is still running when the time is up", async () => {
    const stuck = createMcpTool("stuck").description("Waits.").execute(() => suspend());
    await serving({ serve: [stuck] }, async ({ parley, clock, fetch }) => {
      const client = await TestClient.connect(fetch);
      const call = client.post(toolCall(1, "stuck"));
      while (parley.counts.live === 0) await turn();
      let closed = false;
      const closing = parley.close({ grace: 5_000 }).then(() => closed = true);
      clock.advance(4_999);
      await turn();
      assert.equal(closed, false);
      clock.advance(1);
      await closing;
      assert.match(await (await call).text(), /shutting down/);
    });
  });
});

describe("onCall", () => {
  it("receives every call that has ended, without its arguments and results", async () => {
    const ended: EndedCall[] = [];
    const options = {
      onCall: (call: EndedCall) => void ended.push(call),
      doors: ["form"] as const,
    };
    await serving({ serve: [add], ...options }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: {}, name: "app" });
      const response = await client.post(toolCall(1, "add"));
      await response.text();
    });
    const [call] = ended;
    assert.equal(ended.length, 1);
    assert.equal(call!.toolName, "add");
    assert.equal(call!.client.protocolVersion, "2025-11-25");
    assert.equal(call!.outcome.status, "completed");
    assert.equal(call!.duration, 0);
  });

  it("cannot break a call by throwing", async () => {
    const faults: unknown[] = [];
    const parley = createParley({
      serve: [
        createMcpTool("ok").description("Fine.").execute(function* () {
          return "fine";
        }),
      ],
      report: ({ error }) => faults.push(error),
      onCall: () => {
        throw new Error("no luck");
      },
    });
    const client = await TestClient.connect(parley.fetch);
    const response = await client.post(toolCall(1, "ok"));
    assert.match(await response.text(), /fine/);
    assert.equal(faults.length, 1);
    await parley.close();
  });
});
