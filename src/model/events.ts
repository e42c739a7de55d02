/**
 * The events of a tool session's log. Every other view of a call (a stream, a resumption, a task,
 * a replay) is derived from these events.
 */
import type {
  ContentBlock,
  JsonObject,
  McpMessage,
  MessageContent,
  ResourceContents,
} from "./content.ts";

/** The status of a tool session. The last three are final. */
export type ToolSessionStatus =
  | "initializing"
  | "running"
  | "awaiting_elicit"
  | "awaiting_sample"
  | "completed"
  | "failed"
  | "cancelled";

/** The levels of log messages in MCP. They are the severities of syslog. */
export type LogLevel =
  | "debug"
  | "info"
  | "notice"
  | "warning"
  | "error"
  | "critical"
  | "alert"
  | "emergency";

/**
 * The result of a tool call, as clients receive it. `TStructured` is the type of
 * `structuredContent`.
 */
export interface ToolResult<TStructured = JsonObject> {
  content: ContentBlock[];
  structuredContent?: TStructured;
  isError?: boolean;
  _meta?: JsonObject;
}

/** The result of getting a prompt. */
export interface PromptResult {
  description?: string;
  messages: PromptMessage[];
  _meta?: JsonObject;
}

/** A message of a prompt. */
export interface PromptMessage {
  role: "user" | "assistant";
  content: ContentBlock;
}

/** The result of reading a resource. */
export interface ResourceResult {
  contents: ResourceContents[];
  _meta?: JsonObject;
}

/** The result of a run. Tools, prompts and resources run in the same way. */
export type CallResult = ToolResult | PromptResult | ResourceResult;

/** A JSON-RPC error object. */
export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

/** The client's description of itself. */
export interface ClientInfo {
  readonly name?: string;
  readonly version?: string;
  readonly protocolVersion?: string;
  readonly capabilities: ClientCapabilities;
}

