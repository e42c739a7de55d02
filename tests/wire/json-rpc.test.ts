import assert from "node:assert/strict";
import fc from "fast-check";
import {
  errorText,
  notificationText,
  rawResultText,
  readMessage,
  requestText,
  resultText,
} from "../../src/wire/json-rpc.ts";
import { describe, it } from "../suite.ts";

const read = (fields: object) => readMessage({ jsonrpc: "2.0", ...fields });

describe("readMessage()", () => {
  it("reads a request, with empty params if it has none", () => {
    assert.deepEqual(read({ id: 1, method: "m", params: { a: 1 } }), {
      type: "request",
      id: 1,
      method: "m",
      params: { a: 1 },
    });
    assert.deepEqual(read({ id: "x", method: "m" }), {
      type: "request",
      id: "x",
      method: "m",
      params: {},
    });
  });

  it("reads a notification", () => {
    assert.deepEqual(read({ method: "m" }), { type: "notification", method: "m", params: {} });
  });

  it("reads a response with a result, and one with an error", () => {
    assert.deepEqual(read({ id: "q", result: { a: 1 } }), {
      type: "answer",
      id: "q",
      result: { a: 1 },
    });
    const error = { code: -1, message: "no" };
    assert.deepEqual(read({ id: 7, error }), { type: "answer", id: 7, error });
  });

  it("refuses ids that are neither strings nor safe integers", () => {
    for (const id of [null, 1.5, true, {}, [], [1], 2 ** 53, 1e308, -1e20]) {
      const message = read({ id, method: "m" });
      assert.equal(message.type, "invalid", JSON.stringify(id));
      assert.equal("id" in message && message.id, undefined);
    }
  });

  it("names the id of an invalid request, whose sender may wait for it", () => {
    for (const broken of [{ jsonrpc: "1.0" }, { method: 5 }, { params: [] }, { params: "x" }]) {
      const message = readMessage({ jsonrpc: "2.0", id: 3, method: "m", ...broken });
      assert.equal(message.type, "invalid");
      assert.equal("id" in message && message.id, 3);
    }
  });

  it("names no id for an invalid response, because that id is one of ours", () => {
    for (
      const broken of [
        {},
        { result: 5 },
        { result: null },
        { result: [] },
        { error: "no" },
        { error: { code: "x", message: "no" } },
        { error: { code: 1 } },
        { result: {}, error: { code: 1, message: "both" } },
        { jsonrpc: "1.0", result: {} },
      ]
    ) {
      const message = readMessage({ jsonrpc: "2.0", id: 3, ...broken });
      assert.equal(message.type, "invalid", JSON.stringify(broken));
      assert.equal("id" in message && message.id, undefined, JSON.stringify(broken));
    }
  });

  it("returns an outcome for every JSON value", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => {
      const { type } = readMessage(value);
      assert.ok(["request", "notification", "answer", "invalid"].includes(type));
    }));
  });

  it("returns an outcome for every object with the fields of a message", () => {
    const part = fc.oneof(fc.jsonValue(), fc.constantFrom("2.0", 1, "id", {}));
    const message = fc.record(
      { jsonrpc: part, id: part, method: part, params: part, result: part, error: part },
      { requiredKeys: [] },
    );
    fc.assert(fc.property(message, (value) => {
      const read = readMessage(value);
      if (read.type === "request") assert.equal(read.id, value.id);
      if (read.type !== "invalid") assert.equal(value.jsonrpc, "2.0");
    }));
  });
});

describe("message texts", () => {
  it("are JSON-RPC", () => {
    assert.deepEqual(JSON.parse(resultText('a"b', { x: 1 })), {
      jsonrpc: "2.0",
      id: 'a"b',
      result: { x: 1 },
    });
    assert.deepEqual(JSON.parse(rawResultText(1, '{"x":1}')), {
      jsonrpc: "2.0",
      id: 1,
      result: { x: 1 },
    });
    assert.deepEqual(JSON.parse(requestText("q", "m")), { jsonrpc: "2.0", id: "q", method: "m" });
    assert.deepEqual(JSON.parse(notificationText("m", { a: 1 })), {
      jsonrpc: "2.0",
      method: "m",
      params: { a: 1 },
    });
  });

  it("omit what an error does not have", () => {
    assert.deepEqual(JSON.parse(errorText(undefined, { code: 1, message: "no" })), {
      jsonrpc: "2.0",
      error: { code: 1, message: "no" },
    });
    assert.deepEqual(JSON.parse(errorText(0, { code: 1, message: "no", data: null })), {
      jsonrpc: "2.0",
      id: 0,
      error: { code: 1, message: "no", data: null },
    });
  });
});
