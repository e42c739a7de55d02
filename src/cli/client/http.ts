/** One POST and everything that comes back on it. */
import { type Operation, until, useAbortSignal } from "effection";
import type { JsonObject } from "../../content.ts";
import type { RpcError } from "../../events.ts";
import { isObject, readMessage, type RpcMessage } from "../../protocol/json-rpc.ts";
import { messageOf, Problem } from "../problem.ts";
import { EventReader, type ServerSentEvent } from "./sse.ts";

export type HeaderLines = { readonly [name: string]: string };

/** A server, and what it is told with every request. */
export interface Endpoint {
  readonly url: string;
  readonly headers: HeaderLines;
}

/** What came back. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The next message, in whichever form it comes; nothing when there are no more. */
  next(): Operation<Incoming | undefined>;
}

export interface Incoming {
  readonly message: RpcMessage | undefined;
  readonly event?: ServerSentEvent;
}

const ACCEPT = "application/json, text/event-stream";

/** Sends one message. The connection is closed when the surrounding scope ends. */
export function* send(
  { url, headers }: Endpoint,
  method: "POST" | "GET" | "DELETE",
  extra: HeaderLines,
  message?: JsonObject,
): Operation<Reply> {
  const signal = yield* useAbortSignal();
  let response: Response;
  try {
    response = yield* until(fetch(url, {
      method,
      headers: {
        accept: method === "GET" ? "text/event-stream" : ACCEPT,
        ...(message && { "content-type": "application/json" }),
        ...headers,
        ...extra,
      },
      ...(message && { body: JSON.stringify(message) }),
      signal,
    }));
  } catch (error) {
    throw new Problem(`Cannot reach ${url}: ${reasonOf(error)}; is the server running?`);
  }
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  return {
    status: response.status,
    headers: response.headers,
    next: isStream && response.body ? streamed(response.body) : whole(response),
  };
}

/** Runtimes hide what happened behind "fetch failed". */
function reasonOf(error: unknown): string {
  const { cause, code } = error as { cause?: unknown; code?: string };
  if (code === "ConnectionRefused") return "nobody listens there";
  const text = messageOf(cause ?? error);
  return /ECONNREFUSED|Connection refused/.test(text) ? "nobody listens there" : text;
}

function whole(response: Response): () => Operation<Incoming | undefined> {
  let taken = false;
  return function* () {
    if (taken) return undefined;
    taken = true;
    const text = yield* until(response.text());
    return text.trim() === "" ? undefined : { message: parsed(text) };
  };
}

function streamed(body: ReadableStream<Uint8Array>): () => Operation<Incoming | undefined> {
  const reader = body.getReader();
  const events = new EventReader();
  const waiting: ServerSentEvent[] = [];
  return function* () {
    while (waiting.length === 0) {
      const { done, value } = yield* until(reader.read());
      if (done) return undefined;
      waiting.push(...events.read(value));
    }
    const event = waiting.shift()!;
    return { event, message: event.data === "" ? undefined : parsed(event.data) };
  };
}

/** Nothing, if it is no JSON-RPC: a web page in the way, perhaps. */
function parsed(text: string): RpcMessage | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // An error that answers nothing in particular has no id, or null for one.
    if (isObject(value) && value.id == null && isObject(value.error)) {
      return readMessage({ ...value, id: "" });
    }
    const message = readMessage(value);
    return message.type === "invalid" ? undefined : message;
  } catch {
    return undefined;
  }
}

/** A server's refusal. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  constructor(readonly status: number, readonly error: RpcError | undefined) {
    super(error?.message ?? `the server answered with HTTP status ${status}`);
  }
}
