/**
 * One attempt at a sampling request: chooses who answers, sends the request, and reads the
 * response.
 *
 * By default, the client answers if it can, and otherwise the server's own model. For a client that
 * does not support tools, the prompt describes the tools. In revision 2026-07-28 and later, the
 * server's own model comes first, because a question to the client costs a round trip.
 */
import { action, type Operation } from "effection";
import { checkJson } from "../lib/json.ts";
import { type McpMessage, normalizeMessage, text, textOf } from "../model/content.ts";
import { CapabilityError, SampleError } from "../model/errors.ts";
import type { ClientAnswer, SampleParams, SampleResponse, SampleVia } from "../model/events.ts";
import type { SamplingProvider } from "../sampling/provider.ts";
import type { SampleConfigBase, SampleInput, SamplingToolChoice } from "../tool/sample-types.ts";
import { type Asker, checkLimit, isFailure } from "./ask.ts";
import { estimateTokens, type TokenBudget } from "./budget.ts";
import {
  checkMessages,
  lastUserMessage,
  problemOf,
  readMessages,
  toolResults,
  toolUses,
} from "./messages.ts";
import { withModelIds } from "./model-ids.ts";
import { findCalls, type FoundCall, type OfferedTool, toolParams } from "./schema-tool.ts";
import { asText, toolTexts, usesTools } from "./tools-as-text.ts";

const DEFAULT_MAX_TOKENS = 4096;

/** The first revision in which a question to the client ends the request. */
const STATELESS = "2026-07-28";

/** The conversation that a prompt continues, and its token budget. */
export interface Conversation {
  readonly messages: McpMessage[];
  readonly budget: TokenBudget;
}

/** A validated sampling request, ready to be sent. */
export interface Prepared {
  readonly config: SampleConfigBase;
  readonly messages: readonly McpMessage[];
  /** The message that the model answers. */
  readonly request: McpMessage;
  /**
   * Messages to append to the branch's conversation before the exchange. Undefined if the sampling
   * request has no prompt, and therefore does not continue the conversation.
   */
  readonly continues: readonly McpMessage[] | undefined;
  readonly tools: readonly OfferedTool[];
  readonly choice: SamplingToolChoice;
}

/** The model's answer. */
export interface Attempt {
  readonly answer: SampleResponse;
  readonly response: McpMessage;
  readonly said: string;
  readonly calls: readonly FoundCall[];
  /** Who answered. */
  readonly via: SampleVia;
}

export function prepare(
  conversation: Conversation,
  config: SampleConfigBase & SampleInput,
  tools: readonly OfferedTool[],
  choice: SamplingToolChoice,
): Prepared {
  const { prompt, messages } = (config ?? {}) as { prompt?: unknown; messages?: unknown };
  if ((prompt === undefined) === (messages === undefined)) {
    throw new TypeError(
      "Cannot sample: the config must have either a prompt or messages; pass one of the two",
    );
  }
  if (prompt !== undefined && typeof prompt !== "string") {
    throw new TypeError("Cannot sample: the prompt is not a string; pass a string, or messages");
  }
  checkLimit("maxTokens", config.maxTokens);
  // A prompt continues the conversation, so add a result to each tool call that has none.
  const continues = prompt === undefined ? undefined : closing(conversation.messages);
  const all = prompt === undefined
    ? readMessages(messages)
    : [...conversation.messages, ...continues!, userMessage(prompt)];
  checkJson(all);
  checkMessages(all);
  const request = lastUserMessage(all);
  if (!request) throw new TypeError("Cannot sample: messages has no user message; add one");
  return { config, messages: all, request, continues, tools, choice };
}

function closing(messages: readonly McpMessage[]): McpMessage[] {
  const last = messages.at(-1);
  return last && toolUses(last).length > 0 ? [toolResults(last, () => "ok")] : [];
}

function userMessage(prompt: string): McpMessage {
  return { role: "user", content: [text(prompt)] };
}

