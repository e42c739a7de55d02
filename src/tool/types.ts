/** What authors write, and what they are given. */
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
  LogLevel,
  PromptMessage,
  PromptResult,
  ResourceResult,
  Root,
  TraceContext,
} from "../model/events.ts";
import type { HeaderParameter } from "../model/header-parameter.ts";
import type { SchemaReader } from "../schema/schema-reader.ts";
import type { Infer, InferInput, Schema, SchemaInput } from "../schema/types.ts";
import type {
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
  ToolAnnotations,
} from "./settings.ts";
import type { ToolEnvironment } from "./site.ts";
import type { UriPattern } from "./uri-pattern.ts";

/** A question that a tool may put to the person. */
export interface ElicitDefinition {
  /** The form: a flat object of primitives and enums. */
  readonly response: SchemaInput;
  /** What the tool knows when it asks; kept beside the answer, not shown to the person. */
  readonly context?: SchemaInput;
  /** Fields of the answer that must not be shown or kept in clear. */
  readonly sensitive?: readonly string[];
}

/** The questions of a tool, by key. */
export type ElicitsMap = { readonly [key: string]: ElicitDefinition };

/** What a question's answer holds. */
export type ElicitAnswer<E extends ElicitDefinition> = Infer<E["response"]>;

/** What a question's context holds. */
export type ElicitContext<E extends ElicitDefinition> = E extends
  { context: infer C extends SchemaInput } ? InferInput<C>
  : Record<never, never>;

/** What the phases `before` and `after` can do: everything but ask. */
export interface McpToolServerContext extends ToolEnvironment {
  readonly sessionId: string;
  readonly client: ClientInfo;
  /**
   * Whether a sample would be answered, by the client or by the server's own model. A durable
   * tool that depends on it reads it in `before`: it may change when the server restarts.
   */
  readonly canSample: boolean;
  /** The caller's place in a distributed trace; empty if it gave none. */
  readonly trace: TraceContext;
  /** Tells the client something. What it shows depends on the level it asked for. */
  log(level: LogLevel, data: unknown, logger?: string): Operation<void>;
  /**
   * Does something once. In a durable tool its result is recorded, and not worked
   * out again when the tool is taken up after a restart. Should the process die
   * between the two, it is done again with the same key, which other systems can
   * use to count it once.
   */
  step<T>(name: string, body: (key: string) => Operation<T>): Operation<T>;
  /** The time, in milliseconds since the epoch; the same when the tool is taken up again. */
  now(): Operation<number>;
  /** A number from 0 up to 1; the same when the tool is taken up again. */
  random(): Operation<number>;
  /** A new id; the same when the tool is taken up again. */
  uuid(): Operation<string>;
  /** Waits; a restart does not make it longer. */
  sleep(ms: number): Operation<void>;
  /**
   * Tells how far the tool has come. Without a number, each call counts one. Waits while
   * the client is far behind in reading what it is told.
   */
  notify(message: string, progress?: number, total?: number): Operation<void>;
  /**
   * Closes the connection that carries this call, where the client knows how to
   * come back for the rest. Worth it before a wait of minutes.
   */
  hangUp(): Operation<void>;
  /** Tells every client that the list of tools, prompts or resources is another one now. */
  listChanged(list: "tools" | "prompts" | "resources"): Operation<void>;
  /** Tells every client that subscribed to it that a resource has changed. */
  resourceUpdated(uri: string): Operation<void>;
}

