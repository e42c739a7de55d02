/**
 * The HTTP handler: one `fetch` function for all routes. Every request gets a response: errors
 * never reject the promise, and responses never contain a stack trace.
 */
import { shapeProblem } from "../../lib/json-shape.ts";
import { SessionNotContinuedError } from "../../model/errors.ts";
import type { Principal } from "../../model/principal.ts";
import { INTERNAL_ERROR, PARSE_ERROR } from "../../model/rpc-codes.ts";
import type { Gate } from "../../server/access.ts";
import { type ConsoleSite, type CoreOptions, ServerCore } from "../../server/core.ts";
import type { ServerLimits } from "../../server/options.ts";
import { Eras } from "../../server/eras.ts";
import {
  HeaderLists,
  Proxies,
  type ProxyOptions,
  type ReadHeaders,
  readHeaders,
} from "../../server/forwarded.ts";
import {
  accepts,
  acceptsBoth,
  Guard,
  type GuardOptions,
  isLoopback,
  isType,
  pathOf,
} from "../../server/guard.ts";
import { gone, type HeldPage } from "../../server/pages.ts";
import { noticePage } from "../../server/html-page.ts";
import { type Caller, refusalOf, type SessionEra } from "../../server/reply.ts";
import { ServerCard } from "../../server/server-card.ts";
import { readMessage } from "../../wire/json-rpc.ts";
import type { Caching } from "../../wire/modern/encode.ts";
import { readBody, type Unread } from "./body.ts";
import { Callers, type FoundCaller } from "./callers.ts";
import { refuse, Responder, respondWithRefusal } from "./respond.ts";
import { LegacySse } from "./sse-2024.ts";

/** The options of a handler, including those that the platform adds. */
export interface HandlerOptions extends CoreOptions, ProxyOptions {}

/** The options of `close`. */
export interface CloseOptions {
  /**
   * Milliseconds that running calls have to finish. During that time, the server refuses new calls
   * and accepts answers to open questions. Default: 0.
   */
  readonly grace?: number;
}

/** An MCP server as a fetch handler: a function from a `Request` to a `Response`. */
export interface McpHandler {
  /**
   * Answers a request. Never throws. `connection` is the second argument that the runtime
   * passes to its handler (Deno's info, Bun's server). Only `trustProxy` needs `connection`.
   */
  fetch(request: Request, connection?: unknown): Promise<Response>;
  /** Ends all streams, halts all calls, and waits until all have cleaned up. */
  close(options?: CloseOptions): Promise<void>;
}

/** The header that closes a connection. Otherwise, the unread rest of the body keeps it open. */
const GO = { connection: "close" };

export class Handler implements McpHandler {
  readonly core: ServerCore;
  /** Handles the messages of both protocol eras, for all transports. */
  readonly eras: Eras;
  readonly #guard: Guard;
  readonly #path: string;
  readonly #callers: Callers;
  readonly #gate: Gate | undefined;
  readonly #console: ConsoleSite | undefined;
  readonly #responder: Responder;
  readonly #sse: LegacySse | undefined;
  readonly #proxies: Proxies;
  readonly #checksPeers: boolean;
  readonly #card: ServerCard;
  readonly #headerLists = new HeaderLists();
  readonly fetch: McpHandler["fetch"];

  constructor(options: HandlerOptions = {}) {
    this.#proxies = new Proxies(options);
    this.#checksPeers = !options.localOnly && options.peerOf !== undefined;
    // Declare the second argument only if it is needed: Deno creates it for each request if it is
    // declared.
    this.fetch = this.#proxies.trustsAny || this.#checksPeers
      ? this.#fetch.bind(this)
      : (request) => this.#fetch(request, undefined);
    this.core = new ServerCore(options);
    this.#guard = new Guard(withOwnAddress(options));
    this.#path = options.path ?? "/mcp";
    this.#card = new ServerCard(options, this.core.info, this.#path);
    const { limits, deadlines } = this.core;
    this.#callers = new Callers(options, limits.maxRequestsPerMinute, () => deadlines.now());
    this.#gate = options.gate;
    this.#console = options.consoleSite;
    // Without named callers, all clients get the same lists, so shared caches may store them.
    const cacheScope = this.#callers.areAnonymous ? "public" : "private";
    const caching: Caching = { ttlMs: this.core.limits.listTimeToLive, cacheScope };
    this.eras = new Eras(this.core, caching);
    this.#responder = new Responder(this.core);
    if (options.legacySse) this.#sse = new LegacySse(this.core);
  }

