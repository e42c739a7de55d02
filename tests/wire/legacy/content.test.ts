import assert from "node:assert/strict";
import type { ContentBlock } from "parley-mcp";
import { resultFor } from "../../../src/wire/legacy/encode.ts";
import { LEGACY_VERSIONS } from "../../../src/wire/versions.ts";
import { describe, it } from "../../suite.ts";
import { complaintsAbout } from "../../support/legacy/schemas.ts";

const link: ContentBlock = { type: "resource_link", uri: "a:b", name: "plan", description: "Why" };
const audio: ContentBlock = {
  type: "audio",
  data: "aaaa",
  mimeType: "audio/wav",
  annotations: { priority: 1 },
};
const plain: ContentBlock = { type: "text", text: "hello" };
const result = { content: [plain, link, audio], structuredContent: { a: 1 } };

describe("resultFor()", () => {
  it("changes nothing from 2025-06-18 on", () => {
    for (const version of ["2025-11-25", "2025-06-18"] as const) {
      assert.equal(resultFor(version, result), result);
    }
  });

  it("writes links as text before 2025-06-18", () => {
    assert.deepEqual(resultFor("2025-03-26", result), {
      ...result,
      content: [plain, { type: "text", text: "plan: a:b\nWhy" }, audio],
    });
  });

  it("embeds audio as a resource before 2025-03-26", () => {
    assert.deepEqual(resultFor("2024-11-05", { content: [audio] }), {
      content: [{
        type: "resource",
        resource: { uri: "attachment:audio", mimeType: "audio/wav", blob: "aaaa" },
        annotations: { priority: 1 },
      }],
    });
  });

  it("does the same for a prompt's messages, and nothing for a resource", () => {
    const prompt = { messages: [{ role: "user" as const, content: link }] };
    assert.deepEqual(resultFor("2024-11-05", prompt), {
      messages: [{ role: "user", content: { type: "text", text: "plan: a:b\nWhy" } }],
    });
    const resource = { contents: [{ uri: "a:b", text: "x" }] };
    assert.equal(resultFor("2024-11-05", resource), resource);
  });

  it("matches the official schema of every revision", async () => {
    const prompt = { messages: [{ role: "user" as const, content: audio }] };
    for (const version of LEGACY_VERSIONS) {
      const called = { jsonrpc: "2.0", id: 1, result: resultFor(version, result) };
      assert.deepEqual(await complaintsAbout(version, called, "tools/call"), []);
      const got = { jsonrpc: "2.0", id: 1, result: resultFor(version, prompt) };
      assert.deepEqual(await complaintsAbout(version, got, "prompts/get"), []);
    }
  });
});
