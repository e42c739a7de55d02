/** Formats the result of a call for a person. */
import { Buffer } from "node:buffer";
import type { ContentBlock, ResourceContents } from "../../model/content.ts";
import type { ToolResult } from "../../model/events.ts";
import type { Style } from "./style.ts";
import { visible, visibleJson } from "./visible.ts";

export function readableResult(result: ToolResult, style: Style): string {
  const { content = [], structuredContent } = result;
  const blocks = content.map((block) => readableBlock(block, style));
  if (structuredContent === undefined) return blocks.join("\n\n");
  // Tools with structured output repeat it as text, for clients that do not read the structure.
  const others = content.flatMap((block, index) => isJson(block) ? [] : [blocks[index]!]);
  return [...others, visibleJson(structuredContent, 2)].join("\n\n");
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
      return isJson(block) ? visibleJson(JSON.parse(block.text), 2) : visible(block.text);
    case "image":
    case "audio":
      return style.dim(visible(`[${block.type}, ${block.mimeType}, ${sizeOf(block.data)}]`));
    case "resource_link":
      return `${visible(block.title ?? block.name)} ${style.dim(visible(`<${block.uri}>`))}`;
    case "resource":
      return readableResource(block.resource, style);
    default:
      return style.dim(visible(`[${(block as { type: string }).type}]`));
  }
}

function readableResource(resource: ResourceContents, style: Style): string {
  const { uri, mimeType = "unknown type" } = resource;
  return "text" in resource
    ? `${style.dim(visible(`<${uri}>`))}\n${visible(resource.text)}`
    : style.dim(visible(`[<${uri}>, ${mimeType}, ${sizeOf(resource.blob)}]`));
}

function sizeOf(base64: string): string {
  const bytes = Buffer.byteLength(base64, "base64");
  return bytes < 1_000 ? `${bytes} bytes` : `${Math.round(bytes / 1_000)} kB`;
}