  /** The number of legacy client sessions in memory. */
  get clientSessions(): number {
    return this.eras.clientSessions + (this.#sse?.sessions.size ?? 0);
  }

  /** Handles a request. Not `async`, because each additional `await` slows down every request. */
  #fetch(request: Request, connection: unknown): Promise<Response> {
    try {
      const path = pathOf(request.url);
      if (path === "/healthz" || path === "/readyz") {
        return this.#probe(request, path === "/readyz").catch(this.#failed);
      }
      // Serve the documents for sign-in before the checks of host and origin, because they are
      // public.
      const own = this.#gate?.serve(request, path);
      if (own) return Promise.resolve(own).catch(this.#failed);
      const headers = readHeaders(request.headers, this.#headerLists);
      const { origin } = headers;
      const forwarding = headers.isForwarded ? this.#proxies.forwarding(request, connection) : null;
      // Pages of any origin may read the server card, under a host name that is allowed.
      const card = path === this.#path ? undefined : this.#card.serve(request, path);
      const refusal = this.#guard.refuses(request, headers, forwarding, card ? null : origin) ??
        (this.#checksPeers && connection !== undefined && !forwarding
          ? this.#guard.refusesPeer(request, headers, this.#proxies.peer(request, connection))
          : undefined);
      if (refusal) {
        return Promise.resolve(refuse(403, `Cannot serve the request: ${refusal}`));
      }
      if (card) return Promise.resolve(card);
      const isExposed = forwarding
        ? !forwarding.local
        : this.#guard.allowsOtherNames && this.#guard.isExposed(request, headers);
      if (isExposed) this.core.pages.proxied = true;
      // The console is for its own page alone: its responses get no CORS headers.
      if (this.#console?.handles(path)) {
        return this.#console.serve(request, path, !isExposed).catch(this.#failed);
      }
      const response = request.method === "OPTIONS"
        ? Promise.resolve(new Response(null, { status: 204 }))
        : this.#route(request, path, headers);
      return origin === null
        ? response
        : response.then((response) => allowOrigin(response, origin, request.headers))
          .catch(this.#failed);
    } catch (error) {
      return Promise.resolve(this.#failed(error));
    }
  }

  readonly #failed = (error: unknown): Response => {
    if (error instanceof SessionNotContinuedError) return refuse(409, error.message);
    this.core.registry.report({
      what: "a request failed",
      toolName: "-",
      sessionId: "-",
      error,
    });
    return refuse(500, {
      code: INTERNAL_ERROR,
      message: "Cannot serve the request: an internal error occurred; see the server's log",
    });
  };

  async close({ grace = 0 }: CloseOptions = {}): Promise<void> {
    if (grace > 0 && !this.core.closing) {
      this.core.draining = true;
      this.eras.drain();
      await this.core.registry.drain(grace);
    }
    this.core.closing = true;
    this.#gate?.close();
    await this.#console?.close();
    this.eras.stop();
    // Calls end before streams, so that open streams can still deliver the outcomes.
    const pages = this.core.pages.close();
    await this.core.endCalls();
    await pages;
    this.eras.close("the server is shutting down");
    this.#sse?.sessions.endAll("the server is shutting down");
  }

  /** Routes a request. Never rejects. Most requests are POSTs of messages and take the fast path. */
  #route(request: Request, path: string, headers: ReadHeaders): Promise<Response> {
    const short = path === this.#path && !this.#sse?.handles(path);
    if (!short || request.method !== "POST") {
      return this.#find(request, path, headers).catch(this.#failed);
    }
    const closed = this.#enter();
    if (closed) return Promise.resolve(closed);
    if (this.#callers.areAnonymous) return this.#post(request, headers, undefined, undefined);
    const who = this.#callers.of(request);
    return who instanceof Promise
      ? who.then((who) => this.#postFrom(request, headers, who)).catch(this.#failed)
      : this.#postFrom(request, headers, who);
  }

  #postFrom(
    request: Request,
    headers: ReadHeaders,
    who: FoundCaller,
  ): Promise<Response> {
    if (who instanceof Response) return Promise.resolve(who);
    return this.#post(request, headers, undefined, who);
  }

  async #find(request: Request, path: string, headers: ReadHeaders): Promise<Response> {
    const sse = this.#sse?.handles(path) ? this.#sse : undefined;
    if (path !== this.#path && !sse) {
      const signing = this.#gate?.serveBrowser(request, path);
      if (signing) return await signing;
      const pages = this.core.pages.at(path);
      if (pages.length > 0) return await this.#visit(request, pages);
      if (path.includes("/pages/")) return await this.#reopened(request, path);
      return refuse(404, `Cannot find "${path}": there is no such path; use ${this.#path} for MCP`);
    }
    const closed = this.#enter();
    if (closed) return closed;
    const who = await this.#callers.of(request);
    return who instanceof Response ? who : await this.#serve(request, path, headers, sse, who);
  }

  /** Opens the page of a call again, if the path belongs to such a page. */
  async #reopened(request: Request, path: string): Promise<Response> {
    if (!this.core.closing) await this.core.places.reopen(path);
    const pages = this.core.pages.at(path);
    return pages.length > 0 ? await this.#visit(request, pages) : gone();
  }

  /** Called for each MCP request over HTTP. Returns a refusal if the server is shutting down. */
  #enter(): Response | undefined {
    this.core.pages.exposed = true;
    if (!this.core.closing) return undefined;
    return refuse(
      503,
      "Cannot serve the request: the server is shutting down; try again after its restart",
    );
  }

