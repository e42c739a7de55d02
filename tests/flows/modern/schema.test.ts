import assert from "node:assert/strict";
import { complaintsAbout } from "../../support/modern/schemas.ts";
import { describe, it } from "../../suite.ts";

const _meta = { "io.modelcontextprotocol/serverInfo": { name: "n", version: "1" } };
const state = { requestState: "s", _meta };
const confirm = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Sure?",
    requestedSchema: { type: "object", properties: { sure: { type: "boolean" } } },
  },
};
const task = {
  taskId: "t",
  status: "working",
  createdAt: "2026-01-04T00:00:00.000Z",
  lastUpdatedAt: "2026-01-04T00:00:00.000Z",
  ttlMs: 1,
  pollIntervalMs: 1,
};

function result(method: string, result: object): string[] {
  return complaintsAbout({ jsonrpc: "2.0", id: 1, result }, method);
}

/** Tests the checks that every other test relies on. */
describe("complaintsAbout()", () => {
  it("accepts valid messages", () => {
    const complete = { resultType: "complete", _meta };
    const cached = { ...complete, ttlMs: 0, cacheScope: "private" };
    assert.deepEqual(result("tools/call", { ...complete, content: [] }), []);
    assert.deepEqual(result("tools/list", { ...cached, tools: [] }), []);
    assert.deepEqual(result("tools/call", { resultType: "task", ...task, _meta }), []);
    assert.deepEqual(result("tasks/get", { ...complete, ...task }), []);
    const asking = { resultType: "input_required", inputRequests: { confirm }, ...state };
    assert.deepEqual(result("tools/call", asking), []);
  });

  it("reports what is missing, unknown or of the wrong type", () => {
    const wrong: [string, object][] = [
      ["tools/call", { content: [], _meta }],
      ["tools/call", { resultType: "complete", content: [], surprise: 1, _meta }],
      ["tools/call", { resultType: "complete", content: [{ type: "text" }], _meta }],
      ["tools/call", { resultType: "complete", content: [{ type: "text", text: "", x: 1 }] }],
      ["tools/call", { resultType: "input_required", ...state }],
      ["tools/call", { resultType: "input_required", inputRequests: {}, ...state }],
      ["tools/call", { resultType: "input_required", inputRequests: { confirm }, _meta }],
      ["tools/call", { resultType: "task", ...task, requestState: "s", _meta }],
      ["tools/list", { resultType: "complete", tools: [], _meta }],
      ["tools/list", { resultType: "input_required", inputRequests: { confirm }, ...state }],
      ["tasks/get", { resultType: "task", ...task, _meta }],
      ["tasks/get", { resultType: "complete", ...task, status: "completed", _meta }],
      ["tasks/cancel", { resultType: "complete", ...task, _meta }],
      ["ping", {}],
    ];
    for (const [method, value] of wrong) {
      assert.equal(result(method, value).length, 1, JSON.stringify([method, value]));
    }
  });

  it("reports requests, unknown notifications and errors that must not occur", () => {
    const wrong = [
      { jsonrpc: "2.0", id: 1, method: "elicitation/create", params: confirm.params },
      { jsonrpc: "2.0", method: "notifications/elicitation/complete", params: {} },
      { jsonrpc: "2.0", method: "notifications/tools/list_changed", params: {} },
      { jsonrpc: "2.0", method: "notifications/progress", params: { progress: null } },
      { jsonrpc: "2.0", id: 1, error: { code: -32021, message: "" } },
      { jsonrpc: "2.0", id: 1, error: { code: -32022, message: "", data: { supported: [] } } },
      { jsonrpc: "2.0", id: 1, error: { code: -32002, message: "" } },
      { jsonrpc: "2.0", id: 1.5, error: { code: -32602, message: "" } },
      { jsonrpc: "2.0", id: 1, error: { code: 1.5, message: "" } },
    ];
    for (const message of wrong) {
      assert.equal(complaintsAbout(message, "tools/call").length, 1, JSON.stringify(message));
    }
  });
});
