/** The modern era over HTTP: every request is a POST of its own. */
import type { RpcError } from "../../events.ts";
import {
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  readMessage,
  type RpcId,
} from "../../protocol/json-rpc.ts";
import { mismatch } from "../../protocol/modern/headers.ts";
import { readMeta } from "../../protocol/modern/meta.ts";
import { MODERN_VERSION } from "../../protocol/versions.ts";
import type { ServerCore } from "../core.ts";
import { EventStream, type Feed } from "../event-stream.ts";
import { accepted, busy, EVENT_STREAM_HEADERS, json, refuse } from "../responses.ts";
import {
  HEADER_MISMATCH,
  MISSING_CAPABILITY,
  type ModernReceived,
  type ModernReceiver,
  UNSUPPORTED_VERSION,
} from "./receive.ts";
import type { RunFeed } from "./run-feed.ts";
import type { Subscription } from "./subscription.ts";

export class ModernHttp {
  readonly #core: ServerCore;
  readonly #receiver: ModernReceiver;
  readonly #subscriptions = new Set<Subscription>();

  constructor(core: ServerCore, receiver: ModernReceiver) {
    this.#core = core;
    this.#receiver = receiver;
  }

  async post(request: Request, body: unknown, principal: string): Promise<Response> {
    const message = readMessage(body);
    if (message.type === "notification") return accepted();
    if (message.type !== "request") {
      const problem = message.type === "invalid" ? message.problem : "this era has no answers";
      return refuse(400, `Cannot read the message: ${problem}`, message.id);
    }
    const { headers } = request;
    const meta = readMeta(message.params);
    if ("problem" in meta) {
      const error = { code: INVALID_PARAMS, message: `Cannot take the request: ${meta.problem}` };
      return refuse(400, error, message.id);
    }
    const problem = this.#wrongHeaders(headers, meta.version, message.method, message.params);
    if (problem) return refuse(400, problem, message.id);
    const received = this.#receiver.receive(message, { meta, principal, headers });
    return await this.#respond(request, message.id, received);
  }

  /** Ends all subscriptions in good order. */
  endSubscriptions(): void {
    for (const subscription of [...this.#subscriptions]) subscription.end();
  }

  #wrongHeaders(
    headers: Headers,
    version: string,
    method: string,
    params: Parameters<typeof mismatch>[2],
  ): RpcError | undefined {
    const said = headers.get("mcp-protocol-version");
    if (said !== version) {
      const what = said === null ? "is missing" : `says "${said}", the body "${version}"`;
      return {
        code: HEADER_MISMATCH,
        message: `Cannot take the request: the MCP-Protocol-Version header ${what}`,
      };
    }
    if (version !== MODERN_VERSION) {
      return {
        code: UNSUPPORTED_VERSION,
        message: `Cannot serve protocol version "${version}": it is not supported here`,
        data: { supported: [MODERN_VERSION], requested: version },
      };
    }
    const problem = mismatch(headers, method, params);
    return problem
      ? { code: HEADER_MISMATCH, message: `Cannot take the request: ${problem}` }
      : undefined;
  }

  async #respond(request: Request, id: RpcId, received: ModernReceived): Promise<Response> {
    switch (received.type) {
      case "reply":
        return received.error
          ? refuse(statusOf(received.error), received.error, id)
          : json(received.text);
      case "later":
        return json(await received.text);
      case "busy":
        return busy(503, received.problem, id);
      case "run":
        return await this.#respondToRun(request, id, received.feed);
      case "listen":
        return this.#respondToListen(id, received.subscription);
    }
  }

  /** An answer that is there soon, and stands alone, goes out as it is; everything else is a stream. */
  async #respondToRun(request: Request, id: RpcId, feed: RunFeed): Promise<Response> {
    // The signal is touched only where there is time for it: on some runtimes that costs.
    if (!feed.standing && feed.session.log.lastLSN === 0 && await this.#leftSoon(request, feed)) {
      feed.release();
      return refuse(499, "Cannot answer: the client has gone", id);
    }
    const notifications = feed.notifications();
    if (feed.standing && notifications.length === 0) {
      const text = feed.response();
      if (feed.standing === "ended" && feed.session.keepUntil === 0) {
        this.#core.registry.forget(feed.session);
      }
      return json(text);
    }
    return this.#stream(feed, notifications, () => feed.release()) ??
      this.#tooMany(id, () => feed.release());
  }

  /** Waits until the run has something to say, but not for long. True if the client has left. */
  #leftSoon({ signal }: Request, feed: RunFeed): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = () => {
        deadline.cancel();
        unwatch();
        signal.removeEventListener("abort", settle);
        resolve(signal.aborted && !feed.standing);
      };
      const deadline = this.#core.deadlines.add(this.#core.limits.decideTime, settle);
      const unwatch = feed.watch(settle);
      signal.addEventListener("abort", settle);
    });
  }

  #respondToListen(id: RpcId, subscription: Subscription): Response {
    const close = () => {
      this.#subscriptions.delete(subscription);
      subscription.stop();
    };
    this.#subscriptions.add(subscription);
    return this.#stream(subscription, subscription.take(), close, (stream) => {
      subscription.connection = stream;
    }) ?? this.#tooMany(id, close);
  }

  #stream(
    feed: Feed,
    first: readonly string[],
    closed: () => void,
    opened?: (stream: EventStream) => void,
  ): Response | undefined {
    const core = this.#core;
    if (core.closing || core.streams >= core.limits.maxStreams) return undefined;
    core.streams++;
    const text = first.length > 0
      ? first.map((m) => `event: message\ndata: ${m}\n\n`).join("")
      : ": \n\n";
    const stream = new EventStream(feed, text, core.deadlines, core.limits, () => {
      core.streams--;
      closed();
    });
    opened?.(stream);
    return new Response(stream.body, { headers: EVENT_STREAM_HEADERS });
  }

  #tooMany(id: RpcId, closed: () => void): Response {
    closed();
    return busy(503, "Cannot open a stream: the server has as many as it can; try again later", id);
  }
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
