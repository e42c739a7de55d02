/** Turns whatever a tool returned into the result of a call. */
import { type ContentBlock, type JsonObject, text } from "../content.ts";
import type { ToolResult } from "../events.ts";
import { describeIssues } from "../schema/issues.ts";
import type { FinalizedMcpTool } from "./types.ts";

/** The tool returned something that its `output` refuses. That is the author's mistake. */
export class OutputMismatch extends Error {
  override readonly name = "OutputMismatch";
}

const BLOCK_TYPES = new Set(["text", "image", "audio", "resource", "resource_link"]);

export function toToolResult(tool: FinalizedMcpTool, value: unknown): ToolResult {
  if (isFullResult(value, tool)) {
    if (value.isError || !tool.output) return { ...value };
    const structuredContent = validated(tool, value.structuredContent);
    const content = value.content.length > 0
      ? value.content
      : [text(JSON.stringify(structuredContent))];
    return { ...value, content, structuredContent };
  }
  if (tool.output) {
    const structuredContent = validated(tool, value);
    return { content: [text(JSON.stringify(structuredContent))], structuredContent };
  }
  if (value === undefined || value === null) return { content: [] };
  if (typeof value === "string") return { content: [text(value)] };
  if (isContent(value)) return { content: value };
  return { content: [text(typeof value === "object" ? JSON.stringify(value) : String(value))] };
}

/** The result of a call that did not do what it was asked. */
export function errorResult(message: string): ToolResult {
  return { content: [text(message)], isError: true };
}

function validated(tool: FinalizedMcpTool, value: unknown): JsonObject {
  const parsed = tool.output!.parse(value);
  if (parsed.ok) return parsed.value as JsonObject;
  throw new OutputMismatch(
    `Cannot use the result of tool "${tool.name}": its output does not fit: ${
      describeIssues(parsed.issues)
    }; return what .output() declares`,
  );
}

function isContent(value: unknown): value is ContentBlock[] {
  return Array.isArray(value) &&
    value.every((block) => BLOCK_TYPES.has((block as { type?: string } | null)?.type ?? ""));
}

/** An object whose own data has a `content` field is data, if `output` says so. */
function isFullResult(value: unknown, tool: FinalizedMcpTool): value is ToolResult {
  if (typeof value !== "object" || value === null || !("content" in value)) return false;
  if (!isContent(value.content)) return false;
  return !tool.output || "structuredContent" in value ||
    (value as { isError?: unknown }).isError === true;
}