/** The caller's position in a distributed trace (W3C Trace Context). */
export interface TraceContext {
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

/** The client capabilities that decide what a tool may ask. */
export interface ClientCapabilities {
  elicitation?: { form?: JsonObject; url?: JsonObject };
  sampling?: { tools?: JsonObject; context?: JsonObject };
  roots?: { listChanged?: boolean };
  extensions?: { [name: string]: JsonObject };
  [other: string]: unknown;
}

/** Preferences for the model that answers a sampling request. */
export interface ModelPreferences {
  hints?: { name?: string }[];
  costPriority?: number;
  speedPriority?: number;
  intelligencePriority?: number;
}

/** The parameters of an elicitation with a form. */
export interface ElicitFormParams {
  mode: "form";
  message: string;
  requestedSchema: JsonObject;
}

/** The parameters of an elicitation with a page that the person visits. */
export interface ElicitUrlParams {
  mode: "url";
  message: string;
  url: string;
  elicitationId: string;
}

/** The parameters of `sampling/createMessage`. */
export interface SampleParams {
  messages: McpMessage[];
  maxTokens: number;
  systemPrompt?: string;
  temperature?: number;
  stopSequences?: string[];
  modelPreferences?: ModelPreferences;
  tools?: { name: string; description?: string; inputSchema: JsonObject }[];
  toolChoice?: { mode: "auto" | "required" | "none" };
}

/**
 * Identifies a question or a recorded fact within a run: the path of its branch, its kind, its key,
 * and how many of the same kind and key the branch had before it. The place is the same in a
 * replay.
 */
export interface Place {
  readonly branch: string;
  readonly kind:
    | "elicit"
    | "elicit_url"
    | "sample"
    | "roots"
    | "step"
    | "phase"
    | "sleep"
    | "value";
  readonly key: string;
  readonly count: number;
}

/** The properties that all questions of a session have in common. */
export interface ToolSessionRequestBase {
  /** The unique id of the request. It is the same in every replay. */
  readonly id: string;
  /** The name of the request for a stateless client. Never reused within a run. */
  readonly name: string;
  readonly place: Place;
  /** The time at which the tool stops waiting for the answer, in milliseconds since the epoch. */
  readonly expiresAt?: number;
}

/**
 * A way for a question to reach a person: a form of the client, an app view in the client, a page
 * in a browser, or the model, which passes the question on.
 */
export type Door = "form" | "app" | "page" | "model";

/** All doors, in the order in which they are tried. */
export const DOORS: readonly Door[] = ["form", "app", "page", "model"];

/** How an answer of the person reached the tool. */
export type AnswerVia = Door | "terminal" | "operator";

/**
 * Who answered a sampling request: the client's model, the server's own, or the model that called
 * the tool.
 */
export type SampleVia = "client" | "server" | "caller";

/** A question to the person. */
export interface ElicitRequest extends ToolSessionRequestBase {
  readonly type: "elicit_request";
  readonly params: ElicitFormParams | ElicitUrlParams;
  /** The door at which the question is asked. Default: `form`. */
  readonly door?: Door;
  /** Present if the question was asked at another door before, at which nobody could answer. */
  readonly moved?: true;
  /** When the question was asked, in milliseconds since the epoch. Only in durable calls. */
  readonly askedAt?: number;
  /** Fields of the answer that must not be shown, or stored in plain text. */
  readonly sensitive?: readonly string[];
}

/** A question to a language model. */
export interface SampleRequest extends ToolSessionRequestBase {
  readonly type: "sample_request";
  readonly params: SampleParams;
  /** `caller`: the model that called the tool answers. Default: the client answers. */
  readonly by?: "caller";
}

/** A question about the client's roots. */
export interface RootsRequest extends ToolSessionRequestBase {
  readonly type: "roots_request";
}

/** An event that waits for an answer. */
export type ToolSessionRequest = ElicitRequest | SampleRequest | RootsRequest;

/** The person's answer, as the client sent it. */
export interface ElicitResponse {
  action: "accept" | "decline" | "cancel";
  content?: JsonObject;
}

/** The model's answer, as the client sent it. */
export interface SampleResponse {
  role: "user" | "assistant";
  content: string | MessageContent | MessageContent[];
  model: string;
  stopReason?: string;
  /** The number of tokens used, if the provider of the answer reports it. */
  usage?: { inputTokens?: number; outputTokens?: number };
}

/** A root that the client exposes. */
export interface Root {
  uri: string;
  name?: string;
}

/** The client's roots. */
export interface RootsResponse {
  roots: Root[];
}

/** The error of a client that could not answer a request. */
export interface RequestFailure {
  error: RpcError;
}

/** Any response of a client to a request. */
export type ClientAnswer = ElicitResponse | SampleResponse | RootsResponse | RequestFailure;

/** A change on the server, of which all clients are notified. It does not belong to a call. */
export type ServerChange =
  | { readonly type: "list_changed"; readonly list: "tools" | "prompts" | "resources" }
  | { readonly type: "resource_updated"; readonly uri: string };

/** Why a question was closed without an answer. */
export type WithdrawalReason = "timeout" | "halted";

/** The content of an event, before the log assigns its LSN. */
export type EventBody =
  | {
    readonly type: "progress";
    readonly progress: number;
    readonly total?: number;
    readonly message?: string;
    /** The branch that emitted the event. Absent for the tool itself. */
    readonly branch?: string;
  }
  | {
    readonly type: "log";
    readonly level: LogLevel;
    readonly data: unknown;
    readonly logger?: string;
    /** The branch that emitted the event. Absent for the tool itself. */
    readonly branch?: string;
  }
  | ToolSessionRequest
  | AnswerBody
  | BegunEvent
  | FactEvent
  | { readonly type: "withdrawn"; readonly requestId: string; readonly reason: WithdrawalReason }
  | { readonly type: "result"; readonly result: CallResult }
  | { readonly type: "error"; readonly error: RpcError }
  | { readonly type: "task_started" }
  | { readonly type: "elicit_complete"; readonly elicitationId: string }
  /**
   * The run is being halted, and must not be replayed. The final event follows after the cleanup.
   */
  | { readonly type: "cancelling"; readonly reason: string; readonly by: "caller" | "server" }
  | { readonly type: "cancelled"; readonly reason: string; readonly by: "caller" | "server" };

/** A step, a phase or a sleep has started. A `fact` at the same place records its outcome. */
export interface BegunEvent {
  readonly type: "begun";
  readonly place: Place;
  /** When a sleep ends, in milliseconds since the epoch. */
  readonly until?: number;
}

/**
 * A recorded outcome that a replay returns again: what a step or a phase returned or threw, the end
 * of a sleep, or a value such as a random number.
 */
export interface FactEvent {
  readonly type: "fact";
  readonly place: Place;
  readonly outcome:
    | { readonly ok: true; readonly value?: unknown }
    | {
      readonly ok: false;
      readonly error: {
        readonly name: string;
        readonly message: string;
        readonly rpcCode?: number;
        readonly data?: unknown;
      };
    };
}

/** A recorded answer. Sensitive fields are masked; `sealed` holds them for a replay. */
export interface AnswerBody {
  readonly type: "answer";
  readonly requestId: string;
  readonly response: ClientAnswer;
  readonly sealed?: string;
  /** How the answer reached the tool. */
  readonly via?: AnswerVia | SampleVia;
  /** The id of the person who signed in on a page to answer. */
  readonly by?: string;
  /** Milliseconds from the question to the answer. */
  readonly elapsed?: number;
  /** Present if the client answered without showing the question to a person. */
  readonly closed?: true;
}

/** An entry of a tool session's log. */
export type ToolSessionEvent = EventBody & { readonly lsn: number };

/** How a tool session ended: with a result, with an error for the client, or cancelled. */
export type ToolSessionOutcome<TResult = CallResult> =
  | { readonly status: "completed"; readonly result: TResult }
  | { readonly status: "failed"; readonly error: RpcError }
  | { readonly status: "cancelled"; readonly reason: string };

/** How the session treated an answer. Only an `accepted` answer reaches the tool. */
export type AnswerOutcome =
  /** The answer is recorded, and will be delivered to the tool. */
  | "accepted"
  /** The same answer had been accepted before. */
  | "repeated"
  /** Another answer had been accepted before; this one is ignored. */
  | "conflicting"
  /** The question is closed: it timed out, or the part of the tool that asked it has ended. */
  | "withdrawn"
  /** The session never asked a question with this id. */
  | "unknown"
  /** The session has ended. */
  | "ended";

/** Returns true for an event that ends a log. */
export function isFinal(event: EventBody): boolean {
  return event.type === "result" || event.type === "error" || event.type === "cancelled";
}
