/** The settings of a tool: annotations, requirements, limits, durability, tasks. */
import type { McpMessageInput } from "../model/content.ts";

/** Hints about a tool's behaviour. Clients may use them to decide which calls to confirm. */
export interface ToolAnnotations {
  /** The name of the tool, for people. */
  title?: string;
  /** The tool changes nothing. */
  readOnlyHint?: boolean;
  /** The tool may delete or overwrite something. */
  destructiveHint?: boolean;
  /** Calling the tool again with the same arguments changes nothing more. */
  idempotentHint?: boolean;
  /** The tool talks to other systems. */
  openWorldHint?: boolean;
}

/** The capabilities that a client must have to call a tool. Other clients are refused. */
export interface McpToolRequirements {
  /** The client can ask the person: in any mode (`true`), with forms, or with URLs. */
  elicitation?: boolean | "form" | "url";
  /**
   * The client or the server has a model that can be asked (`true`), or that can also call tools.
   */
  sampling?: boolean | "tools";
  /** The client can list its roots. */
  roots?: boolean;
}

/** The limits of a tool, or of one of its branches. */
export interface McpToolLimits {
  /** The maximum depth of nested branches. Default: 10. */
  maxDepth?: number;
  /** The maximum number of tokens of all model answers together. Default: no limit. */
  maxTokens?: number;
  /**
   * The maximum time from the call to its result, including time spent waiting, in milliseconds.
   * Default: no limit.
   */
  timeout?: number;
}

/** The scopes that a caller needs. */
export interface RequiredScopes {
  /** The caller needs all of them. */
  readonly all: readonly string[];
  /** True if the definition is hidden from callers without the scopes. */
  readonly hidden: boolean;
}

/** The arguments of `.scopes()`: one scope or more, and options. */
export type ScopeList = readonly [string, ...(string | ScopeOptions)[]];

/** The options of `.scopes()`, after the scopes. */
export interface ScopeOptions {
  /** True to hide the definition from callers without the scopes. Default: false. */
  readonly hidden?: boolean;
}

/** The options of a branch. */
export interface McpToolBranchOptions extends McpToolLimits {
  /** Whether the branch starts with a copy of the conversation so far. Default: true. */
  inheritMessages?: boolean;
  /** Messages to start with, after the inherited ones. Default: none. */
  messages?: readonly McpMessageInput[];
}

/** The settings of a durable tool. */
export interface McpToolDurability {
  /**
   * The version of the tool's code. Change it when the tool does other steps, or the same steps in
   * another order. A call that another version started is not continued; it fails.
   */
  readonly version: string;
  /** Whether the client, instead of the store, may keep the encrypted record of a session. */
  readonly sealed: boolean;
}

/** How a tool runs as a task, for clients that support tasks. */
export interface McpToolTask {
  /** Whether clients without task support are refused. Default: false; they wait for the result. */
  readonly required?: boolean;
  /** Milliseconds for which the task is kept, from its start. Default: one hour. */
  readonly ttl?: number;
  /** Milliseconds that a client should wait between polls. Default: one second. */
  readonly pollInterval?: number;
  /** When the call becomes a task: immediately, or when the tool calls `ctx.startTask()`. Default: `at_once`. */
  readonly start?: "at_once" | "when_told";
}
