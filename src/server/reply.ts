/**
 * The replies that both eras return to transports.
 *
 *     transport → Era.receive(message, caller): Reply → transport
 *
 * A reply says what to send, not how. It includes HTTP statuses and headers, because the revisions
 * define them. Transports other than HTTP ignore them.
 */
import { ProtocolError, RegistryClosedError, SessionLimitError } from "../model/errors.ts";
import type { RpcError } from "../model/events.ts";
import type { Principal } from "../model/principal.ts";
import { INTERNAL_ERROR } from "../model/rpc-codes.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { Definition } from "../tool/types.ts";
import { errorText, type RpcId, type RpcMessage } from "../wire/json-rpc.ts";
import { type CheckedCaller, InsufficientScopeError } from "./access.ts";
import type { ServerCore } from "./core.ts";
import type { Feed, FeedConnection } from "./feed.ts";
import type { RequestHeaders } from "../wire/request-headers.ts";

/** `Stream` is the type of a reply with several messages. Default: one with its own connection. */
export type Reply<Stream = ReplyStream> =
  | Accepted
  | Refused
  | Value
  | Later<Stream>
  | StreamReply<Stream>;

/** A reply for a channel on which all replies to a client are sent. */
export type ChannelReply = Reply<SharedStream>;

/** The message was accepted and has no response. */
export interface Accepted {
  readonly type: "accepted";
  /**
   * Resolves to true when the message is stored. If present, the message must not be acknowledged
   * earlier.
   */
  readonly recorded?: Promise<boolean>;
}

/** The message was refused. */
export interface Refused {
  readonly type: "refused";
  /** The request id. Undefined for a message that is not a request. */
  readonly id: RpcId | undefined;
  readonly error: RpcError;
  readonly status: number;
  readonly headers?: Record<string, string>;
}

/** One JSON-RPC response. */
export interface Value {
  readonly type: "value";
  readonly text: string;
  /** The responses to a batch, instead of `text`. Empty if no message needs a response. */
  readonly batch?: readonly string[];
  /** The id of the client session that `initialize` has opened. */
  readonly clientSession?: string;
}

/** A reply that is not known yet. */
export interface Later<Stream = ReplyStream> {
  readonly type: "later";
  /** The request id, if the transport must call `leave` when the client cancels the request. */
  readonly id?: RpcId;
  /** True if the message is accepted and can be acknowledged before its response is ready. */
  readonly taken?: boolean;
  readonly ready: Promise<unknown>;
  /** Returns the reply. Call this once after `ready`, unless the client has cancelled the request. */
  reply(): Reply<Stream>;
  /** Call this when the client has disconnected or cancelled the request. */
  leave?(): void;
}

export interface StreamReply<Stream = ReplyStream> {
  readonly type: "stream";
  readonly stream: Stream;
}

/** A reply with several messages, or with one message that is not ready yet. */
export interface ReplyStream {
  readonly principal: string;
  /** The whole reply, if it is a single message that is ready. Reading it ends the stream. */
  whole(): Value | Refused | undefined;
  /** True if a message is ready, so that the format of the reply can be decided. */
  readonly decided: boolean;
  /** Calls `wake` when `decided` may have changed. */
  watch(wake: () => void): () => void;
  /**
   * Called when the client disconnects before the reply is decided. Returns a refusal, or undefined
   * if the stream continues. Absent if the call continues without its connection.
   */
  leave?(): Refused | undefined;
  /** Prepares the stream before `open`. Resolves to a refusal if the preparation fails. */
  prepare?(): Promise<Refused | undefined> | undefined;
  /** Ends the stream because a limit is reached. */
  refuse(problem: string): Refused;
  /** Opens the stream on its own connection. */
  open(): OpenStream;
}

export interface OpenStream {
  readonly feed: Feed;
  /** Messages to send before those of the feed. */
  readonly first: readonly string[];
  /** If present, the stream begins with an empty event with this id, or with a comment. */
  readonly priming?: { readonly eventId: string | undefined };
  connected(connection: FeedConnection): void;
  closed(connection: FeedConnection): void;
}

/** A reply with several messages, on a channel on which all replies to a client are sent. */
export interface SharedStream extends Feed {
  /** The request id, if the transport must remove the feed when the client cancels the request. */
  readonly id?: RpcId;
  /** The run that the messages come from. */
  readonly session?: LiveToolSession;
  /** Milliseconds without messages after which the transport asks the feed for a heartbeat. */
  readonly heartbeatAfter?: number | undefined;
  /** Called when the channel no longer reads the feed. */
  release(): void;
}

/** The sender of a message, and how the reply is sent. */
export interface Caller {
  /** The id of the caller. */
  readonly principal: string;
  /** The caller. Undefined if the server does not check its callers. */
  readonly who?: Principal | undefined;
  /** Absent on transports without headers. */
  readonly headers?: RequestHeaders;
  /** True if each reply has its own connection; false if all replies share a channel. */
  readonly ownStream: boolean;
  /** The running requests of a channel, by id. The client can cancel them. */
  readonly underWay?: ReadonlyMap<RpcId, unknown>;
}