  #serve(
    request: Request,
    path: string,
    headers: ReadHeaders,
    sse: LegacySse | undefined,
    who: Principal | undefined,
  ): Response | Promise<Response> {
    const session = this.eras.ofSession(headers);
    switch (request.method) {
      case "POST":
        return this.#post(request, headers, sse, who);
      case "GET":
        if (sse) return sse.get(path, idOf(who), who);
        if (session) return this.#resume(request, headers, session, who);
        break;
      case "DELETE":
        if (!sse && session) return this.#end(request, headers, session, who);
        break;
    }
    return refuse(
      405,
      `Cannot serve ${request.method} here: only POST is supported, or GET and DELETE with a session id; send messages with POST`,
      undefined,
      {
        allow: "POST, GET, DELETE, OPTIONS",
      },
    );
  }

  #resume(
    request: Request,
    headers: ReadHeaders,
    era: SessionEra,
    who: Principal | undefined,
  ): Response | Promise<Response> {
    if (!accepts(headers.accept, "text/event-stream")) {
      return refuse(
        406,
        "Cannot open a stream: the Accept header does not allow one; add text/event-stream",
      );
    }
    const reply = era.resume(callerOn(headers, who));
    return this.#responder.respond(request, reply);
  }

  async #end(
    request: Request,
    headers: ReadHeaders,
    era: SessionEra,
    who: Principal | undefined,
  ): Promise<Response> {
    const reply = era.end(callerOn(headers, who));
    const response = await this.#responder.respond(request, reply);
    return response.status === 202 ? new Response(null, { status: 204 }) : response;
  }

  /** Shows an open page to every visitor. Shows other pages only to their owner. */
  async #visit(request: Request, pages: readonly HeldPage[]): Promise<Response> {
    const open = pages.find((page) => page.open);
    if (open) return await this.core.pages.visit(open, request);
    const isForPerson = pages.some((page) => page.isForPerson);
    const visitor = await this.#callers.visitorOf(request, isForPerson);
    if (visitor instanceof Response) return visitor;
    const page = pages.find((page) => page.principal === idOf(visitor));
    if (page) {
      const refusal = visitor && await this.#lacksScope(request, page, visitor);
      return refusal ?? await this.core.pages.visit(page, request);
    }
    if (visitor) {
      const reason = "the page belongs to another caller";
      this.#gate?.refused({ reason, status: 403, principal: visitor.id, isOutage: false });
    }
    return (visitor && this.#gate?.refuseVisitor(request, visitor)) ?? refuse(
      403,
      "Cannot show the page: it belongs to another caller; sign in as the caller who started it",
    );
  }

  /**
   * The response to a visitor who lacks a scope of the page's tool. The person may have lost the
   * scope since the call began. Undefined if the visitor has all scopes.
   */
  async #lacksScope(
    request: Request,
    page: HeldPage,
    who: Principal,
  ): Promise<Response | undefined> {
    const headers = readHeaders(request.headers, this.#headerLists);
    const owner = await page.owner?.();
    if (!owner || this.core.access.allows(owner, who)) return undefined;
    const stepUp = await this.#gate?.stepUp(request, owner.scopes!.all);
    if (stepUp) return stepUp;
    const refusal = refusalOf(this.core, owner, { who, headers })!;
    if (!headers.accept?.includes("text/html")) return respondWithRefusal(refusal);
    const text =
      "Your account lacks a right that this page needs. Ask the operator of the server for it.";
    return noticePage(refusal.status, "You may not use this page", text, refusal.headers);
  }

  async #post(
    request: Request,
    headers: ReadHeaders,
    sse: LegacySse | undefined,
    who: Principal | undefined,
  ): Promise<Response> {
    try {
      const refusal = this.#unacceptable(headers, sse !== undefined);
      if (refusal) return refusal;
      const { maxBody, bodyTimeout } = this.core.limits;
      const length = headers.contentLength;
      const text = await readBody(request, maxBody, bodyTimeout, this.core.deadlines, length);
      const body = typeof text === "string"
        ? parsed(text, this.core.limits)
        : unread(text, maxBody);
      if (body instanceof Response) return body;
      const coming = this.core.arrival?.before(body.value);
      if (coming) await coming;
      if (sse) return sse.post(request, headers, body.value, idOf(who), who);
      const era = this.eras.of(headers, body.value);
      const caller = callerOn(headers, who);
      const reply = Array.isArray(body.value)
        ? era.receiveBatch(body.value, caller)
        : era.receive(readMessage(body.value), caller);
      const response = this.#responder.respond(request, reply);
      return response instanceof Promise ? await response : response;
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** Checks `Content-Type` and `Accept`. Returns a refusal if one of them is not acceptable. */
  #unacceptable(headers: ReadHeaders, anyAccept: boolean): Response | undefined {
    if (!isType(headers.contentType, "application/json")) {
      return refuse(
        415,
        "Cannot read the body: its Content-Type is not application/json; send JSON with that type",
      );
    }
    if (anyAccept) return undefined;
    if (acceptsBoth(headers.accept)) return undefined;
    return refuse(
      406,
      "Cannot answer: the Accept header does not allow both formats; list application/json and text/event-stream",
    );
  }

  /** Answers `/healthz` (liveness) and `/readyz` (readiness). */
  async #probe(request: Request, ready: boolean): Promise<Response> {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return refuse(
        405,
        `Cannot serve ${request.method} here: this address only reports the server's health; use GET`,
      );
    }
    const closing = this.core.closing || this.core.draining;
    // Checks cannot run on a closed server.
    const checks = ready && !closing ? await this.core.readiness.findings() : undefined;
    const failed = checks && Object.values(checks).includes("failed");
    const status = closing ? "closing" : failed ? "unready" : ready ? "ready" : "ok";
    const text = JSON.stringify({ status, checks });
    return new Response(request.method === "HEAD" ? null : text, {
      status: closing || failed ? 503 : 200,
      headers: { "content-type": "application/json", "cache-control": "no-store" },
    });
  }
}

