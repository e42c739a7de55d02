/**
 * One `fetch` for everything. Total: whatever arrives, a response comes back,
 * and no stack trace with it.
 */
import { shapeProblem } from "../../lib/json-shape.ts";
import { SessionNotContinuedError } from "../../model/errors.ts";
import { INTERNAL_ERROR, PARSE_ERROR } from "../../model/rpc-codes.ts";
import { type CoreOptions, ServerCore } from "../../server/core.ts";
import type { PrincipalOf, ServerLimits } from "../../server/options.ts";
import { Eras } from "../../server/eras.ts";
import { Proxies, type ProxyOptions } from "../../server/forwarded.ts";
import {
  accepts,
  Guard,
  type GuardOptions,
  isLoopback,
  isType,
  pathOf,
} from "../../server/guard.ts";
import { gone, type HeldPage } from "../../server/pages.ts";
import type { SessionEra } from "../../server/reply.ts";
import { readMessage } from "../../wire/json-rpc.ts";
import type { Caching } from "../../wire/modern/encode.ts";
import { readBody, type Unread } from "./body.ts";
import { refuse, Responder } from "./respond.ts";
import { LegacySse } from "./sse-2024.ts";

/** The options that the platform adds. */
export interface HandlerOptions extends CoreOptions, ProxyOptions {}

/** The options of `close`. */
export interface CloseOptions {
  /**
   * Milliseconds for which running calls may finish. Meanwhile, new calls are refused, and
   * answers to open questions are accepted. Default: 0.
   */
  readonly grace?: number;
}

/** A server as a function from a request to a response, as the web platform has it. */
export interface McpHandler {
  /**
   * Answers a request. It never throws. `connection` is the second argument that the runtime
   * passes to its handler (Deno's info, Bun's server); only `trustProxy` needs it.
   */
  fetch(request: Request, connection?: unknown): Promise<Response>;
  /** Ends all streams, halts all calls, and waits until all have cleaned up. */
  close(options?: CloseOptions): Promise<void>;
}

const ANONYMOUS = "";

/** What was not read of a body would otherwise keep the connection open. */
const GO = { connection: "close" };

export class Handler implements McpHandler {
  readonly core: ServerCore;
  /** What is done with messages, on whatever transport. */
  readonly eras: Eras;
  readonly #guard: Guard;
  readonly #path: string;
  readonly #principal: PrincipalOf | undefined;
  readonly #responder: Responder;
  readonly #sse: LegacySse | undefined;
  readonly #proxies: Proxies;
  readonly fetch: McpHandler["fetch"];

  constructor(options: HandlerOptions = {}) {
    this.#proxies = new Proxies(options);
    // Deno creates the second argument for each request if the handler declares it.
    this.fetch = this.#proxies.trustsAny
      ? (request, connection) => this.#fetch(request, connection)
      : (request) => this.#fetch(request, undefined);
    this.core = new ServerCore(options);
    this.#guard = new Guard(withOwnAddress(options));
    this.#path = options.path ?? "/mcp";
    this.#principal = options.principal;
    // What everybody gets alike may be kept by everybody.
    const cacheScope = options.principal ? "private" : "public";
    const caching: Caching = { ttlMs: this.core.limits.listTimeToLive, cacheScope };
    this.eras = new Eras(this.core, caching);
    this.#responder = new Responder(this.core);
    if (options.legacySse) this.#sse = new LegacySse(this.core);
  }

