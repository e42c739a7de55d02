import assert from "node:assert/strict";
import { dataCheck } from "../../../src/cli/commands/data-check.ts";
import { OperatorLog } from "../../../src/cli/log.ts";
import type { EndedCall, ToolResult } from "../../../src/mod.ts";
import { describe, it } from "../../suite.ts";

function ended(toolName: string, result: ToolResult): EndedCall {
  const client = { capabilities: {} };
  const outcome = { status: "completed", result } as const;
  return { kind: "tool", toolName, sessionId: "s", client, principal: "", duration: 1, outcome };
}

const says = (text: string, structuredContent: ToolResult["structuredContent"] = { n: 1 }) => ({
  content: [{ type: "text" as const, text }],
  structuredContent,
});

function checking() {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  return { lines, check: dataCheck(new OperatorLog({ level: "info", format: "json", write })) };
}

describe("dataCheck()", () => {
  it("warns once for each tool, and quotes nothing of the result", () => {
    const { lines, check } = checking();
    check(ended("a", says("1")));
    for (let i = 0; i < 3; i++) check(ended("a", says("s3cret")));
    check(ended("b", says("s3cret")));
    assert.deepEqual(lines.map((line) => JSON.parse(line).tool), ["a", "b"]);
    assert.ok(lines.every((line) => JSON.parse(line).level === "warning"));
    assert.doesNotMatch(lines.join(), /s3cret/);
  });

  it("ignores results that have no data, failed, are long, or were right five times", () => {
    const { lines, check } = checking();
    check(ended("a", { content: [{ type: "text", text: "words" }] }));
    check(ended("a", { ...says("words"), isError: true }));
    check(ended("a", says("words ".repeat(1_000))));
    check(
      { ...ended("a", says("words")), outcome: { status: "cancelled", reason: "r" } } as EndedCall,
    );
    for (let i = 0; i < 5; i++) check(ended("a", says("1")));
    check(ended("a", says("words")));
    assert.deepEqual(lines, []);
  });
});