function callerOn(headers: ReadHeaders, who: Principal | undefined): Caller {
  return { principal: who === undefined ? "" : who.id, who, headers, ownStream: true };
}

/** The id of a caller. It is empty for the anonymous caller. */
function idOf(who: Principal | undefined): string {
  return who === undefined ? "" : who.id;
}

/** The refusal for a body that was not read. */
function unread({ why }: Unread, maxBody: number): Response {
  switch (why) {
    case "too_large":
      return refuse(
        413,
        `Cannot read the body: it is larger than ${maxBody} bytes; send a smaller one`,
        undefined,
        GO,
      );
    case "too_slow":
      return refuse(
        408,
        "Cannot read the body: it did not arrive in time; send it again",
        undefined,
        GO,
      );
    case "broken":
      return refuse(400, "Cannot read the body: the connection broke; send it again");
  }
}

function parsed(text: string, limits: ServerLimits): { readonly value: unknown } | Response {
  const problem = shapeProblem(text, limits.maxParts);
  if (problem) return refuse(400, `Cannot read the body: ${problem.state}; ${problem.remedy}`);
  try {
    return { value: JSON.parse(text) };
  } catch {
    return refuse(400, {
      code: PARSE_ERROR,
      message: "Cannot read the body: it is not JSON; send one JSON-RPC message",
    });
  }
}

/** Adds the host and origin of `publicUrl` to the allowed hosts and origins. */
function withOwnAddress(options: HandlerOptions): GuardOptions {
  const { publicUrl, allowHosts = [], allowOrigins = [] } = options;
  if (typeof publicUrl !== "string") return options;
  const { host, origin } = new URL(publicUrl);
  // The guard already accepts loopback names. Listing them would also accept them from proxies.
  if (isLoopback(host)) return options;
  return { allowHosts: [...allowHosts, host], allowOrigins: [...allowOrigins, origin] };
}

const ALLOWED_HEADERS =
  "content-type, accept, authorization, dpop, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name";

/** Response headers that web pages may read, including those for sign-in. */
const EXPOSED_HEADERS =
  "mcp-session-id, mcp-protocol-version, retry-after, www-authenticate, dpop-nonce";

/** Adds CORS headers, so that a web page of an allowed origin can read the response. */
function allowOrigin(given: Response, origin: string, asked: Headers): Response {
  // The headers of the given response may be immutable, so copy the response.
  const response = new Response(given.body, given);
  const { headers } = response;
  headers.set("access-control-allow-origin", origin);
  headers.set("vary", "Origin");
  headers.set("access-control-expose-headers", EXPOSED_HEADERS);
  headers.set("access-control-allow-methods", "POST, GET, DELETE, OPTIONS");
  // Tools can define `mcp-param-*` headers, so allow those that the browser asks for.
  const named = asked.get("access-control-request-headers")?.match(/\bmcp-param-[\w-]+/gi) ?? [];
  headers.set("access-control-allow-headers", [ALLOWED_HEADERS, ...named].join(", "));
  headers.set("access-control-max-age", "600");
  return response;
}
