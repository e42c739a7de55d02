/**
 * Turns a reply into a response of Streamable HTTP.
 *
 * RESPOND-1  The format is decided late. A single message that is ready soon is sent as plain JSON.
 *            The first event, or `streamAfter` milliseconds, makes the response a stream.
 * RESPOND-2  A client that has too many streams is refused before another stream starts.
 */
import type { RpcError } from "../../model/events.ts";
import { INVALID_REQUEST, SERVER_BUSY } from "../../model/rpc-codes.ts";
import type { ServerCore } from "../../server/core.ts";
import {
  ANSWER_NOT_STORED,
  type Later,
  type Refused,
  type Reply,
  type ReplyStream,
  RETRY_LATER,
  SESSION_HEADER,
  type Value,
} from "../../server/reply.ts";
import { errorText, type RpcId } from "../../wire/json-rpc.ts";
import { frame, KEEP_ALIVE, primingFrame } from "../../wire/sse.ts";
import { EventStream } from "./event-stream.ts";

/** A comment that opens a stream, because some runtimes send the headers with the first bytes. */
const OPENING = ":\n\n";

/** Turns the replies of one server into responses. */
export class Responder {
  readonly #core: ServerCore;

  constructor(core: ServerCore) {
    this.#core = core;
  }

  /** Turns a reply into a response. Returns a promise only if the response must wait. */
  respond(request: Request, reply: Reply): Response | Promise<Response> {
    switch (reply.type) {
      case "value":
        return respondWithValue(reply);
      case "stream":
        return this.#respondWithStream(request, reply.stream);
      case "later":
        return this.#respondLater(request, reply);
      case "accepted":
        return reply.recorded ? acceptedOnce(reply.recorded) : accepted();
      case "refused":
        return respondWithRefusal(reply);
    }
  }

  /** Waits for the reply. If the reply has `leave`, it is called when the client disconnects. */
  async #respondLater(request: Request, later: Later): Promise<Response> {
    const leave = later.leave?.bind(later);
    // Access the signal only if it is needed: on some runtimes the access is slow.
    if (leave) {
      request.signal.addEventListener("abort", leave);
      if (request.signal.aborted) leave();
    }
    try {
      await later.ready;
    } finally {
      if (leave) request.signal.removeEventListener("abort", leave);
    }
    return await this.respond(request, later.reply());
  }

  #respondWithStream(request: Request, stream: ReplyStream): Response | Promise<Response> {
    const whole = stream.whole();
    if (whole) return this.respond(request, whole);
    if (stream.decided) return this.#open(stream);
    return this.#decide(request, stream).then((left) => {
      const reply = left ?? stream.whole();
      return reply ? this.respond(request, reply) : this.#open(stream);
    });
  }

  /** RESPOND-1: waits for the decision. Returns a refusal if the client disconnects before that. */
  #decide(request: Request, stream: ReplyStream): Promise<Refused | undefined> {
    const { deadlines, limits } = this.#core;
    const signal = stream.leave ? request.signal : undefined;
    if (signal?.aborted) return Promise.resolve(stream.leave!());
    return new Promise((resolve) => {
      const settle = () => {
        deadline.cancel();
        unwatch();
        signal?.removeEventListener("abort", settle);
        resolve(signal?.aborted ? stream.leave!() : undefined);
      };
      const deadline = deadlines.add(limits.streamAfter, settle);
      const unwatch = stream.watch(() => {
        if (stream.decided) settle();
      });
      signal?.addEventListener("abort", settle);
    });
  }

  #open(stream: ReplyStream): Response | Promise<Response> {
    const prepared = stream.prepare?.();
    if (!prepared) return this.#openNow(stream);
    return prepared.then((refusal) =>
      refusal ? respondWithRefusal(refusal) : this.#openNow(stream)
    );
  }

  #openNow(reply: ReplyStream): Response {
    const core = this.#core;
    const { principal } = reply;
    // RESPOND-2
    const problem = core.refusesStream(principal);
    if (problem !== undefined) return respondWithRefusal(reply.refuse(problem));
    core.streams.take(principal);
    const open = reply.open();
    const first = open.first.map((message) => frame(message)).join("");
    const stream: EventStream = new EventStream(
      open.feed,
      open.priming ? this.#priming(open.priming.eventId) + first : first || OPENING,
      core.deadlines,
      core.limits,
      () => {
        core.streams.give(principal);
        open.closed(stream);
      },
    );
    const response = new Response(stream.body, EVENT_STREAM);
    open.connected(stream);
    return response;
  }

  #priming(eventId: string | undefined): string {
    return eventId === undefined
      ? KEEP_ALIVE
      : primingFrame(eventId, this.#core.limits.reconnectDelay);
  }
}

function respondWithValue({ text, batch, clientSession }: Value): Response {
  if (batch) return respondWithBatch(batch);
  return clientSession === undefined
    ? new Response(text, JSON_RESPONSE)
    : new Response(text, { headers: { ...JSON_HEADERS, [SESSION_HEADER]: clientSession } });
}

function respondWithBatch(texts: readonly string[]): Response {
  if (texts.length === 0) return new Response(KEEP_ALIVE, EVENT_STREAM);
  let length = 0;
  for (const text of texts) length += text.length;
  const body = length <= CHUNK ? `[${texts.join(",")}]` : jsonArray(texts);
  return new Response(body, JSON_RESPONSE);
}

/**
 * The minimum number of characters in a chunk. Smaller chunks are slower, and larger chunks are not
 * faster. A longer batch is streamed, although Deno takes half as long again for that: the runtime
 * keeps a whole response in memory until its client reads it, and a batch of 6 KB can ask for
 * megabytes.
 */
const CHUNK = 65_536;

/** Streams texts as one JSON array, which is built while the reader consumes it. */
function jsonArray(texts: readonly string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      let chunk = "";
      while (next < texts.length && chunk.length < CHUNK) {
        chunk += (next === 0 ? "[" : ",") + texts[next++]!;
      }
      const isLast = next === texts.length;
      controller.enqueue(encoder.encode(isLast ? `${chunk}]` : chunk));
      if (isLast) controller.close();
    },
  }, { highWaterMark: 0 });
}

const JSON_HEADERS = { "content-type": "application/json" };

/** The options of a response with these headers. They are created once, and copied each time. */
function withHeaders(headers: Record<string, string>): ResponseInit {
  // On Bun, which has `toJSON`, copying a `Headers` object is twice as fast as reading a record.
  // On Deno, a record is faster.
  return { headers: "toJSON" in Headers.prototype ? new Headers(headers) : headers };
}

const JSON_RESPONSE = withHeaders(JSON_HEADERS);

/** The options of a response that is a stream of events. */
export const EVENT_STREAM = withHeaders({
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
});

export function accepted(): Response {
  return new Response(null, { status: 202 });
}

/** Acknowledges a message after it is stored. */
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

/** Refuses a message because a limit is reached. The client may retry later. */
export function busy(message: string): Response {
  return refuse(503, { code: SERVER_BUSY, message }, undefined, RETRY_LATER);
}

export function respondWithRefusal({ status, error, id, headers }: Refused): Response {
  return refuse(status, error, id, headers);
}
