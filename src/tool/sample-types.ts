/** What a tool says when it asks the model, and what it gets back. */
import type { JsonObject, McpMessage, McpMessageInput } from "../model/content.ts";
import type { ModelPreferences } from "../model/events.ts";
import type { Infer, SchemaInput } from "../schema/types.ts";

/** A tool that the model may call in a sample. */
export interface SamplingToolDefinition {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: SchemaInput;
}

/** Another name for `SamplingToolDefinition`. */
export type ToolDefinition = SamplingToolDefinition;

/** A call that the model made. */
export interface SamplingToolCall<TName extends string = string, TArguments = JsonObject> {
  readonly id: string;
  readonly name: TName;
  readonly arguments: TArguments;
}

/** Another name for `SamplingToolCall`. */
export type ToolCall<TName extends string = string, TArguments = JsonObject> = SamplingToolCall<
  TName,
  TArguments
>;

/** The calls that a list of tools makes possible; `name` tells which `arguments` it has. */
export type ToolCallOf<T extends SamplingToolDefinition> = T extends SamplingToolDefinition
  ? SamplingToolCall<
    T["name"],
    unknown extends Infer<T["inputSchema"]> ? JsonObject : Infer<T["inputSchema"]>
  >
  : never;

/** Whether the model may, must or must not call a tool. */
export type SamplingToolChoice = "auto" | "required" | "none";

/** Who answers: the client, the server's own provider, or whoever can. */
export type SampleAnswerer = "auto" | "client" | "provider";

/** What every sample may say. */
export interface SampleConfigBase {
  systemPrompt?: string;
  /** At most this many tokens in the answer; 4096 unless told. */
  maxTokens?: number;
  modelPreferences?: ModelPreferences;
  temperature?: number;
  stopSequences?: string[];
  /** Who answers; the server's own order unless told. */
  by?: SampleAnswerer;
}

/** Continues the branch's conversation, and becomes part of it. */
export interface SamplePrompt {
  prompt: string;
  messages?: never;
}

/** Stands for itself, and leaves the branch's conversation alone. */
export interface SampleMessages {
  messages: readonly McpMessageInput[];
  prompt?: never;
}

/** What is put to the model. */
export type SampleInput = SamplePrompt | SampleMessages;

/** A sample that is answered in text. */
export interface SampleConfigPlain extends SampleConfigBase {
  schema?: never;
  tools?: never;
  toolChoice?: never;
}

/** A sample that is answered with data. */
export interface SampleConfigWithSchema<S extends SchemaInput = SchemaInput>
  extends SampleConfigBase {
  schema: S;
  tools?: never;
  toolChoice?: never;
}

/** A sample that may be answered with calls of tools. */
export interface SampleConfigWithTools<
  T extends SamplingToolDefinition = SamplingToolDefinition,
> extends SampleConfigBase {
  tools: readonly T[];
  /** `auto` unless told. */
  toolChoice?: SamplingToolChoice;
  schema?: never;
}

/** Any sample that `ctx.sample` takes. */
export type McpToolSampleConfig =
  & (SampleConfigPlain | SampleConfigWithSchema | SampleConfigWithTools)
  & SampleInput;

interface Retries {
  /** How often to try again; default: 2. */
  retries?: number;
}

type SchemaSample<S extends SchemaInput> =
  & Omit<SampleConfigWithSchema<S>, "tools" | "toolChoice">
  & Retries;

type ToolsSample<T extends SamplingToolDefinition> =
  & Omit<SampleConfigWithTools<T>, "schema">
  & Retries;

/** What `ctx.sampleSchema` takes. */
export type SampleSchemaConfig<S extends SchemaInput = SchemaInput> = SchemaSample<S> & SampleInput;

/** What `ctx.sampleSchema` takes with messages instead of a prompt. */
export type SampleSchemaConfigMessages<S extends SchemaInput = SchemaInput> =
  & SchemaSample<S>
  & SampleMessages;

/** What `ctx.sampleTools` takes. */
export type SampleToolsConfig<T extends SamplingToolDefinition = SamplingToolDefinition> =
  & ToolsSample<T>
  & SampleInput;

/** What `ctx.sampleTools` takes with messages instead of a prompt. */
export type SampleToolsConfigMessages<T extends SamplingToolDefinition = SamplingToolDefinition> =
  & ToolsSample<T>
  & SampleMessages;

/** An answered sample as messages, ready to be appended to a conversation. */
export interface SampleExchange<TParsed = undefined> {
  /** The last user message that was sent. */
  readonly request: McpMessage;
  readonly response: McpMessage;
  /**
   * `[request, response]` for text, `[request, toolUse, toolResult]` for data.
   * With tools it ends in the model's calls, and `closeToolCalls` adds their results.
   */
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

/** The answer to a plain sample: its text, and the exchange to go on from. */
export interface SampleResult extends SampleResultBase {
  readonly exchange: SampleExchange;
}

/** The answer to a sample with a schema: data, or why there is none. */
export interface SampleResultWithParsed<T> extends SampleResultBase {
  readonly parsed: T | null;
  readonly parseError?: { readonly message: string; readonly rawText: string };
  readonly exchange: SampleExchange<T>;
}

/** The answer to a sample with tools. */
export interface SampleResultWithToolCalls<
  TCall extends SamplingToolCall<string, unknown> = SamplingToolCall,
> extends SampleResultBase {
  readonly toolCalls: TCall[];
  readonly exchange: SampleExchange;
}

/** The answer to `ctx.sampleSchema`: data that the schema has accepted. */
export interface SampleSchemaResult<T> extends SampleResultBase {
  readonly parsed: T;
  readonly exchange: SampleExchange<T>;
}

/** The answer to `ctx.sampleTools`: at least one call, its arguments checked. */
export interface SampleToolsResult<
  TCall extends SamplingToolCall<string, unknown> = SamplingToolCall,
> extends SampleResultBase {
  readonly stopReason: "toolUse";
  readonly toolCalls: [TCall, ...TCall[]];
  readonly exchange: SampleExchange;
}