export function* attempt(
  asker: Asker,
  conversation: Conversation,
  prepared: Prepared,
): Operation<Attempt> {
  const { config, tools, choice } = prepared;
  // Remove empty messages, which models reject. An answer without content leaves an empty message.
  const messages = prepared.messages.filter(({ content }) => content.length > 0);
  const needsTools = tools.length > 0 || messages.some(usesTools);
  const answerer = answererOf(asker, config, needsTools);
  const supportsTools = answerer !== "client as text" && answerer !== "caller";
  const granted = conversation.budget.grant(config.maxTokens ?? DEFAULT_MAX_TOKENS);
  const params: SampleParams = {
    messages: supportsTools ? withModelIds(messages) : asText(messages, toolTexts(tools, choice)),
    maxTokens: Math.max(1, Math.floor(granted)),
    ...(config.systemPrompt !== undefined && { systemPrompt: config.systemPrompt }),
    ...(config.temperature !== undefined && { temperature: config.temperature }),
    ...(config.stopSequences && { stopSequences: config.stopSequences }),
    ...(config.modelPreferences && { modelPreferences: config.modelPreferences }),
    ...(tools.length > 0 && supportsTools && toolParams(tools, choice)),
  };
  let spent = 0;
  let answer: SampleResponse;
  let response: McpMessage;
  try {
    answer = typeof answerer === "string"
      ? yield* askClient(asker, params, answerer === "caller")
      : yield* askProvider(asker, answerer, params);
    response = responseOf(answer);
    spent = costOf(answer, response);
  } finally {
    conversation.budget.settle(granted, spent);
  }
  const said = textOf(response);
  const calls = tools.length > 0
    ? findCalls(response, said, tools, choice, () => asker.newId("call"))
    : [];
  const via = typeof answerer !== "string" ? "server" : answerer === "caller" ? answerer : "client";
  return { answer, response, said, calls, via };
}

function answererOf(
  { client, provider, answerer, byCaller }: Asker,
  { by = answerer }: SampleConfigBase,
  needsTools: boolean,
): "client" | "client as text" | "caller" | SamplingProvider {
  const { sampling } = client.capabilities;
  const costsRoundTrip = (client.protocolVersion ?? "") >= STATELESS;
  if (provider && by !== "client" && (by === "provider" || costsRoundTrip || !sampling)) {
    return provider;
  }
  if (by === "provider") {
    throw new SampleError(
      "Cannot ask the model: no model is configured for this server; set PARLEY_MODEL, or use a client that supports sampling",
    );
  }
  if (sampling) return !needsTools || sampling.tools ? "client" : "client as text";
  if (byCaller) return "caller";
  throw new CapabilityError(
    "sampling",
    client.name,
    by === "client"
      ? "use a client that does, or let the server's own model answer"
      : "use a client that does, or configure a model for the server (PARLEY_MODEL)",
  );
}

/** Returns who would answer a sampling request, or undefined if no model can answer. */
export function sampledBy(
  { client, provider, answerer, byCaller }: Pick<
    Asker,
    "client" | "provider" | "answerer" | "byCaller"
  >,
): SampleVia | undefined {
  const { sampling } = client.capabilities;
  const costsRoundTrip = (client.protocolVersion ?? "") >= STATELESS;
  if (answerer === "provider") return provider && "server";
  if (provider && answerer !== "client" && (costsRoundTrip || !sampling)) return "server";
  return sampling ? "client" : byCaller ? "caller" : undefined;
}

function* askClient(
  asker: Asker,
  params: SampleParams,
  byCaller: boolean,
): Operation<SampleResponse> {
  const reply = yield* asker.ask({
    kind: "sample",
    key: "sample",
    params,
    ...(byCaller && { by: "caller" }),
  });
  // The sampling request itself has no timeout, but its branch may have one.
  if (reply.type === "timeout") {
    throw new SampleError("Cannot ask the model: the timeout has passed; try again");
  }
  return answerOf(reply.response, "the client");
}

