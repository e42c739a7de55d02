/** Validates the conversations that are sent to a model. */
import {
  type ContentBlock,
  type McpMessage,
  normalizeMessage,
  text,
  type ToolResultContent,
  type ToolUseContent,
} from "../model/content.ts";
import type { SampleExchange } from "../tool/sample-types.ts";

/**
 * Reads an author's messages and normalises their content to a list of blocks. Repeats the
 * compile-time checks.
 */
export function readMessages(messages: unknown): McpMessage[] {
  if (!Array.isArray(messages)) {
    throw new TypeError("Cannot sample: messages is not an array; pass one");
  }
  return messages.map((message, index) => {
    if (message?.role !== "user" && message?.role !== "assistant") {
      throw wrong(index, `its role is ${JSON.stringify(message?.role)}, not user or assistant`);
    }
    const read = normalizeMessage(message);
    read.content.forEach((block, at) => {
      const problem = problemOf(block as unknown);
      if (problem) throw wrong(`${index}].content[${at}`, problem);
    });
    return read;
  });
}

/** The required properties of each block type, with their types. */
const PARTS: Record<string, Record<string, "string" | "object">> = {
  text: { text: "string" },
  image: { data: "string", mimeType: "string" },
  audio: { data: "string", mimeType: "string" },
  tool_use: { id: "string", name: "string", input: "object" },
  tool_result: { toolUseId: "string", content: "object" },
};

/** Returns what is wrong with a block, or undefined. */
export function problemOf(block: unknown): string | undefined {
  if (typeof block !== "object" || block === null) return "it is not a content block";
  const { type } = block as { type?: unknown };
  const parts = typeof type === "string" && Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  if (!parts) return `its type is ${JSON.stringify(type)}, not ${Object.keys(PARTS).join(", ")}`;
  for (const [name, kind] of Object.entries(parts)) {
    const part = (block as Record<string, unknown>)[name];
    if (typeof part !== kind || part === null) return `its ${name} is no ${kind}`;
    if (name === "content" && !Array.isArray(part)) return "its content is not an array";
  }
  return undefined;
}

/**
 * Checks that every `tool_use` is followed by a message that has exactly one `tool_result` for
 * each call.
 */
export function checkMessages(messages: readonly McpMessage[]): void {
  messages.forEach((message, index) => {
    const uses = toolUses(message);
    const next = messages[index + 1];
    if (uses.length > 0) {
      if (message.role !== "assistant") throw wrong(index, "only an assistant may use tools");
      if (!next) throw wrong(index, "its tool_use has no tool_result after it");
      const results = next.content.filter(isToolResult);
      if (next.role !== "user" || results.length !== next.content.length) {
        throw wrong(
          index + 1,
          "after a tool_use it must be a user's, with tool_result blocks only",
        );
      }
      for (const { id } of uses) {
        if (!results.some(({ toolUseId }) => toolUseId === id)) {
          throw wrong(index + 1, `it has no tool_result for "${id}"`);
        }
      }
    }
    const before = messages[index - 1];
    for (const { toolUseId } of message.content.filter(isToolResult)) {
      if (!before || !toolUses(before).some(({ id }) => id === toolUseId)) {
        throw wrong(
          index,
          `its tool_result answers "${toolUseId}", which was not called just before`,
        );
      }
    }
  });
}

function wrong(index: number | string, problem: string): TypeError {
  return new TypeError(`Cannot sample: messages[${index}] is wrong: ${problem}; correct it`);
}

export function toolUses(message: McpMessage): ToolUseContent[] {
  return message.content.filter((block) => block.type === "tool_use");
}

function isToolResult(block: { type: string }): block is ToolResultContent {
  return block.type === "tool_result";
}

/** Returns a user message with a result for every call in an assistant message. */
export function toolResults(
  message: McpMessage,
  resultOf: (use: ToolUseContent) => string | ContentBlock[],
  isError = false,
): McpMessage {
  return {
    role: "user",
    content: toolUses(message).map((use): ToolResultContent => {
      const result = resultOf(use);
      return {
        type: "tool_result",
        toolUseId: use.id,
        content: typeof result === "string" ? [text(result)] : result,
        ...(isError && { isError }),
      };
    }),
  };
}

/**
 * The messages of an exchange with tools, closed with what the tools gave back:
 * one result for all calls, or one worked out for each.
 *
 * @example
 * ```ts
 * import { closeToolCalls, type McpMessage, type McpToolContext } from "parley-mcp";
 * import { z } from "zod";
 *
 * const look = { name: "look", inputSchema: z.object({ where: z.string() }) };
 *
 * function* lookAround(ctx: McpToolContext, history: McpMessage[]) {
 *   const { exchange } = yield* ctx.sampleTools({ prompt: "Look around.", tools: [look] });
 *   history.push(...closeToolCalls(exchange, (use) => `did ${use.name}`));
 * }
 * ```
 */
export function closeToolCalls(
  { messages, response }: SampleExchange<unknown>,
  result: string | ContentBlock[] | ((use: ToolUseContent) => string | ContentBlock[]) = "ok",
): McpMessage[] {
  if (toolUses(response).length === 0) return [...messages];
  return [...messages, toolResults(response, typeof result === "function" ? result : () => result)];
}

/** Returns the last user message, which the model answers. */
export function lastUserMessage(messages: readonly McpMessage[]): McpMessage | undefined {
  return messages.findLast((message) => message.role === "user");
}
