/**
 * Every error that Parley throws on purpose. Distinguish errors by `code` or by class, never by
 * message. All messages have the same form:
 *
 *     Cannot VERB THING "NAME": STATE; NEXT STEP
 */
import { INTERNAL_ERROR } from "./rpc-codes.ts";

/** The codes of all Parley errors. */
export type ParleyErrorCode =
  | "PARLEY_TOOL"
  | "PARLEY_PROTOCOL"
  | "PARLEY_DEFINITION"
  | "PARLEY_CALL_ACTION"
  | "PARLEY_CAPABILITY"
  | "PARLEY_DEPTH"
  | "PARLEY_TOKENS"
  | "PARLEY_TIMEOUT"
  | "PARLEY_ELICITATION"
  | "PARLEY_PAGE"
  | "PARLEY_SAMPLE"
  | "PARLEY_SAMPLE_VALIDATION"
  | "PARLEY_SESSION_GONE"
  | "PARLEY_SESSION_HALTED"
  | "PARLEY_SESSION_LIMIT"
  | "PARLEY_SESSION_SEALED"
  | "PARLEY_SESSION_SET_ASIDE"
  | "PARLEY_EVENTS_GONE"
  | "PARLEY_STORE"
  | "PARLEY_STORE_CONFLICT"
  | "PARLEY_CLOSED";

/** The root of all Parley errors. */
export abstract class ParleyError extends Error {
  abstract readonly code: ParleyErrorCode;
}

/**
 * Throw this error from a tool to tell the model that the call failed. The call ends with
 * `isError: true` and the message of the error. Say in the message what the model should do
 * instead. The messages of other errors go only to the operator.
 *
 * @example
 * ```ts
 * import { ToolError } from "parley-mcp";
 *
 * export function checkSeats(seats: number): void {
 *   if (seats > 9) throw new ToolError("Nine seats at most; book the others with another call.");
 * }
 * ```
 */
export class ToolError extends ParleyError {
  override readonly name: string = "ToolError";
  readonly code: ParleyErrorCode = "PARLEY_TOOL";
}

/**
 * Throw this error from a tool to answer the call with a JSON-RPC error. Such an error is for the
 * client, not for the model. Most tools should throw `ToolError` instead.
 */
export class ProtocolError extends ParleyError {
  override readonly name: string = "ProtocolError";
  readonly code: ParleyErrorCode = "PARLEY_PROTOCOL";
  constructor(readonly rpcCode: number, message: string, readonly data?: unknown) {
    super(message);
  }
}

/** A tool, prompt or resource is defined in a way that cannot work. */
export class DefinitionError extends ParleyError {
  override readonly name = "DefinitionError";
  readonly code = "PARLEY_DEFINITION";
  /** `subject` names the definition, such as `tool "pay"`. `field` names its invalid part. */
  constructor(readonly subject: string, readonly field: string, problem: string, wayOut: string) {
    super(`Cannot define ${subject}: ${field} ${problem}; ${wayOut}`);
  }
}

/**
 * The client lacks a capability that the tool needs. Catch this error to continue without the
 * capability. If it is not caught, the model gets the name of the client and what to do instead.
 *
 * @example
 * ```ts
 * import { CapabilityError, type McpToolContext } from "parley-mcp";
 *
 * export function* summary(ctx: McpToolContext, text: string) {
 *   try {
 *     return (yield* ctx.sample({ prompt: `Summarize:\n${text}` })).text;
 *   } catch (error) {
 *     if (!(error instanceof CapabilityError)) throw error;
 *     return text.slice(0, 200);
 *   }
 * }
 * ```
 */
export class CapabilityError extends ToolError {
  override readonly name = "CapabilityError";
  override readonly code = "PARLEY_CAPABILITY";
  constructor(
    readonly capability: string,
    readonly clientName: string | undefined,
    wayOut: string,
    /**
     * `not_shown`: the client declared the capability, but answered without asking the person.
     * `no_sign_in`: the question is for people who have signed in, and the caller cannot sign in.
     */
    readonly reason: "undeclared" | "not_shown" | "no_sign_in" = "undeclared",
  ) {
    const client = clientName ?? "this client";
    const problem = {
      undeclared: `${client} does not support ${capability}`,
      not_shown: `${client} accepted the form without showing it`,
      no_sign_in: "the caller cannot sign in on a page of this server",
    }[reason];
    super(`Cannot ${WHAT_FAILS[capability] ?? `use ${capability}`}: ${problem}; ${wayOut}`);
  }
}