  /** Client sessions of the legacy era. */
  get clientSessions(): number {
    return this.eras.clientSessions + (this.#sse?.sessions.size ?? 0);
  }

  /** Waits only where there is something to wait for: every layer of waiting costs each request. */
  #fetch(request: Request, connection: unknown): Promise<Response> {
    try {
      const path = pathOf(request.url);
      if (path === "/healthz" || path === "/readyz") {
        return this.#probe(request, path === "/readyz").catch(this.#failed);
      }
      const origin = request.headers.get("origin");
      const forwarding = this.#proxies.forwarding(request, connection);
      const refusal = this.#guard.refuses(request, origin, forwarding);
      if (refusal) {
        return Promise.resolve(refuse(403, `Cannot serve the request: ${refusal}`));
      }
      if (forwarding && !forwarding.local) this.core.pages.proxied = true;
      const response = request.method === "OPTIONS"
        ? Promise.resolve(new Response(null, { status: 204 }))
        : this.#route(request, path);
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
      message: "Cannot serve the request: the server failed; its log has the details",
    });
  };

  async close({ grace = 0 }: CloseOptions = {}): Promise<void> {
    if (grace > 0 && !this.core.closing) {
      this.core.draining = true;
      this.eras.drain();
      await this.core.registry.drain(grace);
    }
    this.core.closing = true;
    this.eras.stop();
    // Calls before streams: what became of them still goes out on the streams that are open.
    const pages = this.core.pages.close();
    await this.core.endCalls();
    await pages;
    this.eras.close("the server is shutting down");
    this.#sse?.sessions.endAll("the server is shutting down");
  }

  /** Total: nothing that it leads to throws. Nearly every request goes the short way. */
  #route(request: Request, path: string): Promise<Response> {
    const short = path === this.#path && !this.#principal && !this.#sse?.handles(path);
    if (!short || request.method !== "POST") return this.#find(request, path).catch(this.#failed);
    const closed = this.#enter();
    return closed ? Promise.resolve(closed) : this.#post(request, undefined, ANONYMOUS);
  }

  async #find(request: Request, path: string): Promise<Response> {
    const sse = this.#sse?.handles(path) ? this.#sse : undefined;
    if (path !== this.#path && !sse) {
      const pages = this.core.pages.at(path);
      if (pages.length > 0) return await this.#visit(request, pages);
      if (path.startsWith("/pages/")) return gone();
      return refuse(404, `Cannot find "${path}": there is nothing; MCP is at ${this.#path}`);
    }
    const closed = this.#enter();
    if (closed) return closed;
    const principal = await this.#callerOf(request);
    if (typeof principal !== "string") return principal;
    return await this.#serve(request, path, sse, principal);
  }

  /** Somebody calls, which is refused if the server is on its way out. */
  #enter(): Response | undefined {
    this.core.pages.exposed = true;
    if (!this.core.closing) return undefined;
    return refuse(
      503,
      "Cannot serve the request: the server is shutting down; try again when it is back",
    );
  }

  #serve(
    request: Request,
    path: string,
    sse: LegacySse | undefined,
    principal: string,
  ): Response | Promise<Response> {
    const session = this.eras.ofSession(request.headers);
    switch (request.method) {
      case "POST":
        return this.#post(request, sse, principal);
      case "GET":
        if (sse) return sse.get(path, principal);
        if (session) return this.#resume(request, session, principal);
        break;
      case "DELETE":
        if (!sse && session) return this.#end(request, session, principal);
        break;
    }
    return refuse(
      405,
      `Cannot ${request.method} here: the method or its session id is missing; POST each message`,
      undefined,
      {
        allow: "POST, GET, DELETE, OPTIONS",
      },
    );
  }

  #resume(
    request: Request,
    era: SessionEra,
    principal: string,
  ): Response | Promise<Response> {
    if (!accepts(request.headers.get("accept"), "text/event-stream")) {
      return refuse(
        406,
        "Cannot open a stream: the Accept header takes none; list text/event-stream",
      );
    }
    const reply = era.resume({ principal, headers: request.headers, ownStream: true });
    return this.#responder.respond(request, reply);
  }

  async #end(request: Request, era: SessionEra, principal: string): Promise<Response> {
    const reply = era.end({ principal, headers: request.headers, ownStream: true });
    const response = await this.#responder.respond(request, reply);
    return response.status === 202 ? new Response(null, { status: 204 }) : response;
  }

  /** Who calls. An empty name would be that of the anonymous caller, whom all others share. */
  async #callerOf(request: Request): Promise<string | Response> {
    if (!this.#principal) return ANONYMOUS;
    const principal = await this.#principal(request);
    // What JavaScript may give besides is no name either.
    if (principal && (typeof principal === "string" || typeof principal === "object")) {
      return principal;
    }
    return refuse(
      401,
      "Cannot serve the request: it does not say who calls; sign in and send it again",
      undefined,
      { "www-authenticate": "Bearer" },
    );
  }

  /** Shows a page to whom it is for. */
  async #visit(request: Request, pages: readonly HeldPage[]): Promise<Response> {
    const open = pages.find((page) => page.open);
    if (open) return await this.core.pages.visit(open, request);
    const principal = await this.#callerOf(request);
    if (typeof principal !== "string") return principal;
    const page = pages.find((page) => page.principal === principal);
    return page
      ? await this.core.pages.visit(page, request)
      : refuse(403, "Cannot show the page: it is for somebody else; open it as whoever started it");
  }

  async #post(
    request: Request,
    sse: LegacySse | undefined,
    principal: string,
  ): Promise<Response> {
    try {
      const refusal = this.#unacceptable(request, sse !== undefined);
      if (refusal) return refusal;
      const { maxBody, bodyTimeout } = this.core.limits;
      const text = await readBody(request, maxBody, bodyTimeout, this.core.deadlines);
      const body = typeof text === "string"
        ? parsed(text, this.core.limits)
        : unread(text, maxBody);
      if (body instanceof Response) return body;
      const coming = this.core.arrival?.before(body.value);
      if (coming) await coming;
      if (sse) return sse.post(request, body.value, principal);
      const { headers } = request;
      const era = this.eras.of(headers, body.value);
      const caller = { principal, headers, ownStream: true };
      const reply = Array.isArray(body.value)
        ? era.receiveBatch(body.value, caller)
        : era.receive(readMessage(body.value), caller);
      const response = this.#responder.respond(request, reply);
      return response instanceof Promise ? await response : response;
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** What is wrong with the headers of a body, if anything. */
  #unacceptable({ headers }: Request, anyAccept: boolean): Response | undefined {
    if (!isType(headers.get("content-type"), "application/json")) {
      return refuse(
        415,
        "Cannot read the body: its content type is another one; send application/json",
      );
    }
    if (anyAccept) return undefined;
    const accept = headers.get("accept");
    if (accepts(accept, "application/json") && accepts(accept, "text/event-stream")) {
      return undefined;
    }
    return refuse(
      406,
      "Cannot answer: the Accept header takes too little; list application/json and text/event-stream",
    );
  }

  /** Whether the process works, or, at `/readyz`, whether it can take calls. */
  async #probe(request: Request, ready: boolean): Promise<Response> {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return refuse(405, "Cannot do that here: this address only tells how the server is; GET it");
    }
    const closing = this.core.closing || this.core.draining;
    // What is closed cannot be checked any more.
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

