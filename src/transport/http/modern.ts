/** The modern era over HTTP: every request is a POST of its own. */
import type { JsonObject } from "../../model/content.ts";
import type { RpcError } from "../../model/events.ts";
import {
  HEADER_MISMATCH,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  UNSUPPORTED_VERSION,
} from "../../model/rpc-codes.ts";
import type { ServerCore } from "../../server/core.ts";
import type { Feed } from "../../server/feed.ts";
import type { Subscription } from "../../server/modern/notification-stream.ts";
import type { ModernReceived, ModernReceiver } from "../../server/modern/receive.ts";
import type { RunFeed } from "../../server/modern/stream.ts";
import { isRun } from "../../server/run-target.ts";
import { readMessage, type RpcId, type RpcRequest } from "../../wire/json-rpc.ts";
import { mismatch } from "../../wire/modern/headers.ts";
import { claimedVersion, readMeta, type RequestMeta } from "../../wire/modern/meta.ts";
import { frame } from "../../wire/sse.ts";
import { MODERN_VERSION } from "../../wire/versions.ts";
import { EventStream } from "./event-stream.ts";
import { accepted, EVENT_STREAM_HEADERS, json, refuse } from "./responses.ts";

/** Something at once: some runtimes send the headers with it. */
const OPENING = ":\n\n";

export class ModernHttp {
  readonly #core: ServerCore;
  readonly #receiver: ModernReceiver;
  readonly #subscriptions = new Set<Subscription>();

  constructor(core: ServerCore, receiver: ModernReceiver) {
    this.#core = core;
    this.#receiver = receiver;
  }

  /** Waits only where there is something to wait for: most calls are answered at once. */
  post(request: Request, body: unknown, principal: string): Response | Promise<Response> {
    const message = readMessage(body);
    switch (message.type) {
      case "notification":
        return accepted();
      case "answer":
        return refuse(
          400,
          "Cannot read the message: it answers a request, and there are none here; send the answer in inputResponses",
        );
      case "invalid":
        return refuse(
          400,
          `Cannot read the message: ${message.problem}; send JSON-RPC 2.0`,
          message.id,
        );
    }
    const { headers } = request;
    const meta = checkedMeta(headers, message);
    if ("code" in meta) return refuse(400, meta, message.id);
    // Before it runs: a call that is refused must not have done anything.
    const refusal = isRun(message.method) ? this.#core.refusesStream(principal) : undefined;
    if (refusal !== undefined) return busy(refusal, message.id);
    const asking = { meta, principal, headers };
    const receive = () => this.#receiver.receive(message, asking);
    const takenUp = this.#receiver.takeUp(message, asking);
    if (!takenUp) return this.#respond(request, message.id, receive());
    return takenUp.then((answered) => this.#respond(request, message.id, answered ?? receive()));
  }

  /** Ends all subscriptions in good order. */
  endSubscriptions(): void {
    for (const subscription of [...this.#subscriptions]) subscription.end();
  }

  #respond(
    request: Request,
    id: RpcId,
    received: ModernReceived,
  ): Response | Promise<Response> {
    switch (received.type) {
      case "reply":
        return received.error
          ? refuse(statusOf(received.error), received.error, id)
          : json(received.text);
      case "later":
        return respondLater(request, received);
      case "busy":
        return busy(received.problem, id);
      case "run":
        return this.#respondToRun(request, id, received.feed);
      case "listen":
        return this.#respondToListen(id, received.subscription);
    }
  }

  /** An answer that is there soon, and stands alone, goes out as it is; everything else is a stream. */
  #respondToRun(request: Request, id: RpcId, feed: RunFeed): Response | Promise<Response> {
    const news = feed.notifications();
    if (feed.standing || news.length > 0) return this.#respondNow(id, feed, news);
    // The signal is touched only where there is time for it: on some runtimes that costs.
    return this.#leftSoon(request, feed, news).then((left) => {
      if (!left) return this.#respondNow(id, feed, news);
      feed.release();
      return clientGone(id);
    });
  }

  #respondNow(id: RpcId, feed: RunFeed, news: string[]): Response {
    if (feed.standing && news.length === 0) {
      const { text, error, status } = feed.respond();
      return error ? refuse(status ?? statusOf(error), error, id) : json(text);
    }
    const release = () => feed.release();
    return this.#stream(id, feed, feed.session.principal, news, release);
  }

  /** Waits until the run has something to say, but not for long. True if the client has left. */
  #leftSoon({ signal }: Request, feed: RunFeed, news: string[]): Promise<boolean> {
    const { deadlines, limits } = this.#core;
    if (signal.aborted) return Promise.resolve(true);
    return new Promise((resolve) => {
      const settle = () => {
        deadline.cancel();
        unwatch();
        signal.removeEventListener("abort", settle);
        resolve(signal.aborted && !feed.standing);
      };
      const deadline = deadlines.add(limits.streamAfter, settle);
      const unwatch = feed.watch(() => {
        news.push(...feed.notifications());
        if (feed.standing || news.length > 0) settle();
      });
      signal.addEventListener("abort", settle);
    });
  }

  #respondToListen(id: RpcId, subscription: Subscription): Response {
    const close = () => {
      this.#subscriptions.delete(subscription);
      subscription.stop();
    };
    this.#subscriptions.add(subscription);
    const { principal } = subscription;
    return this.#stream(id, subscription, principal, subscription.take(), close, (stream) => {
      subscription.connection = stream;
    });
  }

  #stream(
    id: RpcId,
    feed: Feed,
    principal: string,
    first: readonly string[],
    closed: () => void,
    opened?: (stream: EventStream) => void,
  ): Response {
    const core = this.#core;
    const refusal = core.refusesStream(principal);
    if (refusal !== undefined) {
      closed();
      return busy(refusal, id);
    }
    core.streams.take(principal);
    const text = first.map((message) => frame(message)).join("") || OPENING;
    const stream = new EventStream(feed, text, core.deadlines, core.limits, () => {
      core.streams.give(principal);
      closed();
    });
    opened?.(stream);
    return new Response(stream.body, { headers: EVENT_STREAM_HEADERS });
  }
}

