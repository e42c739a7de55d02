/** Converts the return value of an author's code into the result of a call. */
import { Buffer } from "node:buffer";
import { checkJson } from "../lib/json.ts";
import {
  type ContentBlock,
  type JsonObject,
  type ResourceContents,
  text,
} from "../model/content.ts";
import type {
  CallResult,
  PromptResult,
  ResourceResult,
  RpcError,
  ToolResult,
} from "../model/events.ts";
import { INTERNAL_ERROR } from "../model/rpc-codes.ts";
import { describeIssues } from "../schema/issues.ts";
import type { Definition, FinalizedMcpPrompt, FinalizedMcpTool } from "./types.ts";

/**
 * The return value does not fit the `output` schema of the tool, which is a mistake in the tool.
 */
export class OutputMismatch extends Error {
  override readonly name = "OutputMismatch";
}

const BLOCK_TYPES = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** Converts a return value to a result. Throws if the value cannot be sent. */
export function toResult(definition: Definition, value: unknown): CallResult {
  // Fast path: most tools return a string, which can always be sent.
  if (typeof value === "string" && definition.kind === "tool") {
    const { output } = definition as FinalizedMcpTool;
    if (!output) return { content: [text(value)] };
  }
  const result = shaped(definition, value);
  checkJson(result);
  return result;
}

function shaped(definition: Definition, value: unknown): CallResult {
  switch (definition.kind) {
    case "tool":
      return toToolResult(definition as FinalizedMcpTool, value);
    case "prompt":
      return toPromptResult(definition as FinalizedMcpPrompt, value);
    case "resource":
      // The body of a resource has already built the result, because it needs the URI for that.
      return value as ResourceResult;
  }
}

/**
 * Returns the outcome of a call that was refused. For a tool, the model receives the message as a
 * result. Prompts and resources have no error result, so the client receives a JSON-RPC error.
 */
export function refusal(
  { kind }: Definition,
  message: string,
  code = INTERNAL_ERROR,
): { type: "result"; result: ToolResult } | { type: "error"; error: RpcError } {
  return kind === "tool"
    ? { type: "result", result: errorResult(message) }
    : { type: "error", error: { code, message } };
}

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
  // `JSON.stringify` returns undefined for an object whose `toJSON()` returns undefined.
  const json = typeof value === "object" ? JSON.stringify(value) : undefined;
  return { content: [text(json ?? String(value))] };
}

/** Builds the result of a failed tool call. */
export function errorResult(message: string): ToolResult {
  return { content: [text(message)], isError: true };
}

function validated(tool: FinalizedMcpTool, value: unknown): JsonObject {
  const parsed = tool.output!.parse(value);
  if (parsed.ok) return parsed.value as JsonObject;
  throw new OutputMismatch(
    `Cannot use the result of tool "${tool.name}": it does not fit the output schema: ${
      describeIssues(parsed.issues)
    }; return what .output() declares`,
  );
}

function isContent(value: unknown): value is ContentBlock[] {
  return Array.isArray(value) &&
    value.every((block) => BLOCK_TYPES.has((block as { type?: string } | null)?.type ?? ""));
}

/**
 * Returns true if a value is a full result. An object with a `content` field is data, not a full
 * result, if it fits the `output` schema.
 */
function isFullResult(value: unknown, tool: FinalizedMcpTool): value is ToolResult {
  if (typeof value !== "object" || value === null || !("content" in value)) return false;
  if (!isContent(value.content)) return false;
  return !tool.output || "structuredContent" in value ||
    (value as { isError?: unknown }).isError === true;
}

export function toPromptResult(prompt: FinalizedMcpPrompt, value: unknown): PromptResult {
  const { description } = prompt;
  if (typeof value === "string") {
    return { description, messages: [{ role: "user", content: text(value) }] };
  }
  if (Array.isArray(value)) return { description, messages: value };
  if (typeof value === "object" && value !== null && "messages" in value) {
    return { description, ...value as PromptResult };
  }
  throw new TypeError(
    `Cannot use the result of prompt "${prompt.name}": it is not a string, messages or a full result; return one of these`,
  );
}

export function toResourceResult(
  value: unknown,
  uri: string,
  mimeType: string | undefined,
): ResourceResult {
  if (typeof value === "object" && value !== null && "contents" in value) {
    return value as ResourceResult;
  }
  const base = { uri, ...(mimeType !== undefined && { mimeType }) };
  const list = Array.isArray(value) ? value : [value];
  return { contents: list.map((item) => toContents(base, item)) };
}

function toContents(base: { uri: string; mimeType?: string }, value: unknown): ResourceContents {
  if (typeof value === "string") return { ...base, text: value };
  if (value instanceof Uint8Array) {
    return { ...base, blob: Buffer.from(value).toString("base64") };
  }
  if (typeof value === "object" && value !== null && ("text" in value || "blob" in value)) {
    return { ...base, ...value } as ResourceContents;
  }
  throw new TypeError(
    `Cannot use the result of resource "${base.uri}": it is not text, bytes or contents; return one of these`,
  );
}
