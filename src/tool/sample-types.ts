/** The types of sampling requests: the questions that a tool asks a model, and their results. */
import type { JsonObject, McpMessage, McpMessageInput } from "../model/content.ts";
import type { ModelPreferences, SampleVia } from "../model/events.ts";
import type { Infer, SchemaInput } from "../schema/types.ts";

/** A tool that the model may call in a sampling request. */
export interface SamplingToolDefinition {
  /** The name of the tool. */
  readonly name: string;
  /** What the tool does, for the model. */
  readonly description?: string;
  /** The schema of the tool's arguments. */
  readonly inputSchema: SchemaInput;
}

/** Another name for `SamplingToolDefinition`. */
export type ToolDefinition = SamplingToolDefinition;

/** A tool call by the model. */
export interface SamplingToolCall<TName extends string = string, TArguments = JsonObject> {
  /** The id of the call. `closeToolCalls` uses it to assign a result to the call. */
  readonly id: string;
  /** The name of the tool. */
  readonly name: TName;
  /** The arguments of the call. */
  readonly arguments: TArguments;
}

/** Another name for `SamplingToolCall`. */
export type ToolCall<TName extends string = string, TArguments = JsonObject> = SamplingToolCall<
  TName,
  TArguments
>;

/** The possible calls of a list of tools: a union with the discriminant `name`. */
export type ToolCallOf<T extends SamplingToolDefinition> = T extends SamplingToolDefinition
  ? SamplingToolCall<
    T["name"],
    unknown extends Infer<T["inputSchema"]> ? JsonObject : Infer<T["inputSchema"]>
  >
  : never;

/** Whether the model may, must or must not call a tool. */
export type SamplingToolChoice = "auto" | "required" | "none";

/**
 * Who answers a sampling request: the client, the server's own model, or whichever is available.
 */
export type SampleAnswerer = "auto" | "client" | "provider";

/** The options that all sampling requests have. */
export interface SampleConfigBase {
  /** The system prompt. Default: none. */
  systemPrompt?: string;
  /** Maximum number of tokens in the answer. Default: 4096. */
  maxTokens?: number;
  /** Which model to choose. Default: the client's or the provider's choice. */
  modelPreferences?: ModelPreferences;
  /** The sampling temperature. Default: the model's own. */
  temperature?: number;
  /** Texts at which the model stops. Default: none. */
  stopSequences?: string[];
  /** Who answers. Default: the server's `sampling.answerer`. */
  by?: SampleAnswerer;
}

/** A prompt that continues the conversation of the branch, and becomes part of it. */
export interface SamplePrompt {
  /** The text of the user message. */
  prompt: string;
  messages?: never;
}

/**
 * Messages that are sent instead of the conversation of the branch. They do not become part of it.
 */
export interface SampleMessages {
  /** The messages to send. */
  messages: readonly McpMessageInput[];
  prompt?: never;
}

/** The input of a sampling request: a prompt or messages. */
export type SampleInput = SamplePrompt | SampleMessages;

/** A sampling request that the model answers with text. */
export interface SampleConfigPlain extends SampleConfigBase {
  schema?: never;
  tools?: never;
  toolChoice?: never;
}

/** A sampling request that the model answers with data. */
export interface SampleConfigWithSchema<S extends SchemaInput = SchemaInput>
  extends SampleConfigBase {
  /** The schema of the data. */
  schema: S;
  tools?: never;
  toolChoice?: never;
}

/** A sampling request that the model may answer with tool calls. */
export interface SampleConfigWithTools<
  T extends SamplingToolDefinition = SamplingToolDefinition,
> extends SampleConfigBase {
  /** The tools that the model may call. */
  tools: readonly T[];
  /** Whether the model may, must or must not call a tool. Default: `auto`. */
  toolChoice?: SamplingToolChoice;
  schema?: never;
}

/** The argument of `ctx.sample`. */
export type McpToolSampleConfig =
  & (SampleConfigPlain | SampleConfigWithSchema | SampleConfigWithTools)
  & SampleInput;

