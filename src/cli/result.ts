/** The result of a call, as a person reads it. */
import { Buffer } from "node:buffer";
import type { ContentBlock, ResourceContents } from "../content.ts";
import type { ToolResult } from "../events.ts";
import type { Style } from "./style.ts";

export function readableResult(result: ToolResult, style: Style): string {
  const { content = [], structuredContent } = result;
  const blocks = content.map((block) => readableBlock(block, style));
  if (structuredContent === undefined) return blocks.join("\n\n");
  // Tools with structured output repeat it as text, for clients that know no better.
  const others = content.flatMap((block, index) => isJson(block) ? [] : [blocks[index]!]);
  return [...others, JSON.stringify(structuredContent, null, 2)].join("\n\n");
}

function isJson(block: ContentBlock): boolean {
  if (block.type !== "text") return false;
  try {
    const value: unknown = JSON.parse(block.text);
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

function readableBlock(block: ContentBlock, style: Style): string {
  switch (block.type) {
    case "text":
      return isJson(block) ? JSON.stringify(JSON.parse(block.text), null, 2) : block.text;
    case "image":
    case "audio":
      return style.dim(`[${block.type}, ${block.mimeType}, ${sizeOf(block.data)}]`);
    case "resource_link":
      return `${block.title ?? block.name} ${style.dim(`<${block.uri}>`)}`;
    case "resource":
      return readableResource(block.resource, style);
    default:
      return style.dim(`[${(block as { type: string }).type}]`);
  }
}

function readableResource(resource: ResourceContents, style: Style): string {
  const { uri, mimeType = "unknown type" } = resource;
  return "text" in resource
    ? `${style.dim(`<${uri}>`)}\n${resource.text}`
    : style.dim(`[<${uri}>, ${mimeType}, ${sizeOf(resource.blob)}]`);
}

function sizeOf(base64: string): string {
  const bytes = Buffer.byteLength(base64, "base64");
  return bytes < 1_000 ? `${bytes} bytes` : `${Math.round(bytes / 1_000)} kB`;
}
