/** A conversation as the libraries for Chat Completions and for Anthropic want it. */
import type {
  ContentBlock,
  McpMessage,
  MessageContent,
  ToolResultContent,
} from "../model/content.ts";
import type { SampleParams } from "../model/events.ts";
import type { LanguageModel } from "./language-model.ts";

type Prompt = Parameters<LanguageModel["doGenerate"]>[0]["prompt"];
type Message = Prompt[number];
type UserPart = Extract<Message, { role: "user" }>["content"][number];
type AssistantPart = Extract<Message, { role: "assistant" }>["content"][number];
type ToolPart = Extract<Message, { role: "tool" }>["content"][number];

/** Whether the results of tools may hold pictures; otherwise they follow as the user's. */
export interface PromptForm {
  readonly picturesInResults: boolean;
}

export function promptOf(
  { systemPrompt, messages }: SampleParams,
  { picturesInResults }: PromptForm,
): Prompt {
  const names = toolNames(messages);
  const prompt: Prompt = systemPrompt ? [{ role: "system", content: systemPrompt }] : [];
  for (const { role, content } of messages) {
    if (role === "assistant") {
      const parts = content.flatMap(assistantParts);
      if (parts.length > 0) prompt.push({ role, content: parts });
      continue;
    }
    const results = content.filter((block) => block.type === "tool_result");
    if (results.length > 0) {
      const parts = results.map((result) => toolPart(result, names, picturesInResults));
      prompt.push({ role: "tool", content: parts });
    }
    const left = picturesInResults ? [] : results.flatMap(({ content }) => content.filter(isMedia));
    const parts = [...left, ...content].flatMap(userParts);
    if (parts.length > 0) prompt.push({ role, content: parts });
  }
  return prompt;
}

/** What each call was a call of: results name only the call. */
function toolNames(messages: readonly McpMessage[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const { content } of messages) {
    for (const block of content) if (block.type === "tool_use") names.set(block.id, block.name);
  }
  return names;
}

function assistantParts(block: MessageContent): AssistantPart[] {
  if (block.type === "text") return block.text === "" ? [] : [{ type: "text", text: block.text }];
  if (block.type !== "tool_use") return [];
  const { id, name, input } = block;
  return [{ type: "tool-call", toolCallId: id, toolName: name, input }];
}

function userParts(block: MessageContent): UserPart[] {
  if (block.type === "text") return block.text === "" ? [] : [{ type: "text", text: block.text }];
  return isMedia(block) ? [filePart(block)] : [];
}

function isMedia(block: ContentBlock | MessageContent): block is Media {
  return block.type === "image" || block.type === "audio";
}

type Media = Extract<ContentBlock, { type: "image" | "audio" }>;

function filePart({ data, mimeType }: Media) {
  return { type: "file" as const, mediaType: mimeType, data: { type: "data" as const, data } };
}

function toolPart(
  { toolUseId, content, structuredContent, isError }: ToolResultContent,
  names: ReadonlyMap<string, string>,
  picturesInResults: boolean,
): ToolPart {
  const said = content.flatMap(saidIn).join("\n");
  const value = said || (content.length > 0 ? "" : JSON.stringify(structuredContent ?? "ok"));
  const media = picturesInResults ? content.filter(isMedia) : [];
  return {
    type: "tool-result",
    toolCallId: toolUseId,
    toolName: names.get(toolUseId) ?? "unknown",
    output: media.length > 0
      ? {
        type: "content",
        value: [...(value ? [{ type: "text" as const, text: value }] : []), ...media.map(filePart)],
      }
      : { type: isError ? "error-text" : "text", value },
  };
}

/** What of a result can be said in text. */
export function saidIn(block: ContentBlock): string[] {
  switch (block.type) {
    case "text":
      return [block.text];
    case "resource_link":
      return [`${block.title ?? block.name}: ${block.uri}`];
    case "resource":
      return ["text" in block.resource ? block.resource.text : block.resource.uri];
    default:
      return [];
  }
}
