/** The types of tools, prompts and resources, and of the context that they run with. */
import type { Operation } from "effection";
import type {
  ContentAnnotations,
  ContentBlock,
  Icon,
  JsonObject,
  McpMessage,
  ResourceContents,
} from "../model/content.ts";
import type {
  ClientInfo,
  Door,
  LogLevel,
  PromptMessage,
  PromptResult,
  ResourceResult,
  Root,
  SampleVia,
  TraceContext,
} from "../model/events.ts";
import type { Principal } from "../model/principal.ts";
import type { HeaderParameter } from "../model/header-parameter.ts";
import type { SchemaReader } from "../schema/schema-reader.ts";
import type { Infer, InferInput, Schema, SchemaInput } from "../schema/types.ts";
import type {
  AnsweredBy,
  ElicitForm,
  ElicitOptions,
  ElicitResult,
  ElicitTimeout,
  ElicitUrlConfig,
  ElicitUrlResult,
  NarrowedElicitOptions,
  Narrower,
} from "./elicit-types.ts";
import type {
  McpToolSampleConfig,
  SampleConfigPlain,
  SampleConfigWithSchema,
  SampleConfigWithTools,
  SampleInput,
  SampleResult,
  SampleResultWithParsed,
  SampleResultWithToolCalls,
  SampleSchemaConfig,
  SampleSchemaResult,
  SampleToolsConfig,
  SampleToolsResult,
  SamplingToolDefinition,
  ToolCallOf,
} from "./sample-types.ts";
import type {
  McpToolBranchOptions,
  McpToolDurability,
  McpToolLimits,
  McpToolRequirements,
  McpToolTask,
  RequiredScopes,
  ToolAnnotations,
} from "./settings.ts";
import type { ToolEnvironment } from "./site.ts";
import type { UriPattern } from "./uri-pattern.ts";
import type { McpToolView, ToolVisibility } from "./view.ts";

/** A question that a tool may ask the person. */
export interface ElicitDefinition {
  /** The schema of the form: a flat object of primitives and enums. */
  readonly response: SchemaInput;
  /**
   * The schema of data that the tool passes with the question. The data is kept with the answer,
   * and not shown to the person.
   */
  readonly context?: SchemaInput;
  /** Fields of the answer that must not be shown or stored in plain text. */
  readonly sensitive?: readonly string[];
  /**
   * Who may answer: `anyone` (also the model, on behalf of the person), a `person` (not the model),
   * or a person who is `signed-in` as the caller. Default: `person` in tools with `destructiveHint:
   * true`, otherwise `anyone`.
   */
  readonly by?: AnsweredBy;
  /** The only doors at which the question may be asked. Default: all that `by` allows. */
  readonly doors?: readonly Door[];
}

/** The questions of a tool, by key. */
export type ElicitsMap = { readonly [key: string]: ElicitDefinition };

/** The type of a question's answer. */
export type ElicitAnswer<E extends ElicitDefinition> = Infer<E["response"]>;

/** The type of a question's context. */
export type ElicitContext<E extends ElicitDefinition> = E extends
  { context: infer C extends SchemaInput } ? InferInput<C>
  : Record<never, never>;

