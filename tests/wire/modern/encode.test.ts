import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject } from "../../../src/model/content.ts";
import type { ToolSessionEvent, ToolSessionRequest } from "../../../src/model/events.ts";
import {
  completeResult,
  completeResultText,
  encodeNotification,
  encodeProgress,
  inputRequests,
  inputRequestsText,
  type ModernCall,
} from "../../../src/wire/modern/encode.ts";
import { describe, it } from "../../suite.ts";

function call(more: Partial<ModernCall> = {}): ModernCall {
  return { progressToken: "p", logLevel: "info", progress: -Infinity, ...more };
}

describe("encodeProgress()", () => {
  it("grows with every notification, whatever the tool sends", () => {
    const numbers = fc.array(fc.oneof(fc.double(), fc.integer(), fc.constant(1e300)), {
      minLength: 2,
    });
    fc.assert(fc.property(numbers, (numbers) => {
      const one = call();
      let last = -Infinity;
      for (const number of numbers) {
        const { progress, total } = JSON.parse(encodeProgress(one, number, number)!).params;
        // At the very end there is no greater number.
        assert.ok(progress > last || last > 1e308, `${progress} after ${last}`);
        assert.ok(total === undefined || Number.isFinite(total));
        last = progress;
      }
    }));
  });

  it("returns nothing for requests without a token", () => {
    assert.equal(encodeProgress(call({ progressToken: undefined }), 1), undefined);
  });
});

describe("encodeNotification()", () => {
  it("returns progress and log messages, and nothing for other events", () => {
    const place = { branch: "", kind: "roots", key: "roots", count: 0 } as const;
    const silent: ToolSessionEvent[] = [
      { lsn: 1, type: "roots_request", id: "r", name: "roots", place },
      { lsn: 2, type: "answer", requestId: "r", response: { roots: [] } },
      { lsn: 3, type: "withdrawn", requestId: "r", reason: "timeout" },
      { lsn: 4, type: "task_started" },
      { lsn: 5, type: "elicit_complete", elicitationId: "e" },
      { lsn: 6, type: "log", level: "debug", data: 1 },
      { lsn: 7, type: "result", result: { content: [] } },
      { lsn: 8, type: "error", error: { code: 1, message: "" } },
      { lsn: 9, type: "cancelled", reason: "", by: "server" },
    ];
    for (const event of silent) assert.equal(encodeNotification(event, call()), undefined);
    const log = { lsn: 1, type: "log", level: "error", data: undefined } as const;
    assert.deepEqual(JSON.parse(encodeNotification(log, call())!), {
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { level: "error", data: null },
    });
    assert.equal(encodeNotification(log, call({ logLevel: undefined })), undefined);
  });
});

describe("inputRequests()", () => {
  it("lists questions under their names, without fields unknown to the revision", () => {
    const place = { branch: "", kind: "elicit", key: "k", count: 0 } as const;
    const requests: ToolSessionRequest[] = [
      {
        type: "elicit_request",
        id: "1",
        name: "url",
        place,
        params: { mode: "url", message: "m", url: "https://a.b/", elicitationId: "e" },
      },
      {
        type: "sample_request",
        id: "2",
        name: "sample",
        place,
        params: {
          messages: [
            { role: "user", content: [{ type: "text", text: "a" }] },
            {
              role: "assistant",
              content: [{ type: "text", text: "b" }, { type: "text", text: "c" }],
            },
          ],
          maxTokens: 1,
        },
      },
      { type: "roots_request", id: "3", name: "roots", place },
    ];
    assert.deepEqual(inputRequests(requests), {
      url: {
        method: "elicitation/create",
        params: { mode: "url", message: "m", url: "https://a.b/", elicitationId: "e" },
      },
      sample: {
        method: "sampling/createMessage",
        params: {
          messages: [
            { role: "user", content: { type: "text", text: "a" } },
            {
              role: "assistant",
              content: [{ type: "text", text: "b" }, { type: "text", text: "c" }],
            },
          ],
          maxTokens: 1,
        },
      },
      roots: { method: "roots/list" },
    });
    assert.deepEqual(JSON.parse(inputRequestsText(requests)), inputRequests(requests));
  });
});

describe("inputRequestsText()", () => {
  it("returns the same as inputRequests(), whatever the text", () => {
    const place = { branch: "", kind: "elicit", key: "k", count: 0 } as const;
    const form = fc.record({
      name: fc.string(),
      message: fc.string(),
      requestedSchema: fc.dictionary(fc.string(), fc.jsonValue()),
      sensitive: fc.option(fc.array(fc.string()), { nil: undefined }),
    });
    fc.assert(fc.property(fc.array(form), (forms) => {
      fc.pre(!fc.stringify(forms).includes("__proto__"));
      const requests = forms.map(
        ({ name, message, requestedSchema, sensitive }, n): ToolSessionRequest => ({
          type: "elicit_request",
          id: String(n),
          name,
          place,
          params: { mode: "form", message, requestedSchema: requestedSchema as JsonObject },
          ...(sensitive && { sensitive }),
        }),
      );
      const expected = JSON.parse(JSON.stringify(inputRequests(requests)));
      // Twice: the second time from the cache.
      assert.deepEqual(JSON.parse(inputRequestsText(requests)), expected);
      assert.deepEqual(JSON.parse(inputRequestsText(requests)), expected);
    }));
  });
});

describe("completeResultText()", () => {
  it("returns the same as completeResult(), whatever is in the result", () => {
    const info = { name: "n", version: "1" };
    const caching = { ttlMs: 1, cacheScope: "public" } as const;
    const key = fc.oneof(fc.constantFrom("_meta", "resultType", "content", "ttlMs"), fc.string());
    fc.assert(fc.property(fc.dictionary(key, fc.jsonValue()), fc.boolean(), (result, cached) => {
      fc.pre(!fc.stringify(result).includes("__proto__"));
      const given = result as JsonObject;
      const how = cached ? caching : undefined;
      assert.deepEqual(
        JSON.parse(completeResultText(given, info, how)),
        JSON.parse(JSON.stringify(completeResult(given, info, how))),
      );
    }));
  });
});

describe("completeResult()", () => {
  it("adds to a result's own metadata, and names the server", () => {
    const info = { name: "n", version: "1" };
    assert.deepEqual(completeResult({ content: [], _meta: { a: 1 } }, info), {
      resultType: "complete",
      content: [],
      _meta: { a: 1, "io.modelcontextprotocol/serverInfo": info },
    });
  });

  it('returns "complete", whatever a tool put into its result', () => {
    const result = { content: [], resultType: "task", ttlMs: "x" };
    const caching = { ttlMs: 1, cacheScope: "public" } as const;
    const { resultType, ttlMs } = completeResult(result, {}, caching);
    assert.deepEqual([resultType, ttlMs], ["complete", 1]);
  });
});
