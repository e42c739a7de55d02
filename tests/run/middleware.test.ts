import assert from "node:assert/strict";
import {
  createMcpPrompt,
  createMcpTool,
  createParley,
  type Middleware,
  type MiddlewareCall,
  ToolError,
} from "parley-mcp";
import { z } from "zod";
import { TestClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";

const add = createMcpTool("add").description("Adds.")
  .parameters(z.object({ a: z.number(), b: z.number() }))
  .execute(function* ({ a, b }) {
    return a + b;
  });
const three = createMcpTool("three").description("Three phases.").handoff({
  *before() {
    return 1;
  },
  *client(one) {
    return one + 1;
  },
  *after(_, two) {
    return two + 1;
  },
});
const hello = createMcpPrompt("hello").description("Says hello.").execute(function* () {
  return "Hello";
});
const ask = createMcpTool("ask").description("Asks.").durable()
  .elicits({ ok: { response: z.object({ yes: z.boolean() }) } })
  .execute(function* (_, ctx) {
    return (yield* ctx.elicit("ok", { message: "Sure?" })).action;
  });

async function withMiddleware(
  use: readonly Middleware[],
  body: (client: TestClient) => Promise<void>,
): Promise<void> {
  const parley = createParley({
    serve: [add, three, hello, ask],
    use,
    principal: (request) => request.headers.get("x-caller") ?? "nobody",
  });
  const client = new TestClient(parley.fetch, { headers: { "x-caller": "alice" } });
  try {
    await body(client);
  } finally {
    await parley.close();
  }
}

describe("middleware", () => {
  it("runs around each call, the first outermost, and knows the caller and the tool", async () => {
    const seen: (MiddlewareCall | string)[] = [];
    const named = (name: string): Middleware =>
      function* (call, next) {
        seen.push(name);
        if (name === "outer") seen.push(call);
        const value = yield* next();
        seen.push(`${name} got ${value}`);
        return value;
      };
    await withMiddleware([named("outer"), named("inner")], async (client) => {
      assert.equal((await client.call("add", { a: 1, b: 2 })).content[0].text, "3");
      const [, call] = seen as [string, MiddlewareCall];
      assert.deepEqual(seen.filter((one) => typeof one === "string"), [
        "outer",
        "inner",
        "inner got 3",
        "outer got 3",
      ]);
      const { kind, name, principal, client: app, replayed, arguments: args } = call;
      assert.deepEqual([kind, name, principal.id, replayed], ["tool", "add", "alice", false]);
      assert.deepEqual(args, { a: 1, b: 2 });
      assert.equal(app.name, "test client");
      assert.equal((await client.call("three")).content[0].text, "3");
      assert.ok((await client.request("prompts/get", { name: "hello" })).result);
    });
  });

  it("can refuse a call before the tool runs, and change its result", async () => {
    const quota: Middleware = function* (call, next) {
      if (call.name === "three") throw new ToolError("The quota is used up; try again tomorrow.");
      return `${yield* next()}!`;
    };
    await withMiddleware([quota], async (client) => {
      const refused = await client.call("three");
      assert.equal(refused.isError, true);
      assert.match(refused.content[0].text, /quota/);
      assert.equal((await client.call("add", { a: 1, b: 2 })).content[0].text, "3!");
    });
  });

  it("waits with a call that asks, and ends with one that is cancelled", async () => {
    const events: string[] = [];
    const watch: Middleware = function* (call, next) {
      try {
        const value = yield* next();
        events.push(`${call.name} returned`);
        return value;
      } finally {
        events.push(`${call.name} over`);
      }
    };
    await withMiddleware([watch], async (client) => {
      const asked = await client.call("ask");
      assert.deepEqual(events, []);
      const result = await client.call("ask", {}, {
        requestState: asked.requestState,
        inputResponses: { ok: { action: "accept", content: { yes: true } } },
      });
      assert.equal(result.content[0].text, "accept");
      assert.deepEqual(events.splice(0), ["ask returned", "ask over"]);
      await client.call("ask");
    });
    assert.deepEqual(events, ["ask over"], "closing the server halts the call");
  });
});
