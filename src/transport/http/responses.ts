/** Plain responses, most of them refusals. */
import { SessionLimitError } from "../../model/errors.ts";
import type { RpcError } from "../../model/events.ts";
import { INVALID_REQUEST, SERVER_BUSY, SESSION_NOT_FOUND } from "../../model/rpc-codes.ts";
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

export const ANSWER_NOT_STORED = "Cannot take the answer: it could not be stored; send it again";

/** Accepts what may be acknowledged only once it is on record. */
export async function acceptedOnce(recorded: Promise<boolean>): Promise<Response> {
  return await recorded ? accepted() : busy(503, ANSWER_NOT_STORED);
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

/** Refuses for now where that is for want of room. */
export function busyWithoutRoom(error: unknown): Response {
  if (error instanceof SessionLimitError) return busy(503, error.message);
  throw error;
}

/** Refuses for now. */
export function busy(status: 429 | 503, message: string, id?: RpcId): Response {
  return refuse(status, { code: SERVER_BUSY, message }, id, { "retry-after": "5" });
}

/** Refuses what belongs to a client session that is not there. */
export function sessionGone(): Response {
  return refuse(404, {
    code: SESSION_NOT_FOUND,
    message: "Cannot find the session: it has ended or expired; send initialize again",
  });
}