/** One era of the protocol. Each era has its own folder. */
export interface Era {
  /** Returns the reply to a message. Never throws. */
  receive(message: RpcMessage, caller: Caller): Reply;
  receiveBatch(items: readonly unknown[], caller: Caller): Reply;
  /** Called when the server starts to refuse new calls. */
  drain(): void;
  /** Called when the server shuts down. Clients that wait get a response now. */
  stop(): void;
  /** Called when all calls have ended. */
  close(reason: string): void;
}

/** An era with client sessions. Clients can resume their streams, and end their session. */
export interface SessionEra extends Era {
  /** GET: resumes a stream, or opens the stream for notifications. */
  resume(caller: Caller): Reply;
  /** DELETE: ends the client session. */
  end(caller: Caller): Reply;
}

export const ACCEPTED: Accepted = { type: "accepted" };
/** The error message if `recorded` resolves to false. */
export const ANSWER_NOT_STORED = "Cannot accept the answer: it could not be stored; send it again";
/** The HTTP header that names a client session. */
export const SESSION_HEADER = "mcp-session-id";
export const RETRY_LATER = { "retry-after": "5" };

export function value(text: string): Value {
  return { type: "value", text };
}

export function refused(
  status: number,
  code: number,
  message: string,
  id?: RpcId,
  headers?: Record<string, string>,
): Refused {
  return { type: "refused", id, error: { code, message }, status, ...(headers && { headers }) };
}

/** A reply that depends on a promise. */
export function later<T, Stream = ReplyStream>(
  promise: Promise<T>,
  reply: (value: T) => Reply<Stream>,
  options: Pick<Later, "id" | "leave" | "taken"> = {},
): Later<Stream> {
  let result: T;
  return {
    type: "later",
    ...options,
    ready: promise.then((value) => void (result = value)),
    reply: () => reply(result),
  };
}

/** The JSON-RPC response in a reply. */
export function textOf(reply: Value | Refused): string {
  return reply.type === "value" ? reply.text : errorText(reply.id, reply.error);
}

/** The error codes and HTTP statuses of an era. */
export interface ErrorRules {
  /** The error code for requests that are refused because a limit is reached. */
  readonly busyCode: number;
  /** HTTP statuses by error code. Errors without an entry are sent with status 200. */
  readonly statuses: { readonly [code: number]: number | undefined };
}

/** The reply to a request whose handling threw. */
export function failed(core: ServerCore, id: RpcId, error: unknown, rules: ErrorRules) {
  if (error instanceof SessionLimitError || error instanceof RegistryClosedError) {
    return busy(id, error.message, rules);
  }
  if (error instanceof InsufficientScopeError) return forbidden(error, id);
  return errorReply(id, rpcErrorOf(core, error), rules);
}

/** The refusal for a caller that lacks a scope of a call's tool (ACCESS-1). */
export function refusalOf(
  { access }: ServerCore,
  tool: Definition,
  caller: CheckedCaller,
): Refused | undefined {
  try {
    access.check(tool, caller);
    return undefined;
  } catch (error) {
    if (error instanceof InsufficientScopeError) return forbidden(error);
    throw error;
  }
}

/** Refuses a request because its caller lacks a scope. */
export function forbidden(error: InsufficientScopeError, id?: RpcId): Refused {
  const { rpcCode, message, challenge } = error;
  return refused(403, rpcCode, message, id, { "www-authenticate": challenge });
}

/** Refuses a request because a limit is reached. The client may retry later. */
export function busy(
  id: RpcId | undefined,
  problem: string,
  { busyCode }: ErrorRules,
  status = 503,
): Refused {
  return refused(status, busyCode, problem, id, RETRY_LATER);
}

export function errorReply(id: RpcId, error: RpcError, { statuses }: ErrorRules): Value | Refused {
  const status = statuses[error.code];
  return status === undefined
    ? value(errorText(id, error))
    : { type: "refused", id, error, status };
}

/** The JSON-RPC error for a thrown error. Only errors meant for clients show their message. */
export function rpcErrorOf(core: ServerCore, error: unknown): RpcError {
  if (error instanceof ProtocolError) {
    const { rpcCode: code, message, data } = error;
    return { code, message, ...(data !== undefined && { data }) };
  }
  if (error instanceof RegistryClosedError) {
    return { code: INTERNAL_ERROR, message: error.message };
  }
  core.registry.report({
    what: "a request failed",
    toolName: "-",
    // Never log the client session's id: a reader of the log could impersonate the client.
    sessionId: "-",
    error,
  });
  return {
    code: INTERNAL_ERROR,
    message: "Cannot answer: an internal error occurred; see the server's log",
  };
}
