/** JSON-RPC 2.0 as MCP uses it: envelopes in, envelopes out. */
import { isObject } from "../lib/json.ts";
import type { JsonObject } from "../model/content.ts";
import type { RpcError, TraceContext } from "../model/events.ts";
import { LONGEST_ID, LONGEST_TRACE } from "./lengths.ts";

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

/** An answer to a request of ours. */
export type RpcAnswer =
  & { readonly type: "answer"; readonly id: RpcId }
  & ({ readonly result: JsonObject } | { readonly error: RpcError });

/** Something that is no JSON-RPC message. `id` is there if the sender may wait for it. */
export interface RpcInvalid {
  readonly type: "invalid";
  readonly id: RpcId | undefined;
  readonly problem: string;
}

export type RpcMessage = RpcRequest | RpcNotification | RpcAnswer | RpcInvalid;

const NO_PARAMS: JsonObject = Object.freeze({});

/** Reads one message out of parsed JSON. */
export function readMessage(value: unknown): RpcMessage {
  if (!isObject(value)) return invalid(undefined, "a message is a JSON object");
  const { id, method } = value;
  // Without a method it is an answer, and its id one of ours: nobody waits for that.
  const knownId = isId(id) && method !== undefined ? id : undefined;
  if (value.jsonrpc !== "2.0") return invalid(knownId, 'it must say "jsonrpc": "2.0"');
  if (method === undefined) return readAnswer(value);
  if (typeof method !== "string") return invalid(knownId, "its method must be a string");
  const { params = NO_PARAMS } = value;
  if (!isObject(params)) return invalid(knownId, "its params must be an object");
  if (!("id" in value)) return { type: "notification", method, params };
  if (knownId === undefined) {
    const long = typeof id === "string" && `its id is longer than ${LONGEST_ID} characters`;
    return invalid(undefined, long || "its id must be a string or an integer");
  }
  return { type: "request", id: knownId, method, params };
}

function readAnswer({ id, result, error }: JsonObject): RpcMessage {
  if (!isId(id)) return invalid(undefined, "it has neither a method nor a usable id");
  if ((result === undefined) === (error === undefined)) {
    return invalid(undefined, "an answer has either a result or an error");
  }
  if (error !== undefined) {
    if (!isObject(error) || typeof error.code !== "number" || typeof error.message !== "string") {
      return invalid(undefined, "an error has a code and a message");
    }
    return { type: "answer", id, error: error as unknown as RpcError };
  }
  if (!isObject(result)) return invalid(undefined, "a result is an object");
  return { type: "answer", id, result };
}

function invalid(id: RpcId | undefined, problem: string): RpcInvalid {
  return { type: "invalid", id, problem };
}

/** Whatever a result has by that name, it is no failure. */
export function withoutError(result: JsonObject): JsonObject {
  if (!("error" in result)) return result;
  const { error: _error, ...rest } = result;
  return rest;
}

/** A number that is not safe has been rounded, and nobody would know it again. */
function isId(value: unknown): value is RpcId {
  return typeof value === "string" ? value.length <= LONGEST_ID : Number.isSafeInteger(value);
}

// Messages are written as text at once: each is sent exactly once, and nobody
// needs the object in between.

export function resultText(id: RpcId, result: unknown): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(result)}}`;
}

/** A result whose JSON is at hand already. */
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

/** A request whose parameters are JSON already. */
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
  return typeof value === "string" && value.length <= LONGEST_TRACE;
}
