/** What an author says of a tool besides what it does. */
import type { McpMessageInput } from "../model/content.ts";

/** Hints about what a tool does; a client may use them to decide what to confirm. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** What a client must be able to do before the tool is run at all. */
export interface McpToolRequirements {
  elicitation?: boolean | "form" | "url";
  sampling?: boolean | "tools";
  roots?: boolean;
}

/** How far a tool, or a branch of it, may go. */
export interface McpToolLimits {
  /** Branches within branches; 10 unless told. */
  maxDepth?: number;
  /** Tokens that all answers of models together may take. */
  maxTokens?: number;
  /** Milliseconds from the call to its result, waiting included. */
  timeout?: number;
}

/** How a branch differs from the branch that opens it. */
export interface McpToolBranchOptions extends McpToolLimits {
  /** Start with a copy of the conversation so far (the default), or with an empty one. */
  inheritMessages?: boolean;
  /** Start with these messages, after the inherited ones if there are any. */
  messages?: readonly McpMessageInput[];
}

/** How a tool outlasts the process that runs it. */
export interface McpToolDurability {
  /**
   * Changes whenever the tool does something else, or in another order, than
   * before. A run that another version began is not taken up.
   */
  readonly version: string;
  /** The record may travel with the client, sealed, instead of staying on the server. */
  readonly sealed: boolean;
}

/** How a tool runs as a task, for clients that know tasks. */
export interface McpToolTask {
  /** Refuse clients that do not know tasks, instead of letting them wait. */
  readonly required?: boolean;
  /** Milliseconds that the task is kept, from its start; one hour unless told. */
  readonly ttl?: number;
  /** Milliseconds that a client should wait between looks; one second unless told. */
  readonly pollInterval?: number;
  /** Become a task at once (the default), or when the tool says so with `ctx.startTask()`. */
  readonly start?: "at_once" | "when_told";
}
