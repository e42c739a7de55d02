import assert from "node:assert/strict";
import { createMcpPrompt, createMcpResource } from "parley-mcp";
import { describe, it } from "../../suite.ts";
import { ABLE, TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { ask, echo, handTool } from "../../support/tools.ts";
import { until } from "../../support/turn.ts";

const serve = [
  echo,
  ask,
  createMcpPrompt("greeting").description("Greets").execute(function* () {
    return "Hello";
  }),
  createMcpResource("note").uri("notes://{name}").read(function* () {
    return "text";
  }),
];

describe("an invalid message", () => {
  it("is refused with 400 and a parse error if it is not JSON", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (const body of ["", "{", "nonsense", '{"jsonrpc":"2.0"', "\u0000", "[1,", "'x'"]) {
        const response = await client.post(body);
        assert.equal(response.status, 400, body);
        const { error, ...rest } = await response.json();
        assert.equal(error.code, -32700, body);
        assert.deepEqual(rest, { jsonrpc: "2.0" });
      }
    }));

  it("is refused with 400 if its envelope is wrong, with its id if it has one", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (
        const [message, id] of [
          [null, undefined],
          [5, undefined],
          ["text", undefined],
          [{}, undefined],
          [{ jsonrpc: "2.0" }, undefined],
          [{ jsonrpc: "2.0", id: null, method: "ping" }, undefined],
          [{ jsonrpc: "2.0", id: 1.5, method: "ping" }, undefined],
          [{ jsonrpc: "2.0", id: {}, method: "ping" }, undefined],
          [{ jsonrpc: "2.0", id: [1], method: "ping" }, undefined],
          [{ jsonrpc: "2.0", id: true, method: "ping" }, undefined],
          [{ jsonrpc: "1.0", id: 4, method: "ping" }, 4],
          [{ id: 4, method: "ping" }, 4],
          [{ jsonrpc: "2.0", id: 4, method: 5 }, 4],
          [{ jsonrpc: "2.0", id: "x", method: "ping", params: [] }, "x"],
          [{ jsonrpc: "2.0", id: "x", method: "ping", params: null }, "x"],
        ] as const
      ) {
        const response = await client.post(JSON.stringify(message));
        assert.equal(response.status, 400, JSON.stringify(message));
        const body = await response.json();
        assert.equal(body.error.code, -32600);
        assert.equal(body.id, id);
      }
    }));

  it("with an unknown method gets an error, whatever the method is called", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (
        const method of [
          "tools/fly",
          "",
          "constructor",
          "toString",
          "__proto__",
          "hasOwnProperty",
          "server/discover",
          "tasks/list",
        ]
      ) assert.equal((await client.request(method)).error.code, -32601, method);
      assert.equal((await client.notify("notifications/unheard-of")).status, 202);
    }));

  it("with invalid parameters gets an error, without effect on others", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const odd: unknown[] = [undefined, null, 5, {}, { toString: 1 }, {
        toString: null,
        valueOf: 1,
      }, [[[]]]];
      for (const value of odd) {
        for (
          const [method, params] of [
            ["tools/call", { name: value }],
            ["tools/call", { name: "echo", arguments: value ?? 5 }],
            ["prompts/get", { name: value }],
            ["resources/read", { uri: value }],
            ["resources/subscribe", { uri: value }],
            ["logging/setLevel", { level: value }],
            ["tools/list", { cursor: value ?? 5 }],
            ["completion/complete", { ref: value, argument: { name: "a", value: "b" } }],
            ["completion/complete", { ref: { type: "ref/prompt", name: value }, argument: {} }],
            ["completion/complete", {
              ref: { type: "ref/prompt", name: value },
              argument: { name: "a", value: "b" },
            }],
          ] as [string, object][]
        ) {
          if (method === "tools/call" && isPlain(params)) continue;
          const { error } = await client.request(method, params);
          assert.equal(error?.code, -32602, `${method} ${JSON.stringify(params)}`);
        }
        assert.deepEqual(
          (await client.request("resources/unsubscribe", { uri: value })).result,
          {},
        );
        assert.equal(
          (await client.notify("notifications/cancelled", { requestId: value })).status,
          202,
        );
      }
    }));
});

/** Arguments that are an object fail later, with another error. */
function isPlain(params: { arguments?: unknown }): boolean {
  const args = params.arguments;
  return typeof args === "object" && args !== null && !Array.isArray(args);
}