/** What a tool can do while it runs: ask the person, ask the model, open branches, tell. */
export interface McpToolContext extends McpToolServerContext {
  /** The conversation of this branch. Samples with a `prompt` continue it. */
  readonly messages: readonly McpMessage[];
  /** The conversation of the branch that opened this one, as it was then. */
  readonly parentMessages: readonly McpMessage[];
  /** 0 in the tool itself, one more in each branch. */
  readonly depth: number;
  /** Sends the person to a page. The answer tells whether they agreed, not what they did there. */
  elicitUrl(config: ElicitUrlConfig): Operation<ElicitUrlResult>;
  elicitUrl(
    config: ElicitUrlConfig,
    options: ElicitOptions,
  ): Operation<ElicitUrlResult | (ElicitTimeout & { readonly elicitationId: string })>;
  /** Makes a task of the rest, where the client knows tasks and `.task` says "when_told". */
  startTask(): Operation<void>;
  /** The directories and files that the client has opened to servers. */
  roots(): Operation<readonly Root[]>;
  /** Asks the model for text. */
  sample(config: SampleConfigPlain & SampleInput): Operation<SampleResult>;
  /** Asks the model for data; `parsed` is null if the answer did not fit. */
  sample<S extends SchemaInput>(
    config: SampleConfigWithSchema<S> & SampleInput,
  ): Operation<SampleResultWithParsed<Infer<S>>>;
  /** Asks the model to call tools, which are yours to run. */
  sample(config: SampleConfigWithTools & SampleInput): Operation<SampleResultWithToolCalls>;
  /** Asks the model for whatever a config that was made elsewhere asks for. */
  sample(
    config: McpToolSampleConfig,
  ): Operation<SampleResult | SampleResultWithParsed<unknown> | SampleResultWithToolCalls>;
  /** Asks the model for data until it fits; throws `SampleValidationError` when tries run out. */
  sampleSchema<S extends SchemaInput>(
    config: SampleSchemaConfig<S>,
  ): Operation<SampleSchemaResult<Infer<S>>>;
  /** Asks the model to call a tool until it does, with arguments that fit. */
  sampleTools<const T extends SamplingToolDefinition>(
    config: SampleToolsConfig<T>,
  ): Operation<SampleToolsResult<ToolCallOf<T>>>;
  /** Runs part of the tool with a conversation and limits of its own. */
  branch<T>(body: (ctx: this) => Operation<T>, options?: McpToolBranchOptions): Operation<T>;
  /** Runs branches at once; returns what all return. The first that throws halts the others. */
  branches<T extends readonly unknown[]>(
    bodies: readonly [...{ [I in keyof T]: (ctx: this) => Operation<T[I]> }],
    options?: McpToolBranchOptions,
  ): Operation<T>;
}

/** What a tool that declared questions can do. */
export interface McpToolContextWithElicits<E extends ElicitsMap> extends McpToolContext {
  /** Asks the person. */
  elicit<K extends keyof E & string>(
    key: K,
    ask: { message: string } & ElicitContext<E[K]>,
  ): Operation<ElicitResult<ElicitContext<E[K]>, ElicitAnswer<E[K]>>>;
  elicit<K extends keyof E & string>(
    key: K,
    ask: { message: string } & ElicitContext<E[K]>,
    options: ElicitOptions,
  ): Operation<ElicitResult<ElicitContext<E[K]>, ElicitAnswer<E[K]>> | ElicitTimeout>;
  /** Asks with a form that offers less than the declared one. */
  elicit<K extends keyof E & string, S extends SchemaInput>(
    key: K,
    ask: { message: string } & ElicitContext<E[K]>,
    options: { readonly response: Narrower<S, ElicitAnswer<E[K]>>; readonly timeout?: never },
  ): Operation<ElicitResult<ElicitContext<E[K]>, Infer<S>>>;
  elicit<K extends keyof E & string, S extends SchemaInput>(
    key: K,
    ask: { message: string } & ElicitContext<E[K]>,
    options: Omit<NarrowedElicitOptions, "response"> & {
      readonly response: Narrower<S, ElicitAnswer<E[K]>>;
    },
  ): Operation<ElicitResult<ElicitContext<E[K]>, Infer<S>> | ElicitTimeout>;
}

/** A result written out in full, for a tool that returns pictures, links or its own errors. */
export interface FullToolResult<TStructured = JsonObject> {
  content: ContentBlock[];
  structuredContent?: TStructured;
  isError?: boolean;
  _meta?: JsonObject;
}

/** What a tool without `output` may return. */
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

