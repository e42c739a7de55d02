/**
 * Converts sampling messages for clients that do not support all features:
 *
 *   before 2025-11-25    one block per message
 *   before 2025-03-26    no audio: a text takes its place
 *   without tools        tool calls and their results become text
 */
import {
  compactMessage,
  type McpMessage,
  type MessageContent,
  text,
  type ToolResultContent,
} from "../../model/content.ts";
import type { SampleParams } from "../../model/events.ts";
import { type LegacyVersion, since } from "../versions.ts";

export interface SampleReader {
  readonly version: LegacyVersion;
  /** True if the client lets the model use tools. */
  readonly usesTools: boolean;
}

export function sampleParams(params: SampleParams, reader: SampleReader): object {
  const messages = params.messages.map(({ role, content }): McpMessage => ({
    role,
    content: content.flatMap((block) => blocksFor(reader, block)),
  }));
  return {
    ...params,
    messages: since(reader.version, "2025-11-25")
      ? messages.map(compactMessage)
      : messages.flatMap(({ role, content }) => content.map((block) => ({ role, content: block }))),
  };
}

function blocksFor({ version, usesTools }: SampleReader, block: MessageContent): MessageContent[] {
  switch (block.type) {
    case "tool_use":
      return usesTools ? [block] : [text(`${block.name}(${JSON.stringify(block.input)})`)];
    case "tool_result":
      return usesTools ? [block] : toldResult(version, block);
    case "audio":
      return since(version, "2025-03-26") ? [block] : [text(`(audio, ${block.mimeType})`)];
    default:
      return [block];
  }
}

function toldResult(version: LegacyVersion, { content }: ToolResultContent): MessageContent[] {
  return content.flatMap((block): MessageContent[] => {
    switch (block.type) {
      case "resource_link":
        return [text(`${block.title ?? block.name}: ${block.uri}`)];
      case "resource": {
        const { resource } = block;
        return [text("text" in resource ? resource.text : `(the contents of ${resource.uri})`)];
      }
      default:
        return blocksFor({ version, usesTools: false }, block);
    }
  });
}
