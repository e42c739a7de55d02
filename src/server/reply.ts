/**
 * The replies that both eras give to every transport.
 *
 *     transport → Era.receive(message, caller): Reply → transport
 *
 * A reply says what to send, not how. HTTP statuses and headers are part of it because the
 * revisions define them; a transport that has none ignores them.
 */
import { ProtocolError, RegistryClosedError, SessionLimitError } from "../model/errors.ts";
import type { RpcError } from "../model/events.ts";
import { INTERNAL_ERROR } from "../model/rpc-codes.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import { errorText, type RpcId, type RpcMessage } from "../wire/json-rpc.ts";
import type { ServerCore } from "./core.ts";
import type { Feed, FeedConnection } from "./feed.ts";

/** `Stream` is the type of a reply of several messages. Default: a stream with its own connection. */
export type Reply<Stream = ReplyStream> =
  | Accepted
  | Refused
  | Value
  | Later<Stream>
  | StreamReply<Stream>;

/** A reply for a channel that all replies to a client share. */
export type ChannelReply = Reply<SharedStream>;

/** The message was accepted and has no response. */
export interface Accepted {
  readonly type: "accepted";
  /** If present, acknowledge the message only after this resolves to true: the message is stored. */
  readonly recorded?: Promise<boolean>;
}

/** The message was refused. */
export interface Refused {
  readonly type: "refused";
  /** Undefined for a message that is not a request. */
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
  /** To be called once after `ready`, unless the client has cancelled the request. */
  reply(): Reply<Stream>;
  /** The client has disconnected or cancelled the request. */
  leave?(): void;
}

export interface StreamReply<Stream = ReplyStream> {
  readonly type: "stream";
  readonly stream: Stream;
}

/** A reply of several messages, or of one that is not ready yet. */
export interface ReplyStream {
  readonly principal: string;
  /** The whole reply, if it is a single message and that is ready. This ends the stream. */
  whole(): Value | Refused | undefined;
  /** Whether anything can be sent already. */
  readonly decided: boolean;
  /** Calls `wake` when `decided` may have changed. */
  watchDecision(wake: () => void): () => void;
  /**
   * Called when the client disconnects before the reply is decided. Returns the refusal, or
   * undefined if the stream continues. Absent if the call outlives its connection.
   */
  leave?(): Refused | undefined;
  /** Prepares the stream before `open`. Resolves to a refusal if the preparation fails. */
  prepare?(): Promise<Refused | undefined> | undefined;
  /** Ends the stream because there is no room for it. */
  refuse(problem: string): Refused;
  /** Opens the stream on its own connection. */
  open(): OpenStream;
}

export interface OpenStream {
  readonly feed: Feed;
  /** Messages that go out before those of the feed. */
  readonly first: readonly string[];
  /** The stream begins with an event of no content that has this id, or with a comment. */
  readonly priming?: { readonly eventId: string | undefined };
  connected(connection: FeedConnection): void;
  closed(connection: FeedConnection): void;
}

/** A reply of several messages on a channel that all replies to a client share. */
export interface SharedStream {
  readonly feed: Feed;
  /** The request id, if the transport must remove the feed when the client cancels the request. */
  readonly id?: RpcId;
  /** The run that the messages come from. */
  readonly session?: LiveToolSession;
  /** Milliseconds of silence after which the feed is asked for a heartbeat. */
  readonly heartbeatAfter?: number | undefined;
  /** The channel no longer reads the feed. */
  release(): void;
}

/** Who sends a message, and how the reply travels. */
export interface Caller {
  readonly principal: string;
  /** Absent on transports without headers. */
  readonly headers?: Headers;
  /** True if each reply has its own connection; false if all replies share a channel. */
  readonly ownStream: boolean;
  /** On a channel: the requests that the client can cancel by their ids. */
  readonly underWay?: ReadonlyMap<RpcId, unknown>;
}

/** One era of the protocol. Each era is a folder. */
export interface Era {
  /** Replies to any message. Never throws. */
  receive(message: RpcMessage, caller: Caller): Reply;
  receiveBatch(items: readonly unknown[], caller: Caller): Reply;
  /** The server takes no new calls. */
  drain(): void;
  /** The server shuts down: waiting clients get a response now. */
  stop(): void;
  /** All calls have ended. */
  close(reason: string): void;
}

/** An era whose clients keep a session, so that they can resume streams and end it. */
export interface SessionEra extends Era {
  /** GET: resumes a stream, or opens the one for notifications. */
  resume(caller: Caller): Reply;
  /** DELETE: ends the client session. */
  end(caller: Caller): Reply;
}

export const ACCEPTED: Accepted = { type: "accepted" };
/** The error message if `recorded` resolves to false. */
export const ANSWER_NOT_STORED = "Cannot take the answer: it could not be stored; send it again";
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

/** How an era puts errors on the wire. */
export interface ErrorRules {
  /** For requests that there is no room for. */
  readonly busyCode: number;
  /** HTTP statuses by error code. An error without one is an ordinary response. */
  readonly statuses: { readonly [code: number]: number | undefined };
}

/** The reply to a request whose handling threw. */
export function failed(core: ServerCore, id: RpcId, error: unknown, rules: ErrorRules) {
  if (error instanceof SessionLimitError || error instanceof RegistryClosedError) {
    return busy(id, error.message, rules);
  }
  return errorReply(id, rpcErrorOf(core, error), rules);
}

/** Refuses a request because there is no room for it now. */
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

/** The JSON-RPC error for something thrown. Only errors meant for the client show their message. */
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
    message: "Cannot answer: the server failed; its log has the details",
  };
}
