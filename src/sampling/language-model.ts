/**
 * Asks a language model through the AI SDK, which implements the wire formats, and returns the
 * answer in the form that an MCP client would send.
 */
import type { OpenAIProvider } from "@ai-sdk/openai";
import type {
  ContentBlock,
  JsonObject,
  McpMessage,
  MessageContent,
  ToolResultContent,
} from "../model/content.ts";
import type { SampleParams, SampleResponse } from "../model/events.ts";
import { SCHEMA_TOOL } from "./provider.ts";

export type LanguageModel = ReturnType<OpenAIProvider["chat"]>;
export type CallOptions = Parameters<LanguageModel["doGenerate"]>[0];
type Generated = Awaited<ReturnType<LanguageModel["doGenerate"]>>;

/** Sends the request. `own` holds the options that are specific to the provider. */
export async function askLanguageModel(
  model: LanguageModel,
  params: SampleParams,
  form: PromptForm,
  own: Partial<CallOptions> = {},
): Promise<SampleResponse> {
  const { maxTokens, temperature, stopSequences } = params;
  const generated = await model.doGenerate({
    prompt: promptOf(params, form),
    maxOutputTokens: maxTokens,
    ...(temperature !== undefined && { temperature }),
    ...(stopSequences && stopSequences.length > 0 && { stopSequences }),
    ...own,
  });
  return responseOf(generated, model.modelId, own.responseFormat?.type === "json");
}

/** Returns the tools of a sampling request as call options. */
export function toolOptions(
  { tools = [], toolChoice }: SampleParams,
): Pick<CallOptions, "tools" | "toolChoice"> {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, inputSchema }) => ({
      type: "function" as const,
      name,
      ...(description !== undefined && { description }),
      inputSchema: withoutDialect(inputSchema),
    })),
    toolChoice: { type: toolChoice?.mode ?? "auto" },
  };
}

/** Removes `$schema`, because some providers reject it. */
export function withoutDialect({ $schema: _dialect, ...schema }: JsonObject): JsonObject {
  return schema;
}

/**
 * Returns the schema of a sampling request that asks for structured data. Returns undefined for
 * other sampling requests.
 */
export function schemaAskedFor({ tools }: SampleParams): JsonObject | undefined {
  const [only, ...more] = tools ?? [];
  if (only?.name !== SCHEMA_TOOL || more.length > 0) return undefined;
  return withoutDialect(only.inputSchema);
}

/**
 * Converts an answer that a model wrote as JSON text to a call of the reserved tool. Text that is
 * not JSON stays text.
 */
export function dataBlock(said: string): MessageContent {
  const data = parsed(said);
  if (!data) return { type: "text", text: said };
  return { type: "tool_use", id: newCallId(), name: SCHEMA_TOOL, input: data };
}

export function newCallId(): string {
  return `call_${crypto.randomUUID().replaceAll("-", "")}`;
}

function responseOf(
  { content, finishReason, usage, response }: Generated,
  modelId: string,
  isData: boolean,
): SampleResponse {
  const blocks = content.flatMap((part): MessageContent[] => {
    if (part.type === "text") {
      if (part.text === "") return [];
      return [isData && finishReason.unified === "stop" ? dataBlock(part.text) : part];
    }
    return part.type === "tool-call" ? [callBlock(part)] : [];
  }).map((block) => block.type === "text" ? { type: block.type, text: block.text } : block);
  const { total: inputTokens } = usage.inputTokens;
  const { total: outputTokens } = usage.outputTokens;
  return {
    role: "assistant",
    content: blocks,
    model: response?.modelId ?? modelId,
    stopReason: stopReasonOf(finishReason, blocks),
    usage: {
      ...(inputTokens !== undefined && { inputTokens }),
      ...(outputTokens !== undefined && { outputTokens }),
    },
  };
}

/**
 * Converts a tool call to a block. If the arguments are not valid JSON, returns them as text, so
 * that they are not lost.
 */
function callBlock(
  { toolCallId, toolName, input }: { toolCallId: string; toolName: string; input: string },
): MessageContent {
  const data = parsed(input === "" ? "{}" : input);
  return data
    ? { type: "tool_use", id: toolCallId, name: toolName, input: data }
    : { type: "text", text: `${toolName}(${input})` };
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? value as JsonObject
      : undefined;
  } catch {
    return undefined;
  }
}

function stopReasonOf(
  { unified, raw }: Generated["finishReason"],
  blocks: readonly MessageContent[],
): string {
  if (unified === "length") return "maxTokens";
  if (unified === "content-filter") return "refusal";
  if (blocks.some(({ type }) => type === "tool_use")) return "toolUse";
  if (raw === "stop_sequence") return "stopSequence";
  return unified === "stop" || unified === "tool-calls" ? "endTurn" : raw ?? unified;
}

type Prompt = Parameters<LanguageModel["doGenerate"]>[0]["prompt"];
type Message = Prompt[number];
type UserPart = Extract<Message, { role: "user" }>["content"][number];
type AssistantPart = Extract<Message, { role: "assistant" }>["content"][number];
type ToolPart = Extract<Message, { role: "tool" }>["content"][number];

/**
 * How messages are converted to a prompt. `picturesInResults` says whether tool results may contain
 * images; if not, the images follow in a user message.
 */
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

/** Maps the id of each call to the name of its tool, because results contain only the id. */
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

/** Returns the parts of a content block that can be written as text. */
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