/** The context of the phases `before` and `after`, which cannot ask questions. */
export interface McpToolServerContext extends ToolEnvironment {
  /** The id of the tool session. */
  readonly sessionId: string;
  /** The client that called, and its capabilities. */
  readonly client: ClientInfo;
  /**
   * Whether the client or the server's own model can answer a sampling request. The value may
   * change when the server restarts, so a durable tool that depends on it should read it in
   * `before`.
   */
  readonly canSample: boolean;
  /**
   * Who would answer a sampling request now: the client, the server's own model, or the model that
   * called the tool. Undefined if no model can answer. A modern client takes at most ten rounds of
   * questions, so a tool should ask a client's model as few times as possible.
   */
  readonly sampledBy: SampleVia | undefined;
  /** The distributed trace of the caller. Empty if the caller sent none. */
  readonly trace: TraceContext;
  /** Sends a log message to the client, if the client requested messages of this level. */
  log(level: LogLevel, data: unknown, logger?: string): Operation<void>;
  /**
   * Runs an effect and records its result. When a durable tool continues after a restart, the
   * recorded result is used and the effect does not run again. If the process dies before the
   * result is recorded, the effect runs again with the same key; pass the key to other systems
   * as an idempotency key.
   */
  step<T>(name: string, body: (key: string) => Operation<T>): Operation<T>;
  /** Returns the time in milliseconds since the epoch. Recorded: a replay returns the same time. */
  now(): Operation<number>;
  /** Returns a random number from 0 up to 1. Recorded: a replay returns the same number. */
  random(): Operation<number>;
  /** Returns a new UUID. Recorded: a replay returns the same UUID. */
  uuid(): Operation<string>;
  /**
   * Waits for `ms` milliseconds. In a durable tool, a restart of the server does not extend the
   * wait.
   */
  sleep(ms: number): Operation<void>;
  /**
   * Reports progress. Without `progress`, each call counts as one. Waits while the client is far
   * behind in reading its stream.
   */
  notify(message: string, progress?: number, total?: number): Operation<void>;
  /**
   * Closes the connection of this call, if the client can reconnect and read the rest. Use it
   * before a long wait.
   */
  hangUp(): Operation<void>;
  /** Notifies all clients that the list of tools, prompts or resources has changed. */
  listChanged(list: "tools" | "prompts" | "resources"): Operation<void>;
  /** Notifies all clients that subscribed to a resource that it has changed. */
  resourceUpdated(uri: string): Operation<void>;
}

/** The context of a tool: it asks the person and the model, opens branches, and reports. */
export interface McpToolContext extends McpToolServerContext {
  /** The conversation of this branch. Sampling requests with a `prompt` continue it. */
  readonly messages: readonly McpMessage[];
  /** The conversation of the parent branch, as it was when this branch was opened. */
  readonly parentMessages: readonly McpMessage[];
  /** The depth of this branch: 0 in the tool itself, and one more in each nested branch. */
  readonly depth: number;
  /**
   * Asks the person to visit a page. The result says whether they agreed, but not what they did
   * there.
   */
  elicitUrl(config: ElicitUrlConfig): Operation<ElicitUrlResult>;
  /** Asks the person to visit a page, with a timeout. */
  elicitUrl(
    config: ElicitUrlConfig,
    options: ElicitOptions,
  ): Operation<ElicitUrlResult | (ElicitTimeout & { readonly elicitationId: string })>;
  /**
   * Turns the call into a task, if the client supports tasks and the tool's `.task` has `start:
   * "when_told"`.
   */
  startTask(): Operation<void>;
  /** Returns the directories and files that the client exposes to servers. */
  roots(): Operation<readonly Root[]>;
  /** Asks the model for text. */
  sample(config: SampleConfigPlain & SampleInput): Operation<SampleResult>;
  /** Asks the model for data. `parsed` is null if the answer does not fit the schema. */
  sample<S extends SchemaInput>(
    config: SampleConfigWithSchema<S> & SampleInput,
  ): Operation<SampleResultWithParsed<Infer<S>>>;
  /** Asks the model for tool calls. The tool runs them itself. */
  sample(config: SampleConfigWithTools & SampleInput): Operation<SampleResultWithToolCalls>;
  /** Asks the model. This overload is for a config whose kind is not known at compile time. */
  sample(
    config: McpToolSampleConfig,
  ): Operation<SampleResult | SampleResultWithParsed<unknown> | SampleResultWithToolCalls>;
  /** Asks the model for data, with retries. Throws `SampleValidationError` if no answer fits. */
  sampleSchema<S extends SchemaInput>(
    config: SampleSchemaConfig<S>,
  ): Operation<SampleSchemaResult<Infer<S>>>;
  /** Asks the model for a tool call with valid arguments, with retries. */
  sampleTools<const T extends SamplingToolDefinition>(
    config: SampleToolsConfig<T>,
  ): Operation<SampleToolsResult<ToolCallOf<T>>>;
  /** Runs a part of the tool with its own conversation and limits. */
  branch<T>(body: (ctx: this) => Operation<T>, options?: McpToolBranchOptions): Operation<T>;
  /** Runs branches in parallel, and returns all results. The first error halts the others. */
  branches<T extends readonly unknown[]>(
    bodies: readonly [...{ [I in keyof T]: (ctx: this) => Operation<T[I]> }],
    options?: McpToolBranchOptions,
  ): Operation<T>;
}

