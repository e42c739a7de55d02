/** Sends one HTTP request and reads the messages of its response. */
import { type Operation, until, useAbortSignal } from "effection";
import { isObject } from "../lib/json.ts";
import { messageOf } from "../lib/message-of.ts";
import type { JsonObject } from "../model/content.ts";
import type { RpcError } from "../model/events.ts";
import { readMessage, type RpcMessage } from "../wire/json-rpc.ts";
import { ClientError } from "./client-error.ts";
import { isRedirect, MAX_REDIRECTS, nextAddress, tooMany } from "./redirect.ts";
import { EventReader, type ServerSentEvent } from "./sse.ts";

export type HeaderLines = { readonly [name: string]: string };

/** A server's URL, and the headers that are sent with every request. */
export interface Endpoint {
  readonly url: string;
  readonly headers: HeaderLines;
  readonly authorization?: Authorization | undefined;
  /** Called with each message that is sent and received, as JSON. Default: nothing. */
  readonly trace?: ((line: TraceLine) => void) | undefined;
}

/** A message on the wire. */
export interface TraceLine {
  readonly from: "client" | "server";
  readonly text: string;
}

export type Refused = Pick<Response, "status" | "headers">;

/** Signs in to a server that requires it. */
export interface Authorization {
  /** The `Authorization` header to send. Undefined before the first sign-in. */
  readonly header: string | undefined;
  /**
   * The headers that prove, for one request, that this program has the key of its token. Empty if
   * the token is not bound to a key.
   */
  proof(method: string, url: URL): Operation<HeaderLines>;
  /**
   * Called with each response. Returns true if the request should be sent again, with the new
   * header. `used` is the header that was sent.
   */
  retry(response: Refused, used: string | undefined): Operation<boolean>;
}

/** The response to one request. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The URL that answered, if redirects led to another origin. */
  readonly redirectedTo: string | undefined;
  /** Reads the next message, from JSON or from an SSE stream. Undefined if there are no more. */
  next(): Operation<Incoming | undefined>;
}

export interface Incoming {
  readonly message: RpcMessage | undefined;
  /** The message as it was sent. */
  readonly text: string;
  readonly event?: ServerSentEvent;
}

const ACCEPT = "application/json, text/event-stream";

/** Headers with session ids and tokens. They are sent only to the server that they are for. */
const NOT_ELSEWHERE = ["mcp-session-id", "last-event-id"];

/** Requests of these methods may be sent again, because they change nothing. */
const REPEATABLE = ["server/discover", "initialize", "tools/list"];

/**
 * Sends one message and follows redirects. The person's headers, tokens and session headers are
 * never sent to another origin. The connection is closed when the surrounding scope ends.
 */
export function* send(
  endpoint: Endpoint,
  method: "POST" | "GET" | "DELETE",
  extra: HeaderLines,
  message?: JsonObject,
): Operation<Reply> {
  const { authorization } = endpoint;
  for (;;) {
    const used = authorization?.header;
    const { response, redirectedTo } = yield* exchange(endpoint, method, extra, message);
    const again = authorization && redirectedTo === undefined &&
      (yield* authorization.retry(response, used));
    if (!again) return traced(replyOf(response, redirectedTo), endpoint.trace);
    yield* until(Promise.resolve(response.body?.cancel()));
  }
}

