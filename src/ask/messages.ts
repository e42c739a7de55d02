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
 * Validates the messages of an author, and converts their content to lists of blocks. Repeats the
 * checks of the type checker, for tools that are written in JavaScript.
 */
export function readMessages(messages: unknown): McpMessage[] {
  if (!Array.isArray(messages)) {
    throw new TypeError("Cannot sample: messages is not an array; pass an array of messages");
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

/** Returns the problem of a block, or undefined if the block is valid. */
export function problemOf(block: unknown): string | undefined {
  if (typeof block !== "object" || block === null) return "it is not a content block";
  const { type } = block as { type?: unknown };
  const parts = typeof type === "string" && Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  if (!parts) return `its type is ${JSON.stringify(type)}, not ${Object.keys(PARTS).join(", ")}`;
  for (const [name, kind] of Object.entries(parts)) {
    const part = (block as Record<string, unknown>)[name];
    if (typeof part !== kind || part === null) {
      return `its ${name} is not ${kind === "object" ? "an" : "a"} ${kind}`;
    }
    if (name === "content" && !Array.isArray(part)) return "its content is not an array";
  }
  return undefined;
}

/**
 * Throws if a message with `tool_use` blocks is not followed by a message with exactly one
 * `tool_result` for each of them.
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
          "it follows a tool_use, so it must be a user message with only tool_result blocks",
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
          `its tool_result answers "${toolUseId}", which the message before it does not call`,
        );
      }
    }
  });
}

function wrong(index: number | string, problem: string): TypeError {
  return new TypeError(
    `Cannot sample: messages[${index}] is not valid: ${problem}; correct this message`,
  );
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
 * Returns the messages of an exchange, followed by the results of its tool calls. Pass one result
 * for all calls, or a function that returns the result of each call.
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

/** Returns the last user message. The model answers that message. */
export function lastUserMessage(messages: readonly McpMessage[]): McpMessage | undefined {
  return messages.findLast((message) => message.role === "user");
}