/** What the request says about itself, or why it cannot be taken. */
function checkedMeta(
  headers: Headers,
  { method, params }: RpcRequest,
): RequestMeta | RpcError {
  // First of all the revision: what else a request must say depends on it.
  const version = claimedVersion(params);
  const wrong = version === undefined ? undefined : wrongVersion(headers, version);
  if (wrong) return wrong;
  const meta = readMeta(params);
  if ("problem" in meta) {
    return {
      code: INVALID_PARAMS,
      message: `Cannot take the request: ${meta.problem}; ${meta.wayOut ?? "send it along"}`,
    };
  }
  return wrongHeaders(headers, method, params) ?? meta;
}

function wrongVersion(headers: Headers, version: string): RpcError | undefined {
  const said = headers.get("mcp-protocol-version");
  if (said !== version) {
    const what = said === null ? "is missing" : `says "${said}", the body "${version}"`;
    return {
      code: HEADER_MISMATCH,
      message:
        `Cannot take the request: the MCP-Protocol-Version header ${what}; let both say the same`,
    };
  }
  return version === MODERN_VERSION ? undefined : {
    code: UNSUPPORTED_VERSION,
    message:
      `Cannot serve protocol version "${version}": it is not supported here; take one of those in the data`,
    data: { supported: [MODERN_VERSION], requested: version },
  };
}

function wrongHeaders(headers: Headers, method: string, params: JsonObject): RpcError | undefined {
  const problem = mismatch(headers, method, params);
  return problem
    ? {
      code: HEADER_MISMATCH,
      message: `Cannot take the request: ${problem}; let header and body say the same`,
    }
    : undefined;
}

/** Waits for an answer; a client that leaves meanwhile has cancelled its request. */
async function respondLater(
  { signal }: Request,
  { text, leave }: Extract<ModernReceived, { type: "later" }>,
): Promise<Response> {
  signal.addEventListener("abort", leave);
  if (signal.aborted) leave();
  try {
    return json(await text);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

/** The legacy era sends SERVER_BUSY. This revision reserves the codes of that range. */
function busy(message: string, id: RpcId): Response {
  return refuse(503, { code: INTERNAL_ERROR, message }, id, { "retry-after": "5" });
}

/** Nobody reads it; some status there must be. */
function clientGone(id: RpcId): Response {
  return refuse(499, "Cannot answer: the client has gone; send the request again", id);
}

function statusOf({ code }: RpcError): number {
  switch (code) {
    case METHOD_NOT_FOUND:
      return 404;
    case HEADER_MISMATCH:
    case MISSING_CAPABILITY:
    case UNSUPPORTED_VERSION:
      return 400;
    default:
      return 200;
  }
}