/** Why there is no body. */
function unread({ why }: Unread, maxBody: number): Response {
  switch (why) {
    case "too_large":
      return refuse(
        413,
        `Cannot read the body: it is larger than ${maxBody} bytes; send less`,
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
      message: "Cannot read the body: it is no JSON; send one JSON-RPC message",
    });
  }
}

/** A server answers to the name under which it says it is reached. */
function withOwnAddress(options: HandlerOptions): GuardOptions {
  const { publicUrl, allowHosts = [], allowOrigins = [] } = options;
  if (typeof publicUrl !== "string") return options;
  const { host, origin } = new URL(publicUrl);
  // Loopback names are known already, and saying so here would open them to proxies.
  if (isLoopback(host)) return options;
  return { allowHosts: [...allowHosts, host], allowOrigins: [...allowOrigins, origin] };
}

const ALLOWED_HEADERS =
  "content-type, accept, authorization, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name";

/** What a page may read of an answer: how to sign in is part of it. */
const EXPOSED_HEADERS = "mcp-session-id, mcp-protocol-version, retry-after, www-authenticate";

/** Lets a page that may call us read what we answer. */
function allowOrigin(given: Response, origin: string, asked: Headers): Response {
  // Headers of a response that came from elsewhere may not be changed.
  const response = new Response(given.body, given);
  const { headers } = response;
  headers.set("access-control-allow-origin", origin);
  headers.set("vary", "Origin");
  headers.set("access-control-expose-headers", EXPOSED_HEADERS);
  headers.set("access-control-allow-methods", "POST, GET, DELETE, OPTIONS");
  // Tools may name headers of their own, which cannot all be listed here.
  const named = asked.get("access-control-request-headers")?.match(/\bmcp-param-[\w-]+/gi) ?? [];
  headers.set("access-control-allow-headers", [ALLOWED_HEADERS, ...named].join(", "));
  headers.set("access-control-max-age", "600");
  return response;
}
