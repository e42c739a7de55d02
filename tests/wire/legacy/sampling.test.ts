import assert from "node:assert/strict";
import type { McpMessage } from "parley-mcp";
import { sampleParams } from "../../../src/wire/legacy/sampling.ts";
import { LEGACY_VERSIONS, type LegacyVersion } from "../../../src/wire/versions.ts";
import { describe, it } from "../../suite.ts";
import type { Message } from "../../support/exchange.ts";
import { complaintsAbout } from "../../support/legacy/schemas.ts";

const image = { type: "image", data: "aaaa", mimeType: "image/png" } as const;
const audio = { type: "audio", data: "aaaa", mimeType: "audio/wav" } as const;
const text = (text: string) => ({ type: "text", text }) as const;

const conversation: McpMessage[] = [
  { role: "user", content: [text("Look"), image, audio] },
  { role: "assistant", content: [{ type: "tool_use", id: "1", name: "pick", input: { a: 1 } }] },
  {
    role: "user",
    content: [{
      type: "tool_result",
      toolUseId: "1",
      content: [
        text("the first"),
        { type: "resource_link", uri: "a:b", name: "plan", title: "The plan" },
        { type: "resource", resource: { uri: "a:c", text: "inside" } },
        { type: "resource", resource: { uri: "a:d", blob: "aaaa" } },
      ],
    }],
  },
  { role: "user", content: [text("Go on")] },
];

function messagesFor(version: LegacyVersion, usesTools: boolean) {
  const params = sampleParams({ messages: conversation, maxTokens: 9 }, { version, usesTools });
  return (params as { messages: { role: string; content: unknown }[] }).messages;
}

describe("sampleParams()", () => {
  it("keeps everything for a client with tools, and unwraps a single block", () => {
    assert.deepEqual(messagesFor("2025-11-25", true), [
      conversation[0],
      { role: "assistant", content: conversation[1]!.content[0] },
      { role: "user", content: conversation[2]!.content[0] },
      { role: "user", content: text("Go on") },
    ]);
  });

  it("describes tool calls and results as text for a client without tools", () => {
    assert.deepEqual(messagesFor("2025-11-25", false).slice(1), [
      { role: "assistant", content: text('pick({"a":1})') },
      {
        role: "user",
        content: [
          text("the first"),
          text("The plan: a:b"),
          text("inside"),
          text("(the contents of a:d)"),
        ],
      },
      { role: "user", content: text("Go on") },
    ]);
  });

  it("puts each block into its own message before 2025-11-25", () => {
    for (const version of LEGACY_VERSIONS.slice(1)) {
      const messages = messagesFor(version, false);
      assert.equal(messages.length, 9, version);
      assert.deepEqual(messages[1], { role: "user", content: image });
    }
  });

  it("omits audio before 2025-03-26", () => {
    assert.deepEqual(messagesFor("2024-11-05", false)[2], {
      role: "user",
      content: text("(audio, audio/wav)"),
    });
    assert.deepEqual(messagesFor("2025-03-26", false)[2], { role: "user", content: audio });
  });

  it("keeps all the other parameters", () => {
    const params = { messages: [], maxTokens: 9, systemPrompt: "S", temperature: 0.5 };
    assert.deepEqual(sampleParams(params, { version: "2025-03-26", usesTools: false }), params);
  });

  it("matches the official schema of every revision", async () => {
    for (const version of LEGACY_VERSIONS) {
      const reader = { version, usesTools: version === "2025-11-25" };
      const params = sampleParams({ messages: conversation, maxTokens: 9 }, reader);
      const request: Message = {
        jsonrpc: "2.0",
        id: "q",
        method: "sampling/createMessage",
        params,
      };
      assert.deepEqual(await complaintsAbout(version, request), []);
    }
  });
});