/** The context of a tool that declared questions. */
export interface McpToolContextWithElicits<E extends ElicitsMap> extends McpToolContext {
  /** Asks the person a declared question. */
  elicit<K extends keyof E & string>(
    key: K,
    ask: { message: string } & ElicitContext<E[K]>,
  ): Operation<ElicitResult<ElicitContext<E[K]>, ElicitAnswer<E[K]>>>;
  /** Asks the person a declared question, with a timeout. */
  elicit<K extends keyof E & string>(
    key: K,
    ask: { message: string } & ElicitContext<E[K]>,
    options: ElicitOptions,
  ): Operation<ElicitResult<ElicitContext<E[K]>, ElicitAnswer<E[K]>> | ElicitTimeout>;
  /** Asks with a form that allows less than the declared one. */
  elicit<K extends keyof E & string, S extends SchemaInput>(
    key: K,
    ask: { message: string } & ElicitContext<E[K]>,
    options: { readonly response: Narrower<S, ElicitAnswer<E[K]>>; readonly timeout?: never },
  ): Operation<ElicitResult<ElicitContext<E[K]>, Infer<S>>>;
  /** Asks with a form that allows less than the declared one, and with a timeout. */
  elicit<K extends keyof E & string, S extends SchemaInput>(
    key: K,
    ask: { message: string } & ElicitContext<E[K]>,
    options: Omit<NarrowedElicitOptions, "response"> & {
      readonly response: Narrower<S, ElicitAnswer<E[K]>>;
    },
  ): Operation<ElicitResult<ElicitContext<E[K]>, Infer<S>> | ElicitTimeout>;
}

/** A complete result, for a tool that returns images, links or its own errors. */
export interface FullToolResult<TStructured = JsonObject> {
  /** The content for the model. */
  content: ContentBlock[];
  /** The data of the result. */
  structuredContent?: TStructured;
  /** Whether the call failed. */
  isError?: boolean;
  /** Metadata for the client. */
  _meta?: JsonObject;
}

/** The return type of a tool without `output`. */
export type ToolReturn =
  | string
  | number
  | boolean
  | null
  | undefined
  | void
  | readonly ContentBlock[]
  | FullToolResult
  | object;

/** The context of a body that may ask the questions `E`. */
export type McpToolContextFor<E extends ElicitsMap> = keyof E extends never ? McpToolContext
  : McpToolContextWithElicits<E>;

/**
 * The return type of a tool with `output`: the data, a complete result with the data, or a failure.
 */
export type OutputReturn<TStructured> =
  | TStructured
  | FullToolResult<TStructured> & { structuredContent: TStructured }
  | FullToolResult<TStructured> & { isError: true };

/**
 * The body of a tool with three phases. The results of `before` and `after` are recorded, and a
 * replay uses them.
 */
export interface McpToolHandoffConfig<TParams, THandoff, TClient, TReturn, TContext> {
  /** Prepares the call. Its result is recorded and passed to the other phases. */
  before(params: TParams, ctx: McpToolServerContext): Operation<THandoff>;
  /** Asks the person and the model. */
  client(handoff: THandoff, ctx: TContext): Operation<TClient>;
  /** Returns the result of the tool. */
  after(handoff: THandoff, client: TClient, ctx: McpToolServerContext): Operation<TReturn>;
}

/** The code of a tool, prompt or resource: one function, or three phases. */
export type ToolBody =
  | { readonly type: "execute"; execute(params: unknown, ctx: unknown): Operation<unknown> }
  | {
    readonly type: "handoff";
    readonly phases: McpToolHandoffConfig<unknown, unknown, unknown, unknown, unknown>;
  };

/**
 * The properties that tools, prompts and resources have in common. The builders create definitions.
 */
