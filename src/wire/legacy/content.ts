/**
 * Content blocks for clients that do not know all of them: links came with
 * 2025-06-18, sound with 2025-03-26. A client that meets a block it does not know
 * throws the whole result away.
 */
import type {
  ContentBlock,
  EmbeddedResource,
  ResourceLink,
  TextContent,
} from "../../model/content.ts";
import { text } from "../../model/content.ts";
import type { CallResult } from "../../model/events.ts";
import { type LegacyVersion, since } from "../versions.ts";

/** The result, as far as the client can read it. */
export function resultFor(version: LegacyVersion, result: CallResult): CallResult {
  if (since(version, "2025-06-18")) return result;
  if ("content" in result) {
    return { ...result, content: result.content.map((block) => blockFor(version, block)) };
  }
  if ("messages" in result) {
    const messages = result.messages.map((message) => ({
      ...message,
      content: blockFor(version, message.content),
    }));
    return { ...result, messages };
  }
  return result;
}

function blockFor(version: LegacyVersion, block: ContentBlock): ContentBlock {
  if (block.type === "resource_link") return written(block);
  if (block.type !== "audio" || since(version, "2025-03-26")) return block;
  const { data, mimeType, annotations } = block;
  const attached: EmbeddedResource = {
    type: "resource",
    resource: { uri: "attachment:audio", mimeType, blob: data },
    ...(annotations && { annotations }),
  };
  return attached;
}

function written({ name, title, uri, description }: ResourceLink): TextContent {
  return text([`${title ?? name}: ${uri}`, description].filter(Boolean).join("\n"));
}