/** The reserved name of the step that asks the provider. Steps of authors cannot use it. */
export const PROVIDER_STEP = "__sample__";

/**
 * Asks the provider. The answer is recorded like that of a client, so that a replay does not ask
 * again.
 */
function* askProvider(
  asker: Asker,
  provider: SamplingProvider,
  params: SampleParams,
): Operation<SampleResponse> {
  const outcome = yield* asker.once(PROVIDER_STEP, () => outcomeOf(asker, provider, params));
  if ("failure" in outcome) throw new SampleError(outcome.failure);
  return outcome.answer;
}

type Outcome = { readonly answer: SampleResponse } | { readonly failure: string };

/**
 * Returns the provider's answer or the error message. Halting this operation aborts the request.
 */
function outcomeOf(
  asker: Asker,
  provider: SamplingProvider,
  params: SampleParams,
): Operation<Outcome> {
  return action<Outcome>((resolve) => {
    const controller = new AbortController();
    void answered(asker, provider, params, controller.signal).then(resolve);
    return () => controller.abort();
  });
}

async function answered(
  asker: Asker,
  provider: SamplingProvider,
  params: SampleParams,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    return { answer: answerOf(await provider.sample(params, signal), provider.name) };
  } catch (error) {
    return { failure: failureOf(asker, provider, error) };
  }
}

/**
 * Returns the message of a provider's error for the tool. An error of another library may contain
 * secrets, so only the operator sees its text.
 */
function failureOf(asker: Asker, provider: SamplingProvider, error: unknown): string {
  if (error instanceof SampleError) return error.message;
  asker.report(`${provider.name} failed`, error);
  return `Cannot ask the model: ${provider.name} failed; try again later, the server's log has the details`;
}

/** Returns the response if it is a valid answer, and throws otherwise. */
export function answerOf(response: ClientAnswer, who: string): SampleResponse {
  if (isFailure(response)) {
    throw new SampleError(
      `Cannot ask the model: ${who} refused or failed: ${response.error?.message}; try again, or continue without the model`,
    );
  }
  const { content, model } = (response ?? {}) as Partial<SampleResponse>;
  if (!isContent(content) || typeof model !== "string") {
    throw new SampleError(
      `Cannot use the model's answer: it has no content, or no model name; check ${who}`,
    );
  }
  return response as SampleResponse;
}

function isContent(content: unknown): boolean {
  if (typeof content === "string") return true;
  return Array.isArray(content) ? content.every(isBlock) : isBlock(content);
}

/** Returns true for a valid content block. Unknown types are accepted here, and removed later. */
function isBlock(block: unknown): boolean {
  if (typeof block !== "object" || block === null || !("type" in block)) return false;
  return !ASSISTANT_BLOCKS.includes(block.type) || problemOf(block) === undefined;
}

/** The block types that an assistant may produce. Tool results belong to the user. */
const ASSISTANT_BLOCKS: readonly unknown[] = ["text", "image", "audio", "tool_use"];

/** Returns the answer as a message of the conversation. */
export function responseOf({ content }: SampleResponse): McpMessage {
  const message = normalizeMessage({ role: "assistant", content });
  return {
    role: "assistant",
    content: message.content.filter((block) =>
      ASSISTANT_BLOCKS.includes(block.type) && !(block.type === "text" && block.text === "")
    ),
  };
}

/**
 * Returns the number of tokens that the answer cost. A reported number that is not valid is
 * ignored, and the tokens are estimated.
 */
export function costOf({ usage }: SampleResponse, { content }: McpMessage): number {
  const counted = usage?.outputTokens;
  if (Number.isFinite(counted) && counted! >= 0) return counted!;
  let tokens = 0;
  for (const block of content) {
    if (block.type === "text") tokens += estimateTokens(block.text);
    if (block.type === "tool_use") tokens += estimateTokens(JSON.stringify(block.input));
  }
  return tokens;
}
