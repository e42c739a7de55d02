import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../../suite.ts";
import { ABLE, TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { ask } from "../../support/tools.ts";

const tree: z.ZodType = z.lazy(() => z.union([z.array(tree), z.number()]));
const recursive = { type: "object", $defs: { tree: {} }, properties: {} } as Record<
  string,
  unknown
>;
recursive.$defs = { tree: { anyOf: [{ type: "array", items: { $ref: "#/$defs/tree" } }, {}] } };
recursive.properties = { tree: { $ref: "#/$defs/tree" } };

const body = function* () {
  return "taken";
};
const serve = [
  ask,
  createMcpTool("any").description("d").parameters(z.object({ tree: z.any() })).execute(body),
  createMcpTool("zod").description("d").parameters(z.object({ tree })).execute(body),
  createMcpTool("json").description("d").parameters(recursive).execute(body),
  createMcpTool("deep").description("Returns something deep").execute(function* () {
    return { content: [], structuredContent: { tree: nested(100_000) } };
  }),
];

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
}

function textOf(levels: number): string {
  return `${"[".repeat(levels)}1${"]".repeat(levels)}`;
}

describe("deeply nested JSON", () => {
  it("is refused as a body, closed or not", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (
        const body of [
          "[".repeat(1_000_000),
          '{"a":'.repeat(500_000),
          textOf(1_500_000),
          `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${textOf(201)}}}`,
        ]
      ) {
        const response = await client.post(body);
        assert.equal(response.status, 400);
        assert.ok([-32600, -32700].includes((await response.json()).error.code));
      }
      assert.deepEqual((await client.request("ping")).result, {});
    }));

  it("is accepted as arguments, by Zod and by JSON Schema, or reported to the model", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (const name of ["any", "zod", "json"]) {
        for (const levels of [50, 190]) {
          const params = `{"name":"${name}","arguments":{"tree":${textOf(levels)}}}`;
          const response = await client.post(
            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
          );
          assert.equal(response.status, 200);
          const { result } = await response.json();
          // How deep a validator can go depends on the runtime's stack.
          if (levels === 50 || !result.isError) assert.equal(result.content[0].text, "taken", name);
        }
      }
    }));

  it("is accepted as an answer up to the limit", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("ask");
      const { id } = await call.expect("elicitation/create");
      for (const [levels, status] of [[201, 400], [190, 202]] as const) {
        const result = `{"action":"accept","content":{"number":${textOf(levels)}}}`;
        const answer = `{"jsonrpc":"2.0","id":"${id}","result":${result}}`;
        assert.equal((await client.post(answer)).status, status);
      }
      // It does not fit, so the person is asked again.
      const again = await call.expect("elicitation/create");
      await client.answer(again, { action: "accept", content: { number: 5 } });
      assert.equal(await call.text(), "It is 5");
    }));

  it("is refused as a result, as a fault of the tool", () =>
    serving({ serve }, async ({ fetch, faults }) => {
      const client = await TestClient.connect(fetch);
      const { result } = await client.request("tools/call", { name: "deep" });
      assert.equal(result.isError, true);
      assert.equal(faults.splice(0).length, 1);
    }));
});
