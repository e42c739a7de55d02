import assert from "node:assert/strict";
import fc from "fast-check";
import { frame, KEEP_ALIVE, primingFrame } from "../../src/wire/sse.ts";
import { describe, it } from "../suite.ts";
import { parseFrame } from "../support/sse.ts";

describe("frame()", () => {
  it("writes any JSON on one line, with or without an id", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => {
      const data = JSON.stringify(value);
      assert.deepEqual(parseFrame(frame(data).trimEnd()), { event: "message", data });
      assert.deepEqual(parseFrame(frame(data, "1.2").trimEnd()), {
        event: "message",
        id: "1.2",
        data,
      });
    }));
  });
});

describe("primingFrame()", () => {
  it("has an id, a retry time and no content", () => {
    assert.deepEqual(parseFrame(primingFrame("4.0", 250).slice(0, -2)), {
      id: "4.0",
      retry: 250,
      data: "",
    });
  });
});

describe("KEEP_ALIVE", () => {
  it("is a comment", () => {
    assert.deepEqual(parseFrame(KEEP_ALIVE.trimEnd()), { comment: "keep-alive" });
  });
});