describe("a call", () => {
  it("of an unknown tool, prompt or resource gets an error", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (const name of ["nothing", "constructor", "__proto__"]) {
        assert.equal((await client.request("tools/call", { name })).error.code, -32602);
        assert.equal((await client.request("prompts/get", { name })).error.code, -32602);
      }
      const uri = "other://x";
      const { error } = await client.request("resources/read", { uri });
      assert.deepEqual([error.code, error.data], [-32002, { uri }]);
      const long = `notes://${"x".repeat(5_000)}`;
      assert.equal((await client.request("resources/read", { uri: long })).error.code, -32002);
      assert.equal((await client.request("resources/subscribe", { uri: long })).error.code, -32002);
    }));

  it("with arguments that do not fit is reported to the model", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const { result } = await client.request("tools/call", {
        name: "echo",
        arguments: { text: 5 },
      });
      assert.equal(result.isError, true);
      assert.match(result.content[0].text, /text/);
    }));

  it("with an id that is already in use is refused, and the first call continues", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch, clock }) => {
      const client = await TestClient.connect(fetch);
      const call = { name: "hand" };
      const started = client.start("tools/call", call, "same");
      const { error } = (await (await client.start("tools/call", call, "same")).rest())[0]!;
      assert.equal(error.code, -32600);
      assert.equal(runs.length, 1);
      clock.advance(100);
      runs[0]!.finish("first");
      assert.equal(await (await started).text(), "first");
      // It has ended, and its id is free again.
      const again = client.start("tools/call", call, "same");
      await until(() => runs.length === 2);
      runs[1]!.finish("second");
      assert.equal(await (await again).text(), "second");
    });
  });

  it('distinguishes the number 1 from the text "1"', async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const number = client.start("tools/call", { name: "hand" }, 1);
      const text = client.start("tools/call", { name: "hand" }, "1");
      await client.notify("notifications/cancelled", { requestId: "1" });
      assert.deepEqual(runs.map(({ ended }) => ended), [false, true]);
      runs[0]!.finish();
      assert.equal(await (await number).text(), "done");
      assert.deepEqual(await (await text).rest(), []);
    });
  });
});

describe("an answer", () => {
  it("that nobody asked for is refused", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("ask");
      const { id } = await call.expect("elicitation/create");
      const sessionId = /^[a-z]+_(.+)_\d+$/.exec(String(id))![1];
      for (
        const other of [
          1,
          "x",
          "",
          "_",
          "__",
          `elicit_${sessionId}_2`,
          `elicit_${sessionId}`,
          `${id}0`,
        ]
      ) {
        const response = await client.answer({ id: other }, { action: "cancel" });
        assert.equal(response.status, 400, `${other}`);
        assert.equal("id" in (await response.json()), false);
      }
      await client.answer({ id: id! }, { action: "accept", content: { number: 1 } });
      assert.equal(await call.text(), "It is 1");
    }));

  it("that is invalid is refused, and the question stays open", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("ask");
      const { id } = await call.expect("elicitation/create");
      for (const broken of [{}, { result: null }, { result: "x" }, { error: "no" }]) {
        assert.equal((await client.post({ jsonrpc: "2.0", id, ...broken })).status, 400);
      }
      await client.answer({ id: id! }, { action: "decline" });
      assert.equal(await call.text(), "decline");
    }));

  it("counts once: a repetition, a different answer, and a late one are ignored", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("ask");
      const question = await call.expect("elicitation/create");
      const one = { action: "accept", content: { number: 1 } };
      for (const answer of [one, one, { action: "accept", content: { number: 2 } }]) {
        assert.equal((await client.answer(question, answer)).status, 202);
      }
      assert.equal(await call.text(), "It is 1");
      assert.equal((await client.answer(question, one)).status, 202);
    }));

  it("may have a field named error without being a failure", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("ask");
      const question = await call.expect("elicitation/create");
      await client.answer(question, { action: "accept", content: { number: 1 }, error: null });
      assert.equal(await call.text(), "It is 1");
    }));

  it("that is an error tells the model that the client could not ask", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("ask");
      const { id } = await call.expect("elicitation/create");
      const error = { code: -32603, message: "no window" };
      assert.equal((await client.post({ jsonrpc: "2.0", id, error })).status, 202);
      const result = await call.result();
      assert.equal(result.isError, true);
      assert.match(result.content[0].text, /no window/);
    }));

  it("to another client's question is refused", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const other = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("ask");
      const question = await call.expect("elicitation/create");
      assert.equal((await other.answer(question, { action: "decline" })).status, 400);
      await client.answer(question, { action: "accept", content: { number: 3 } });
      assert.equal(await call.text(), "It is 3");
    }));
});