/** What a tool with `output` may return: the data, a full result that holds it, or a failure. */
export type OutputReturn<TStructured> =
  | TStructured
  | FullToolResult<TStructured> & { structuredContent: TStructured }
  | FullToolResult<TStructured> & { isError: true };

/** A tool in three parts: prepare, talk, conclude. */
export interface McpToolHandoffConfig<TParams, THandoff, TClient, TReturn, TContext> {
  /** Runs once; what it returns is kept and given to the other two. */
  before(params: TParams, ctx: McpToolServerContext): Operation<THandoff>;
  /** The part that talks. */
  client(handoff: THandoff, ctx: TContext): Operation<TClient>;
  /** Runs once, and makes the result. */
  after(handoff: THandoff, client: TClient, ctx: McpToolServerContext): Operation<TReturn>;
}

/** How a finished tool is run. */
export type ToolBody =
  | { readonly type: "execute"; execute(params: unknown, ctx: unknown): Operation<unknown> }
  | {
    readonly type: "handoff";
    readonly phases: McpToolHandoffConfig<unknown, unknown, unknown, unknown, unknown>;
  };

/** What tools, prompts and resources have in common: they can be run, and can ask. */
export interface Definition {
  readonly kind: "tool" | "prompt" | "resource";
  readonly name: string;
  readonly parameters: Schema<unknown>;
  readonly elicits: ReadonlyMap<string, ElicitForm>;
  readonly requires: McpToolRequirements;
  readonly limits: McpToolLimits;
  /** Reads the schemas that the body passes to `ctx`. */
  readonly schemas: SchemaReader;
  /** Present if a run can be taken up again from its record. */
  readonly durable?: McpToolDurability;
  readonly body: ToolBody;
}

/** A tool, ready to be served. `TInput` is what a caller passes, `TResult` its structured result. */
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
  readonly output?: Schema<unknown>;
  /** Present if the tool may run as a task. */
  readonly task?: McpToolTask;
  /** Parameters that clients repeat in headers. */
  readonly headerParameters: readonly HeaderParameter[];
  /** Carries types; there is nothing here at run time. */
  readonly types?: { readonly input: TInput; readonly result: TResult };
}

/** A tool that declared questions; the test kit knows their answers by it. */
export interface FinalizedMcpToolWithElicits<
  TName extends string = string,
  // deno-lint-ignore no-explicit-any
  TInput = any,
  TResult = unknown,
  TElicits extends ElicitsMap = ElicitsMap,
> extends FinalizedMcpTool<TName, TInput, TResult> {
  /** Carries types; there is nothing here at run time. */
  readonly elicitTypes?: TElicits;
}

/** Suggests values for an argument that the person is typing. */
export type Completer = (
  value: string,
  others: { readonly [argument: string]: string },
) => Operation<readonly string[]>;

/** An argument of a prompt, as clients list it. */
export interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required: boolean;
}

/** What a prompt may return: a text for the user, messages, or a full result. */
export type PromptReturn = string | readonly PromptMessage[] | PromptResult;

/** A prompt, ready to be served. */
export interface FinalizedMcpPrompt extends Definition {
  readonly kind: "prompt";
  readonly title?: string;
  readonly description: string;
  readonly icons?: readonly Icon[];
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
}

/** What a resource may return: text, bytes, one or several contents, or a full result. */
export type ResourceReturn =
  | string
  | Uint8Array
  | ResourceContents
  | readonly ResourceContents[]
  | ResourceResult;

/** A resource, or a family of resources, ready to be served. */
export interface FinalizedMcpResource extends Definition {
  readonly kind: "resource";
  /** The address, or the template that all addresses of the family fit. */
  readonly uri: UriPattern;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly annotations?: ContentAnnotations;
  readonly icons?: readonly Icon[];
  readonly completers: ReadonlyMap<string, Completer>;
  /** Names the members of a family that are worth listing. */
  readonly list?: () => Operation<readonly ListedResource[]>;
}