const WHAT_FAILS: Record<string, string> = {
  "elicitation": "ask the person",
  "elicitation.url": "send the person to a web page",
  "sampling": "ask the model",
  "sampling.tools": "offer tools to the model",
  "roots": "list the client's roots",
};

/** No page can be opened for this call. Catch this error to continue without a page. */
export class PageError extends ToolError {
  override readonly name = "PageError";
  override readonly code = "PARLEY_PAGE";
  constructor(problem: string, wayOut: string) {
    super(`Cannot open a page: ${problem}; ${wayOut}`);
  }
}

/** A branch was opened deeper than the tool's `maxDepth`. */
export class McpToolDepthError extends ToolError {
  override readonly name = "McpToolDepthError";
  override readonly code = "PARLEY_DEPTH";
  constructor(readonly depth: number, readonly maxDepth: number) {
    super(
      `Cannot open a branch at depth ${depth}: the limit is ${maxDepth}; flatten the branches or raise maxDepth`,
    );
  }
}

/** The tool has used up its `maxTokens`. */
export class McpToolTokenError extends ToolError {
  override readonly name = "McpToolTokenError";
  override readonly code = "PARLEY_TOKENS";
  constructor(readonly used: number, readonly maxTokens: number) {
    super(
      `Cannot ask the model again: ${used} of ${maxTokens} tokens are used; raise maxTokens or ask for less`,
    );
  }
}

/** A tool or a branch ran longer than its `timeout`. */
export class McpToolTimeoutError extends ToolError {
  override readonly name = "McpToolTimeoutError";
  override readonly code = "PARLEY_TIMEOUT";
  constructor(readonly what: string, readonly timeout: number) {
    super(
      `Cannot finish ${what}: it ran longer than its timeout of ${timeout} ms; try again, or raise the timeout`,
    );
  }
}

/** The answers to a question stayed invalid after all retries, or the client failed to ask it. */
export class ElicitationError extends ToolError {
  override readonly name = "ElicitationError";
  override readonly code = "PARLEY_ELICITATION";
  constructor(readonly key: string, problem: string, wayOut: string) {
    super(`Cannot use the answer to "${key}": ${problem}; ${wayOut}`);
  }
}

/** A sampling request could not be built, or the client failed to answer it. */
export class SampleError extends ToolError {
  override readonly name = "SampleError";
  override readonly code = "PARLEY_SAMPLE";
}

/** No answer of the model was valid, after all retries. */
export class SampleValidationError extends ToolError {
  override readonly name = "SampleValidationError";
  override readonly code = "PARLEY_SAMPLE_VALIDATION";
  constructor(
    readonly method: "sampleSchema" | "sampleTools",
    readonly attempts: number,
    readonly problem: string,
    readonly lastResult: {
      readonly text: string;
      readonly model?: string;
      readonly stopReason?: string;
    },
  ) {
    super(
      `Cannot use the model's answer: after ${attempts} attempts it is still not valid: ${problem}; ask for less, or use another model`,
    );
  }
}

/** The session has expired, was cancelled, or never existed. */
export class SessionGoneError extends ParleyError {
  override readonly name = "SessionGoneError";
  readonly code = "PARLEY_SESSION_GONE";
  constructor(readonly sessionId: string) {
    super(`Cannot find session "${sessionId}": it has ended or expired; call the tool again`);
  }
}

/** The session is being halted, so the tool can only clean up. */
export class SessionHaltedError extends ParleyError {
  override readonly name = "SessionHaltedError";
  readonly code = "PARLEY_SESSION_HALTED";
  constructor(readonly sessionId: string, verb: string) {
    super(
      `Cannot ${verb} in session "${sessionId}": it is being halted; release its resources and return`,
    );
  }
}

