/**
 * Ollama models. Structured data is requested with the `format` option. Ollama has no option that
 * forces a tool call.
 */
import { type ChatRequest, type Message, Ollama, type Tool } from "ollama/browser";
import { isObject } from "../lib/json.ts";
import type { JsonObject, McpMessage, MessageContent } from "../model/content.ts";
import type { SampleParams, SampleResponse } from "../model/events.ts";
import { badAnswer, unsupportedContent } from "./failure.ts";
import { dataBlock, newCallId, saidIn, schemaAskedFor, withoutDialect } from "./language-model.ts";
import type { AskModel, ModelRequest } from "./model-provider.ts";
import type { Subject } from "./retrying-fetch.ts";

export const askOllama: AskModel = async ({ params, model, apiKey, baseUrl, subject, fetch }) => {
  const client = new Ollama({
    host: baseUrl,
    fetch,
    ...(apiKey !== undefined && { headers: { authorization: `Bearer ${apiKey}` } }),
  });
  const answer: unknown = await client.chat({
    ...chatRequest({ params, model, subject }),
    stream: false,
  });
  return responseOf(answer, model, subject, schemaAskedFor(params) !== undefined);
};

function chatRequest(
  { params, model, subject }: Pick<ModelRequest, "params" | "model" | "subject">,
): ChatRequest {
  const { systemPrompt, messages, maxTokens, temperature, stopSequences } = params;
  const asked = schemaAskedFor(params);
  const tools = asked || params.toolChoice?.mode === "none" ? [] : params.tools ?? [];
  const system = [systemPrompt, instruction(params, asked)].filter((part) => part).join("\n\n");
  const names = new Map<string, string>();
  return {
    model,
    messages: [
      ...(system ? [{ role: "system", content: system }] : []),
      ...messages.flatMap((message) => ollamaMessages(message, names, subject)),
    ],
    ...(asked && { format: asked }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }): Tool => ({
        type: "function",
        function: {
          name,
          ...(description !== undefined && { description }),
          parameters: withoutDialect(inputSchema),
        },
      })),
    }),
    options: {
      num_predict: maxTokens,
      ...(temperature !== undefined && { temperature }),
      ...(stopSequences && stopSequences.length > 0 && { stop: stopSequences }),
    },
  };
}

/**
 * Returns an instruction for the prompt that asks for a tool call or for data, because Ollama has
 * no option for this.
 */
function instruction({ toolChoice, tools }: SampleParams, asked?: JsonObject): string | undefined {
  if (asked) return `Answer with JSON that fits this JSON Schema:\n${JSON.stringify(asked)}`;
  return tools && toolChoice?.mode === "required"
    ? "Answer by calling one of the tools, and with nothing else."
    : undefined;
}

function ollamaMessages(
  { role, content }: McpMessage,
  names: Map<string, string>,
  subject: Subject,
): Message[] {
  const results: Message[] = [];
  const said: string[] = [];
  const images: string[] = [];
  const calls: { function: { name: string; arguments: JsonObject } }[] = [];
  for (const block of content) {
    switch (block.type) {
      case "text":
        said.push(block.text);
        break;
      case "image":
        images.push(block.data);
        break;
      case "audio":
        throw unsupportedContent(subject, "sound");
      case "tool_use":
        names.set(block.id, block.name);
        calls.push({ function: { name: block.name, arguments: block.input } });
        break;
      case "tool_result":
        results.push({
          role: "tool",
          tool_name: names.get(block.toolUseId) ?? "unknown",
          content: block.content.flatMap(saidIn).join("\n"),
        });
        for (const part of block.content) if (part.type === "image") images.push(part.data);
    }
  }
  const text = said.join("\n");
  if (text === "" && images.length === 0 && calls.length === 0) return results;
  return [...results, {
    role,
    content: text,
    ...(images.length > 0 && { images }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }];
}

function responseOf(
  answer: unknown,
  asked: string,
  subject: Subject,
  isData: boolean,
): SampleResponse {
  const { message, model, done_reason, prompt_eval_count, eval_count } =
    (answer ?? {}) as JsonObject;
  if (!isObject(message)) throw badAnswer(subject, "is not in the format of this API");
  const { content, tool_calls } = message;
  const isWhole = done_reason !== "length";
  const blocks: MessageContent[] = [];
  if (typeof content === "string" && content !== "") {
    blocks.push(isData && isWhole ? dataBlock(content) : { type: "text", text: content });
  }
  for (const call of Array.isArray(tool_calls) ? tool_calls : []) blocks.push(...callBlocks(call));
  const isCall = blocks.some(({ type }) => type === "tool_use");
  return {
    role: "assistant",
    content: blocks,
    model: typeof model === "string" ? model : asked,
    stopReason: isWhole ? isCall ? "toolUse" : "endTurn" : "maxTokens",
    usage: {
      ...(typeof prompt_eval_count === "number" && { inputTokens: prompt_eval_count }),
      ...(typeof eval_count === "number" && { outputTokens: eval_count }),
    },
  };
}

/** Returns a tool call as content blocks, with a new id, because Ollama assigns no ids to calls. */
function callBlocks(call: unknown): MessageContent[] {
  const { name, arguments: input } = (isObject(call) && isObject(call.function))
    ? call.function
    : {} as JsonObject;
  if (typeof name !== "string") return [];
  return isObject(input)
    ? [{ type: "tool_use", id: newCallId(), name, input }]
    : [{ type: "text", text: `${name}(${JSON.stringify(input)})` }];
}
