/** What a tool gets back when it asks, and the forms a question can take. */
import type {
  JsonObject,
  McpMessage,
  McpMessageInput,
  ToolResultContent,
  ToolUseContent,
} from "../content.ts";
import type { Operation } from "effection";
import type { ModelPreferences } from "../events.ts";
import type { SchemaInput } from "../schema/types.ts";

// ---------------------------------------------------------------- elicitation

/** The assistant's half of an answered elicitation. */
export interface ElicitRequestMessage extends McpMessage {
  role: "assistant";
  content: [ToolUseContent];
}

/** The person's half of an answered elicitation. */
export interface ElicitResponseMessage extends McpMessage {
  role: "user";
  content: [ToolResultContent];
}

/** An answered elicitation as messages, ready to be appended to a conversation. */
export interface ElicitExchange<TContext, TResponse> {
  /** What the tool passed beside the message. It stays here unless `withArguments` lets it out. */
  readonly context: TContext;
  readonly request: ElicitRequestMessage;
  readonly response: ElicitResponseMessage;
  /** `[request, response]`, with nothing of the context in them. */
  readonly messages: [ElicitRequestMessage, ElicitResponseMessage];
  /** The same messages with arguments that you derive from the context. */
  withArguments(
    fn: (context: TContext) => JsonObject,
  ): [ElicitRequestMessage, ElicitResponseMessage];
  /** Carries the answer's type; there is nothing here at run time. */
  readonly answer?: TResponse;
}

/** What the person did with a form. */
export type ElicitResult<TContext, TResponse> =
  | {
    readonly action: "accept";
    readonly content: TResponse;
    readonly exchange: ElicitExchange<TContext, TResponse>;
  }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

/** Nobody answered before the deadline. The question has been taken back. */
export interface ElicitTimeout {
  readonly action: "timeout";
}

/** Whether the person agreed to visit the page. What happens there is not told here. */
export interface ElicitUrlResult {
  readonly action: "accept" | "decline" | "cancel";
  /** Names this elicitation, also when the page reports that it is done. */
  readonly elicitationId: string;
  /** Tells the client that what the page was for has been done. */
  complete(): Operation<void>;
}

/** How long to wait for a person. */
export interface ElicitOptions {
  /** Milliseconds after which the answer is `{ action: "timeout" }`. */
  readonly timeout?: number;
}

/** A page for the person to visit. */
export interface ElicitUrlConfig {
  readonly message: string;
  readonly url: string | URL;
  /** An id of your own, for a page that must know it; made up otherwise. */
  readonly elicitationId?: string;
}

// ------------------------------------------------------------------- sampling

/** A tool that the model may call in a sample. */
export interface SamplingToolDefinition {
  name: string;
  description?: string;
  inputSchema: SchemaInput;
}

/** A call that the model made. */
export interface SamplingToolCall {
  id: string;
  name: string;
  arguments: JsonObject;
}

/** Whether the model may, must or must not call a tool. */
export type SamplingToolChoice = "auto" | "required" | "none";

/** What every sample may say. */
export interface SampleConfigBase {
  systemPrompt?: string;
  /** At most this many tokens in the answer; 4096 unless told. */
  maxTokens?: number;
  modelPreferences?: ModelPreferences;
  temperature?: number;
  stopSequences?: string[];
}

/**
 * What is put to the model. A prompt continues the branch's conversation and
 * becomes part of it; messages stand for themselves and leave it alone.
 */
export type SampleInput =
  | { prompt: string; messages?: never }
  | { messages: readonly McpMessageInput[]; prompt?: never };

/** A sample that is answered in text. */
export interface SampleConfigPlain extends SampleConfigBase {
  schema?: never;
  tools?: never;
  toolChoice?: never;
}

/** Any sample that `ctx.sample` takes. */
export type McpToolSampleConfig = SampleConfigPlain & SampleInput;

/** An answered sample as messages, ready to be appended to a conversation. */
export interface SampleExchange<TParsed = undefined> {
  /** The last user message that was sent. */
  readonly request: McpMessage;
  readonly response: McpMessage;
  readonly messages: McpMessage[];
  readonly parsed?: TParsed;
}

/** What the model answered. */
export interface SampleResultBase {
  readonly text: string;
  readonly model?: string;
  readonly stopReason?:
    | "endTurn"
    | "stopSequence"
    | "maxTokens"
    | "toolUse" // deno-lint-ignore ban-types
    | (string & {});
}

/** The answer to a plain sample. */
export interface SampleResult extends SampleResultBase {
  readonly exchange: SampleExchange;
}