/** A stored session cannot resume at present. Its record stays unchanged. */
export abstract class SessionNotContinuedError extends ProtocolError {
  constructor(message: string) {
    super(INTERNAL_ERROR, message);
  }
}

/** An answer in this session is sealed with a key that the server does not have. */
export class SessionSealedError extends SessionNotContinuedError {
  override readonly name = "SessionSealedError";
  override readonly code = "PARLEY_SESSION_SEALED";
  constructor(readonly sessionId: string, readonly toolName: string) {
    super(
      `Cannot continue the call of "${toolName}": an answer in session "${sessionId}" is sealed with a key that this server does not have; ask the operator to add that key to the server, then try again`,
    );
  }
}

/** The server crashed each time it ran this session, so it no longer runs the session. */
export class SessionSetAsideError extends SessionNotContinuedError {
  override readonly name = "SessionSetAsideError";
  override readonly code = "PARLEY_SESSION_SET_ASIDE";
  constructor(readonly sessionId: string, readonly toolName: string) {
    super(
      `Cannot continue the call of "${toolName}": the server crashed each time it continued this call, so the call is set aside; call the tool again, or ask the operator to revive session "${sessionId}"`,
    );
  }
}

/** An operator cannot do this with a call. `reason` says why, for programs. */
export class CallActionError extends ParleyError {
  override readonly name = "CallActionError";
  readonly code = "PARLEY_CALL_ACTION";
  constructor(
    readonly sessionId: string,
    verb: string,
    /**
     * There is no such call, its question is not open, an operator may not do this, the answer is
     * not valid, or this server cannot do it.
     */
    readonly reason: "not_found" | "not_open" | "not_allowed" | "invalid" | "not_here",
    problem: string,
    next: string,
  ) {
    super(`Cannot ${verb} the call "${sessionId}": ${problem}; ${next}`);
  }
}

/** The number of live sessions, or the bytes that they use, has reached a limit of the registry. */
export class SessionLimitError extends ParleyError {
  override readonly name = "SessionLimitError";
  readonly code = "PARLEY_SESSION_LIMIT";
  constructor(
    readonly limit: number,
    problem = `${limit} calls are running or waiting, which is the limit`,
    verb = "start another call",
  ) {
    super(`Cannot ${verb}: ${problem}; answer or cancel a call, or try again later`);
  }
}

/** A reader asked for events that the log no longer keeps. */
export class EventsGoneError extends ParleyError {
  override readonly name = "EventsGoneError";
  readonly code = "PARLEY_EVENTS_GONE";
  constructor(readonly sessionId: string, readonly afterLSN: number, readonly firstLSN: number) {
    super(
      `Cannot read session "${sessionId}" after event ${afterLSN}: the log now starts at event ${firstLSN}; read from there`,
    );
  }
}

/** A write conflicts with the store: the session has another owner, or its record is gone. */
export class StoreConflictError extends ParleyError {
  override readonly name = "StoreConflictError";
  readonly code = "PARLEY_STORE_CONFLICT";
  /** `missing` is true if the session is not in the store, and false if it has another owner. */
  constructor(readonly sessionId: string, problem: string, readonly missing = false) {
    super(
      `Cannot append to session "${sessionId}": ${problem}; stop this run, ${
        missing ? "its record is gone" : "another owner has taken it over"
      }`,
    );
  }
}

/** A store cannot be opened or written. */
export class StoreError extends ParleyError {
  override readonly name = "StoreError";
  readonly code = "PARLEY_STORE";
  constructor(problem: string, options?: { cause?: unknown }) {
    super(problem, options);
  }
}

/**
 * The registry does not start calls, because it is closed, or because the server that uses it is
 * closing.
 */
export class RegistryClosedError extends ParleyError {
  override readonly name = "RegistryClosedError";
  readonly code = "PARLEY_CLOSED";
  constructor(
    message = "Cannot start a call: the server is shutting down; try again after its restart",
  ) {
    super(message);
  }
}