function* exchange(
  { url, headers, authorization, trace }: Endpoint,
  method: string,
  extra: HeaderLines,
  message: JsonObject | undefined,
): Operation<{ response: Response; redirectedTo: string | undefined }> {
  const signal = yield* useAbortSignal();
  const common = {
    accept: method === "GET" ? "text/event-stream" : ACCEPT,
    ...(message && { "content-type": "application/json" }),
  };
  const body = message && { body: JSON.stringify(message) };
  if (body) trace?.({ from: "client", text: body.body });
  const { origin } = new URL(url);
  let at = new URL(url);
  let all: HeaderLines = { ...common, ...headers, ...extra };
  let isElsewhere = false;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    // OAUTH-1: another origin gets no tokens.
    const token = isElsewhere ? {} : yield* tokenFor(authorization, method, at);
    const isRepeatable = REPEATABLE.includes(String(message?.method));
    const request = {
      method,
      headers: { ...all, ...token },
      ...body,
      // Use a new connection for a call: the server may be about to close an idle one, and a call
      // must not be sent twice. Deno ignores this.
      ...(method === "POST" && !isRepeatable && { keepalive: false }),
      signal,
      redirect: "manual",
    } as const;
    const response = yield* fetched(at, request, isRepeatable);
    if (!isRedirect(response.status)) {
      return { response, redirectedTo: at.origin === origin ? undefined : at.href };
    }
    yield* until(Promise.resolve(response.body?.cancel()));
    const next = nextAddress(at, method, response.status, response.headers.get("location"));
    if (next.origin !== at.origin) {
      isElsewhere = true;
      all = { ...common, ...without(NOT_ELSEWHERE, extra) };
    }
    at = next;
  }
  throw tooMany(url);
}

function* tokenFor(
  authorization: Authorization | undefined,
  method: string,
  url: URL,
): Operation<HeaderLines> {
  const header = authorization?.header;
  if (header === undefined) return {};
  return { authorization: header, ...(yield* authorization!.proof(method, url)) };
}

function* fetched(url: URL, request: RequestInit, isRepeatable: boolean): Operation<Response> {
  try {
    return yield* until(fetch(url, request));
  } catch (error) {
    const reason = reasonOf(error);
    // Try once more: the server may have closed an idle connection just when it was used again.
    if (isRepeatable && reason !== REFUSED) return yield* fetched(url, request, false);
    throw new ClientError(`Cannot reach ${url}: ${reason}; check that the server is running`);
  }
}

function replyOf(response: Response, redirectedTo: string | undefined): Reply {
  const { status, headers, body } = response;
  const isStream = headers.get("content-type")?.startsWith("text/event-stream");
  return {
    status,
    headers,
    redirectedTo,
    next: isStream && body ? streamed(body) : whole(response),
  };
}

function traced(reply: Reply, trace: Endpoint["trace"]): Reply {
  if (!trace) return reply;
  return {
    ...reply,
    *next() {
      const incoming = yield* reply.next();
      if (incoming?.message) trace({ from: "server", text: incoming.text });
      return incoming;
    },
  };
}

function without(names: readonly string[], lines: HeaderLines): HeaderLines {
  return Object.fromEntries(Object.entries(lines).filter(([name]) => !names.includes(name)));
}

const REFUSED = "nothing listens there";

/** The cause of a failed fetch. Runtimes hide it behind "fetch failed". */
function reasonOf(error: unknown): string {
  const { cause, code } = error as { cause?: unknown; code?: string };
  if (code === "ConnectionRefused") return REFUSED;
  const text = messageOf(cause ?? error);
  return /ECONNREFUSED|Connection refused/.test(text) ? REFUSED : text;
}

function whole(response: Response): () => Operation<Incoming | undefined> {
  let taken = false;
  return function* () {
    if (taken) return undefined;
    taken = true;
    const text = yield* until(response.text());
    return text.trim() === "" ? undefined : { message: parsed(text), text };
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
    const { data: text } = event;
    return { event, text, message: text === "" ? undefined : parsed(text) };
  };
}

/** Parses a message. Undefined if the text is not JSON-RPC, such as a web page from a proxy. */
function parsed(text: string): RpcMessage | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // An error that belongs to no request has no id, or the id null.
    if (isObject(value) && value.id == null && isObject(value.error)) {
      return readMessage({ ...value, id: "" });
    }
    const message = readMessage(value);
    return message.type === "invalid" ? undefined : message;
  } catch {
    return undefined;
  }
}

/** The server refused a request, by a JSON-RPC error or an HTTP status. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  /** The URL that answered, if redirects led to another origin. */
  readonly redirectedTo: string | undefined;

  constructor(
    { status, redirectedTo }: Pick<Reply, "status"> & Partial<Reply>,
    readonly error?: RpcError,
  ) {
    super(error?.message ?? `the server answered with HTTP status ${status}`);
    this.status = status;
    this.redirectedTo = redirectedTo;
  }
}
