/** Plain responses, most of them refusals. */
import type { RpcError } from "../../model/events.ts";
import { INVALID_REQUEST, SERVER_BUSY } from "../../model/rpc-codes.ts";
import { ANSWER_NOT_STORED, type Refused, RETRY_LATER } from "../../server/reply.ts";
import { errorText, type RpcId } from "../../wire/json-rpc.ts";

const JSON_HEADERS = { "content-type": "application/json" };

export const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Nearly every response is one of these, so what they share is made once. */
export const JSON_RESPONSE: ResponseInit = { headers: JSON_HEADERS };

export function json(text: string, headers?: Record<string, string>): Response {
  return new Response(text, headers ? { headers } : JSON_RESPONSE);
}

export function accepted(): Response {
  return new Response(null, { status: 202 });
}

/** Acknowledges a message once it is stored. */
export async function acceptedOnce(recorded: Promise<boolean>): Promise<Response> {
  return await recorded ? accepted() : busy(ANSWER_NOT_STORED);
}

/** Refuses a request with a JSON-RPC error in the body. */
export function refuse(
  status: number,
  error: RpcError | string,
  id?: RpcId,
  headers: Record<string, string> = {},
): Response {
  const body = typeof error === "string" ? { code: INVALID_REQUEST, message: error } : error;
  return new Response(errorText(id, body), { status, headers: { ...JSON_HEADERS, ...headers } });
}

/** Refuses a message for now, because there is no room for it. */
export function busy(message: string): Response {
  return refuse(503, { code: SERVER_BUSY, message }, undefined, RETRY_LATER);
}

export function respondWithRefusal({ status, error, id, headers }: Refused): Response {
  return refuse(status, error, id, headers);
}
