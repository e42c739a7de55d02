import assert from "node:assert/strict";
import type { ToolSessionEvent } from "parley-mcp";
import {
  encodeEvent,
  encodeHeartbeat,
  type LegacyCall,
  ProgressTrack,
} from "../../../src/wire/legacy/encode.ts";
import { LEGACY_VERSIONS } from "../../../src/wire/versions.ts";
import { describe, it } from "../../suite.ts";
import { complaintsAbout } from "../../support/legacy/schemas.ts";

const place = { branch: "", kind: "elicit", key: "q", count: 0 } as const;
const requestedSchema = { type: "object", properties: { a: { type: "string" } } };
const form = { mode: "form", message: "m", requestedSchema } as const;
const page = { mode: "url", message: "m", url: "https://a.example/", elicitationId: "e" } as const;

function callOf(call: Partial<LegacyCall> = {}): LegacyCall {
  return {
    id: 7,
    version: "2025-11-25",
    progressToken: "token",
    logLevel: "info",
    progress: new ProgressTrack(),
    usesTools: false,
    usesUrls: true,
    ...call,
  };
}

function encoded(event: object, call: Partial<LegacyCall> = {}) {
  const text = encodeEvent({ lsn: 1, ...event } as ToolSessionEvent, callOf(call));
  return text === undefined ? undefined : JSON.parse(text);
}

const events = [
  { type: "progress", progress: 1, total: 2, message: "m" },
  { type: "log", level: "error", data: { a: 1 }, logger: "l" },
  { type: "elicit_request", id: "elicit_s_1", name: "q", place, params: form },
  {
    type: "sample_request",
    id: "sample_s_2",
    name: "sample",
    place,
    params: { messages: [{ role: "user", content: [{ type: "text", text: "t" }] }], maxTokens: 9 },
  },
  { type: "roots_request", id: "roots_s_3", name: "roots", place },
  { type: "withdrawn", requestId: "elicit_s_1", reason: "timeout" },
  { type: "elicit_complete", elicitationId: "e" },
  { type: "result", result: { content: [] } },
  { type: "error", error: { code: -32602, message: "no", data: { uri: "a:b" } } },
  { type: "cancelled", reason: "the server is shutting down", by: "server" },
];

describe("encodeEvent()", () => {
  it("returns the message that belongs to each event", () => {
    assert.deepEqual(events.map((event) => encoded(event)?.method ?? "response"), [
      "notifications/progress",
      "notifications/message",
      "elicitation/create",
      "sampling/createMessage",
      "roots/list",
      "notifications/cancelled",
      "notifications/elicitation/complete",
      "response",
      "response",
      "response",
    ]);
  });

  it("returns nothing for answers, tasks, and what the client cancelled itself", () => {
    for (
      const event of [
        { type: "answer", requestId: "q", response: { action: "cancel" } },
        { type: "task_started" },
        { type: "cancelled", reason: "r", by: "caller" },
      ]
    ) assert.equal(encoded(event), undefined);
  });

  it("returns nothing for progress without a token, and logs below the level", () => {
    assert.equal(encoded(events[0]!, { progressToken: undefined }), undefined);
    assert.equal(encoded(events[1]!, { logLevel: "critical" }), undefined);
    assert.equal(encoded({ ...events[1], level: "debug" }), undefined);
  });

  it("omits a total that JSON has no number for", () => {
    const { params } = encoded({ ...events[0], total: NaN });
    assert.deepEqual(params, { progressToken: "token", progress: 1, message: "m" });
  });

  it("writes the mode of a form only in 2025-11-25", () => {
    assert.equal(encoded(events[2]!).params.mode, "form");
    const older = encoded(events[2]!, { version: "2025-06-18" });
    assert.deepEqual(older.params, { message: "m", requestedSchema });
  });

  it("reports that a page is done to every client that declared URL mode", () => {
    for (const version of ["2025-11-25", "2025-06-18"] as const) {
      assert.deepEqual(encoded({ ...events[2], params: page }, { version }).params, page);
      assert.deepEqual(encoded(events[6]!, { version }).params, { elicitationId: "e" });
      assert.equal(encoded(events[6]!, { version, usesUrls: false }), undefined);
    }
  });

  it("matches the official schema of every revision", async () => {
    for (const version of LEGACY_VERSIONS) {
      for (const event of events) {
        if (event.type === "elicit_request" && version < "2025-06-18") continue;
        const message = encoded(event, { version, usesUrls: version === "2025-11-25" });
        if (!message) continue;
        assert.deepEqual(await complaintsAbout(version, message, "tools/call"), []);
      }
    }
  });
});

describe("encodeHeartbeat()", () => {
  it("returns growing progress, for callers that asked for it", () => {
    const call = callOf();
    const beat = () => JSON.parse(encodeHeartbeat(call)!).params;
    assert.deepEqual(beat(), { progressToken: "token", progress: 0 });
    assert.deepEqual(beat(), { progressToken: "token", progress: 0.001 });
    assert.equal(encodeHeartbeat(callOf({ progressToken: undefined })), undefined);
  });
});
