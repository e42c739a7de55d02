/** Asking the model. */
import type { Operation } from "effection";
import { type McpMessage, normalizeMessage, text, textOf } from "../content.ts";
import { CapabilityError, SampleError } from "../errors.ts";
import type { Response, SampleParams, SampleResponse } from "../events.ts";
import { type Asker, isFailure } from "./ask.ts";
import { estimateTokens, type TokenBudget } from "./budget.ts";
import { lastUserMessage } from "./exchange.ts";
import { checkJson } from "./json.ts";
import { checkLimit } from "./limit.ts";
import type { McpToolSampleConfig, SampleResult } from "./types.ts";

const DEFAULT_MAX_TOKENS = 4096;

/** The conversation that a prompt continues, and what it may cost. */
export interface Conversation {
  readonly messages: McpMessage[];
  readonly budget: TokenBudget;
}

/** Puts a prompt or messages to the model and returns what it said. */
export function* sample(
  asker: Asker,
  conversation: Conversation,
  config: McpToolSampleConfig,
): Operation<SampleResult> {
  const messages = messagesOf(conversation, config);
  checkLimit("maxTokens", config.maxTokens);
  checkJson(messages);
  if (!asker.client.capabilities.sampling) {
    throw new CapabilityError(
      "sampling",
      asker.client.name,
      "use a client that supports it, or call the tool with everything it needs in its arguments",
    );
  }
  const params: SampleParams = {
    messages,
    maxTokens: conversation.budget.grant(config.maxTokens ?? DEFAULT_MAX_TOKENS),
    ...(config.systemPrompt !== undefined && { systemPrompt: config.systemPrompt }),
    ...(config.temperature !== undefined && { temperature: config.temperature }),
    ...(config.stopSequences && { stopSequences: config.stopSequences }),
    ...(config.modelPreferences && { modelPreferences: config.modelPreferences }),
  };
  const reply = yield* asker.ask({ kind: "sample", key: "sample", params });
  // A sample has no deadline of its own; a branch around it may have one.
  if (reply.type === "timeout") {
    throw new SampleError("Cannot ask the model: time is up; try again");
  }
  const answer = answerOf(reply.response);
  const response = normalizeMessage({ role: "assistant", content: answer.content });
  const said = textOf(response);
  conversation.budget.charge(tokensOf(answer) ?? estimateTokens(said));
  const request = lastUserMessage(messages)!;
  if (config.prompt !== undefined) conversation.messages.push(request, response);
  return {
    text: said,
    model: answer.model,
    ...(answer.stopReason !== undefined && { stopReason: answer.stopReason }),
    exchange: { request, response, messages: [request, response] },
  };
}

function messagesOf(conversation: Conversation, config: McpToolSampleConfig): McpMessage[] {
  const { prompt, messages } = (config ?? {}) as { prompt?: unknown; messages?: unknown };
  if ((prompt === undefined) === (messages === undefined)) {
    throw new TypeError(
      "Cannot sample: it takes either a prompt or messages; pass one of the two",
    );
  }
  if (config.prompt !== undefined) {
    return [...conversation.messages, { role: "user", content: [text(config.prompt)] }];
  }
  const normal = config.messages.map(normalizeMessage);
  if (!lastUserMessage(normal)) {
    throw new TypeError("Cannot sample: no message is from the user; add one");
  }
  return normal;
}

function answerOf(response: Response): SampleResponse {
  if (isFailure(response)) {
    throw new SampleError(
      `Cannot ask the model: the client refused or failed: ${response.error.message}; try again, or do without`,
    );
  }
  const { content, model } = (response ?? {}) as Partial<SampleResponse>;
  if (!isContent(content) || typeof model !== "string") {
    throw new SampleError(
      "Cannot use the model's answer: it has no content or names no model; check the client",
    );
  }
  return response as SampleResponse;
}

function isContent(content: unknown): boolean {
  if (typeof content === "string") return true;
  return Array.isArray(content) ? content.every(isBlock) : isBlock(content);
}

function isBlock(block: unknown): boolean {
  if (typeof block !== "object" || block === null || !("type" in block)) return false;
  return block.type !== "text" || "text" in block && typeof block.text === "string";
}

/** What the answer cost. It comes from the client, and must not give tokens back. */
function tokensOf({ usage }: SampleResponse): number | undefined {
  const tokens = usage?.outputTokens;
  return Number.isFinite(tokens) && tokens! >= 0 ? tokens : undefined;
}