/** How often a sampling request is retried. */
export interface SampleRetries {
  /** The maximum number of retries after an invalid answer. Default: 2. */
  retries?: number;
}

/** The argument of `ctx.sampleSchema`. */
export type SampleSchemaConfig<S extends SchemaInput = SchemaInput> =
  & Omit<SampleConfigWithSchema<S>, "tools" | "toolChoice">
  & SampleRetries
  & SampleInput;

/** The argument of `ctx.sampleSchema`, with messages instead of a prompt. */
export type SampleSchemaConfigMessages<S extends SchemaInput = SchemaInput> =
  & Omit<SampleConfigWithSchema<S>, "tools" | "toolChoice">
  & SampleRetries
  & SampleMessages;

/** The argument of `ctx.sampleTools`. */
export type SampleToolsConfig<T extends SamplingToolDefinition = SamplingToolDefinition> =
  & Omit<SampleConfigWithTools<T>, "schema">
  & SampleRetries
  & SampleInput;

/** The argument of `ctx.sampleTools`, with messages instead of a prompt. */
export type SampleToolsConfigMessages<T extends SamplingToolDefinition = SamplingToolDefinition> =
  & Omit<SampleConfigWithTools<T>, "schema">
  & SampleRetries
  & SampleMessages;

/** An answered sampling request as messages, ready to be appended to a conversation. */
export interface SampleExchange<TParsed = undefined> {
  /** The last user message that was sent. */
  readonly request: McpMessage;
  /** The answer of the model. */
  readonly response: McpMessage;
  /**
   * `[request, response]` for text, `[request, toolUse, toolResult]` for data. For tool calls, the
   * list ends with the calls of the model, and `closeToolCalls` adds their results.
   */
  readonly messages: McpMessage[];
  /** The data of the answer, if the sampling request had a schema. */
  readonly parsed?: TParsed;
}

/** The properties that all answers of a model have. */
export interface SampleResultBase {
  /** The text of the answer. */
  readonly text: string;
  /** The model that answered, if known. */
  readonly model?: string;
  /** Who answered: the client, the server's own model, or the model that called the tool. */
  readonly via: SampleVia;
  /** Why the model stopped, if known. */
  readonly stopReason?:
    | "endTurn"
    | "stopSequence"
    | "maxTokens"
    | "toolUse" // deno-lint-ignore ban-types
    | (string & {});
}

/** The answer to a plain sampling request. */
export interface SampleResult extends SampleResultBase {
  /** The exchange as messages, to continue the conversation. */
  readonly exchange: SampleExchange;
}

/** The answer to a sampling request with a schema. */
export interface SampleResultWithParsed<T> extends SampleResultBase {
  /** The data, or null if the answer does not fit the schema. */
  readonly parsed: T | null;
  /** Why `parsed` is null. */
  readonly parseError?: { readonly message: string; readonly rawText: string };
  /** The exchange as messages, to continue the conversation. */
  readonly exchange: SampleExchange<T>;
}

/** The answer to a sampling request with tools. */
export interface SampleResultWithToolCalls<
  TCall extends SamplingToolCall<string, unknown> = SamplingToolCall,
> extends SampleResultBase {
  /** The calls that the model made. */
  readonly toolCalls: TCall[];
  /** The exchange as messages, to continue the conversation. */
  readonly exchange: SampleExchange;
}

/** The answer to `ctx.sampleSchema`: data that fits the schema. */
export interface SampleSchemaResult<T> extends SampleResultBase {
  /** The data. */
  readonly parsed: T;
  /** The exchange as messages, to continue the conversation. */
  readonly exchange: SampleExchange<T>;
}

/** The answer to `ctx.sampleTools`: at least one call, with validated arguments. */
export interface SampleToolsResult<
  TCall extends SamplingToolCall<string, unknown> = SamplingToolCall,
> extends SampleResultBase {
  readonly stopReason: "toolUse";
  /** The calls that the model made. */
  readonly toolCalls: [TCall, ...TCall[]];
  /** The exchange as messages, to continue the conversation. */
  readonly exchange: SampleExchange;
}
