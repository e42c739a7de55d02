import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { accept, TestClient, textOf } from "../../support/modern/client.ts";
import { onSocket } from "../../support/socket.ts";
import { Gate } from "../../support/gate.ts";
import { describe, it } from "../../suite.ts";

/** A tool that reports when it starts and when it has cleaned up. */
function workTool() {
  const gate = new Gate();
  const began = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  const tool = createMcpTool("work").description("Works")
    .parameters(z.object({ ask: z.boolean().default(false) }))
    .elicits({ go: { response: z.object({ go: z.boolean() }) } })
    .execute(function* ({ ask }, ctx) {
      if (ask) yield* ctx.elicit("go", { message: "Go?" });
      let how = "cancelled";
      try {
        yield* ctx.notify("working", 1);
        began.resolve();
        yield* gate.pass();
        how = "finished";
        return "worked";
      } finally {
        ended.resolve(how);
      }
    });
  return { tool, gate, began: began.promise, ended: ended.promise };
}

describe("a client that vanishes", () => {
  it("before there is a response cancels its call", async () => {
    const { tool, began, ended } = workTool();
    await onSocket({ serve: [tool] }, async (url) => {
      const client = new TestClient(fetch, { url });
      const leaving = new AbortController();
      const call = client.start("tools/call", { name: "work" }, { signal: leaving.signal });
      await began;
      leaving.abort();
      await assert.rejects(call);
      assert.equal(await ended, "cancelled");
    });
  });

  it("in the middle of a stream cancels its call", async () => {
    const { tool, ended } = workTool();
    await onSocket({ serve: [tool] }, async (url) => {
      const client = new TestClient(fetch, { url, meta: { progressToken: 1 } });
      const leaving = new AbortController();
      const { signal } = leaving;
      const exchange = await client.start("tools/call", { name: "work" }, { signal });
      await exchange.expect("notifications/progress");
      leaving.abort();
      assert.equal(await ended, "cancelled");
    });
  });

  it("leaves the result to an identical request", async () => {
    const { tool, gate, ended } = workTool();
    await onSocket({ serve: [tool] }, async (url) => {
      const client = new TestClient(fetch, { url, meta: { progressToken: 1 } });
      const { requestState } = await client.call("work", { ask: true });
      const inputResponses = { go: accept({ go: true }) };
      const retry = { name: "work", arguments: { ask: true }, requestState, inputResponses };
      const leaving = new AbortController();
      const first = await client.start("tools/call", retry, { signal: leaving.signal });
      await first.expect("notifications/progress");
      const second = await client.start("tools/call", retry);
      await second.expect("notifications/progress");
      leaving.abort();
      await assert.rejects(first.rest());
      gate.open();
      assert.equal(textOf((await second.rest()).at(-1)!.result), "worked");
      assert.equal(await ended, "finished");
    });
  });
});
