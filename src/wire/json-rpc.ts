/** JSON-RPC 2.0 as MCP uses it: reads messages from parsed JSON, and writes messages as text. */
import { isObject } from "../lib/json.ts";
import type { JsonObject } from "../model/content.ts";
import type { RpcError, TraceContext } from "../model/events.ts";
import { MAX_ID_LENGTH, MAX_TRACE_LENGTH } from "./lengths.ts";

export type RpcId = string | number;

export interface RpcRequest {
  readonly type: "request";
  readonly id: RpcId;
  readonly method: string;
  readonly params: JsonObject;
}

export interface RpcNotification {
  readonly type: "notification";
  readonly method: string;
  readonly params: JsonObject;
}

/** A client's answer to a request of the server. */
export type RpcAnswer =
  & { readonly type: "answer"; readonly id: RpcId }
  & ({ readonly result: JsonObject } | { readonly error: RpcError });

/**
 * A value that is not a valid JSON-RPC message. `id` is set if the sender may wait for a
 * response.
 */
export interface RpcInvalid {
  readonly type: "invalid";
  readonly id: RpcId | undefined;
  readonly problem: string;
}

export type RpcMessage = RpcRequest | RpcNotification | RpcAnswer | RpcInvalid;

const NO_PARAMS: JsonObject = Object.freeze({});

/** Reads one message from parsed JSON. */
export function readMessage(value: unknown): RpcMessage {
  if (!isObject(value)) return invalid(undefined, "it must be a JSON object");
  const { id, method } = value;
  // A message without a method is an answer to a request of the server. Its sender expects no
  // response.
  const knownId = isId(id) && method !== undefined ? id : undefined;
  if (value.jsonrpc !== "2.0") return invalid(knownId, 'it must have "jsonrpc": "2.0"');
  if (method === undefined) return readAnswer(value);
  if (typeof method !== "string") return invalid(knownId, "its method must be a string");
  const { params = NO_PARAMS } = value;
  if (!isObject(params)) return invalid(knownId, "its params must be an object");
  if (!("id" in value)) return { type: "notification", method, params };
  if (knownId === undefined) {
    const long = typeof id === "string" && `its id is longer than ${MAX_ID_LENGTH} characters`;
    return invalid(undefined, long || "its id must be a string or an integer");
  }
  return { type: "request", id: knownId, method, params };
}

function readAnswer({ id, result, error }: JsonObject): RpcMessage {
  if (!isId(id)) return invalid(undefined, "it has neither a method nor a valid id");
  if ((result === undefined) === (error === undefined)) {
    return invalid(undefined, "an answer must have either a result or an error");
  }
  if (error !== undefined) {
    if (!isObject(error) || typeof error.code !== "number" || typeof error.message !== "string") {
      return invalid(undefined, "an error must have a code and a message");
    }
    return { type: "answer", id, error: error as unknown as RpcError };
  }
  if (!isObject(result)) return invalid(undefined, "its result must be an object");
  return { type: "answer", id, result };
}

function invalid(id: RpcId | undefined, problem: string): RpcInvalid {
  return { type: "invalid", id, problem };
}

/**
 * Removes a field named `error` from a result. With that field, the result would look like a
 * failure.
 */
export function withoutError(result: JsonObject): JsonObject {
  if (!("error" in result)) return result;
  const { error: _error, ...rest } = result;
  return rest;
}

/**
 * True if a value can be the id of a request. Unsafe integers cannot: parsing has rounded them, so
 * the client would not recognise its id.
 */
function isId(value: unknown): value is RpcId {
  return typeof value === "string" ? value.length <= MAX_ID_LENGTH : Number.isSafeInteger(value);
}

// The functions below write messages directly as text, which is faster than building objects first.

export function resultText(id: RpcId, result: unknown): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(result)}}`;
}

/** Writes a response whose result is already JSON text. */
export function rawResultText(id: RpcId, json: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${json}}`;
}

export function errorText(id: RpcId | undefined, error: RpcError): string {
  const { code, message, data } = error;
  return JSON.stringify({
    jsonrpc: "2.0",
    ...(id !== undefined && { id }),
    error: { code, message, ...(data !== undefined && { data }) },
  });
}

export function notificationText(method: string, params?: JsonObject): string {
  return JSON.stringify({ jsonrpc: "2.0", method, ...(params && { params }) });
}

export function requestText(id: RpcId, method: string, params?: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) });
}

/** Writes a request whose parameters are already JSON text. */
export function rawRequestText(id: RpcId, method: string, params: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"${method}","params":${params}}`;
}

const NO_TRACE: TraceContext = {};

export function traceIn({ traceparent, tracestate, baggage }: JsonObject): TraceContext {
  if (traceparent === undefined && tracestate === undefined && baggage === undefined) {
    return NO_TRACE;
  }
  return {
    ...(isTrace(traceparent) && { traceparent }),
    ...(isTrace(tracestate) && { tracestate }),
    ...(isTrace(baggage) && { baggage }),
  };
}

function isTrace(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TRACE_LENGTH;
}