export interface Definition {
  /** Whether the definition is a tool, a prompt or a resource. */
  readonly kind: "tool" | "prompt" | "resource";
  /** The name. It is unique among definitions of the same kind. */
  readonly name: string;
  /** The schema of the parameters. */
  readonly parameters: Schema<unknown>;
  /** The questions that the body may ask, by key. */
  readonly elicits: ReadonlyMap<string, ElicitForm>;
  /** The capabilities that a client must have. */
  readonly requires: McpToolRequirements;
  /** The limits of a run. */
  readonly limits: McpToolLimits;
  /** The scopes that a caller needs. Undefined if it needs none. */
  readonly scopes?: RequiredScopes;
  /** Converts the schemas that the body passes to `ctx`. */
  readonly schemas: SchemaReader;
  /** Present if a run can continue from its record. */
  readonly durable?: McpToolDurability;
  /** The code to run. */
  readonly body: ToolBody;
}

/** A finished tool. `TInput` is the type of its arguments, `TResult` that of its data. */
export interface FinalizedMcpTool<
  TName extends string = string,
  // deno-lint-ignore no-explicit-any
  TInput = any,
  TResult = unknown,
> extends Definition {
  readonly kind: "tool";
  readonly name: TName;
  readonly description: string;
  readonly title?: string;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  /** The `_meta` in lists. */
  readonly meta?: JsonObject;
  readonly output?: Schema<unknown>;
  /** Present if the tool may run as a task. */
  readonly task?: McpToolTask;
  /** Loads the view that hosts with MCP Apps show for calls of the tool. */
  readonly view?: () => Promise<McpToolView>;
  /** Who may call the tool. Default: the model and views. */
  readonly visibility?: readonly ToolVisibility[];
  /** Parameters that clients also send as HTTP headers. */
  readonly headerParameters: readonly HeaderParameter[];
  /** Only for the type checker. Always undefined at run time. */
  readonly types?: { readonly input: TInput; readonly result: TResult };
}

/** A finished tool that declared questions. `TElicits` lets `testTool` check scripted answers. */
export interface FinalizedMcpToolWithElicits<
  TName extends string = string,
  // deno-lint-ignore no-explicit-any
  TInput = any,
  TResult = unknown,
  TElicits extends ElicitsMap = ElicitsMap,
> extends FinalizedMcpTool<TName, TInput, TResult> {
  /** Only for the type checker. Always undefined at run time. */
  readonly elicitTypes?: TElicits;
}

/** The context in which a list or a completion runs. */
export interface QueryContext {
  /** The caller. Compare callers by `id`, which is empty for the anonymous caller. */
  readonly principal: Principal;
}

/** Suggests values for an argument while the person types it. */
export type Completer = (
  value: string,
  others: { readonly [argument: string]: string },
  ctx: QueryContext,
) => Operation<readonly string[]>;

/** Lists members of a family of resources. */
export type ResourceLister = (ctx: QueryContext) => Operation<readonly ListedResource[]>;

/** An argument of a prompt, as clients list it. */
export interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required: boolean;
}

/** The return type of a prompt: a text for the user, messages, or a complete result. */
export type PromptReturn = string | readonly PromptMessage[] | PromptResult;

/** A finished prompt. */
export interface FinalizedMcpPrompt extends Definition {
  readonly kind: "prompt";
  readonly title?: string;
  readonly description: string;
  readonly icons?: readonly Icon[];
  /** The `_meta` in lists. */
  readonly meta?: JsonObject;
  readonly arguments: readonly PromptArgument[];
  readonly completers: ReadonlyMap<string, Completer>;
}

/** A resource as clients list it. */
export interface ListedResource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly annotations?: ContentAnnotations;
  readonly icons?: readonly Icon[];
  readonly _meta?: JsonObject;
}

/** The return type of a resource: text, bytes, one or several contents, or a complete result. */
export type ResourceReturn =
  | string
  | Uint8Array
  | ResourceContents
  | readonly ResourceContents[]
  | ResourceResult;

/** A finished resource, or a family of resources with a URI template. */
export interface FinalizedMcpResource extends Definition {
  readonly kind: "resource";
  /** The URI, or the URI template of the family. */
  readonly uri: UriPattern;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly annotations?: ContentAnnotations;
  readonly icons?: readonly Icon[];
  /** The `_meta` in lists. */
  readonly meta?: JsonObject;
  readonly completers: ReadonlyMap<string, Completer>;
  /** Lists members of the family. */
  readonly list?: ResourceLister;
}
