/** The options and limits of a server, with their defaults. */
import type { Clock } from "../lib/clock.ts";
import type { Sealer } from "../lib/sealer.ts";
import type { Icon } from "../model/content.ts";
import type { Door } from "../model/events.ts";
import type { Principal } from "../model/principal.ts";
import type { RegistryLimits } from "../registry/options.ts";
import type { Fault, Middleware, SamplingSetup } from "../run/run-port.ts";
import type { AnsweredQuestion, AskedQuestion, EndedCall } from "../session/types.ts";
import type { ClientSessionStore, ToolSessionStore } from "../store/types.ts";
import type { Served } from "../tool/skill.ts";
import type { AuthOptions } from "./access.ts";
import type { LazyDefinitions } from "./lazy-catalog.ts";

/** The information about itself that a server sends to its clients. */
export interface ServerInfo {
  /** The name of the server, which identifies it to programs. */
  readonly name: string;
  /** The version of the server. */
  readonly version: string;
  /** The name of the server, for people. */
  readonly title?: string;
  /** A description of the server. */
  readonly description?: string;
  /** The website of the server. */
  readonly websiteUrl?: string;
  /** Icons that clients can show next to the name. */
  readonly icons?: readonly Icon[];
}

/**
 * Identifies the caller of a request. Returns the id of the caller, or a `Principal` with more
 * data. Each session belongs to one caller, and other callers cannot reach it. Return a `Response`
 * to refuse the request. An empty id is refused with status 401, because it is the id of the
 * anonymous caller.
 */
export type PrincipalOf = (
  request: Request,
) => string | Principal | Response | Promise<string | Principal | Response>;

/**
 * The limits of a server. They prevent a single client from using up the server's resources. Each
 * limit has a default. All times are in milliseconds.
 */
export interface ParleyLimits extends RegistryLimits {
  /** Maximum size of a request's body, in bytes. Default: 4 MiB. */
  readonly maxBody: number;
  /** Maximum number of keys, values, objects and arrays in a request's body. Default: 100,000. */
  readonly maxParts: number;
  /** Maximum number of messages in a batch (revision 2025-03-26). Default: 100. */
  readonly maxBatch: number;
  /** Maximum size of the answer to a batch that is not streamed, in characters. Default: 4 Mi. */
  readonly maxBatchAnswer: number;
  /** Timeout for the arrival of a request's body, in milliseconds. Default: 30 seconds. */
  readonly bodyTimeout: number;
  /** Time for which a modern client may cache a list, in milliseconds. Default: one minute. */
  readonly listTimeToLive: number;
  /** Number of entries on one page of a list. Default: 100. */
  readonly pageSize: number;
  /** Maximum number of client sessions of the legacy era. Default: 10,000. */
  readonly maxClientSessions: number;
  /** Maximum number of client sessions per named caller. Default: a tenth of `maxClientSessions`. */
  readonly maxClientSessionsPerPrincipal: number;
  /** Maximum number of running calls in one client session. Default: 200. */
  readonly maxCallsPerClientSession: number;
  /** Time after which an unused client session ends, in milliseconds. Default: one hour. */
  readonly clientSessionTimeToLive: number;
  /** Maximum number of open streams. Default: 10,000. */
  readonly maxStreams: number;
  /** Maximum number of open streams per named caller. Default: a tenth of `maxStreams`. */
  readonly maxStreamsPerPrincipal: number;
  /** Maximum number of open pages of tools. Default: 10,000. */
  readonly maxPages: number;
  /** Maximum number of open pages per named caller. Default: a hundredth of `maxPages`. */
  readonly maxPagesPerPrincipal: number;
  /**
   * Maximum number of requests per minute of one named caller. Further requests get status 429.
   * Default: no limit.
   */
  readonly maxRequestsPerMinute: number;
  /** Time after which the response to a call becomes a stream, in milliseconds. Default: 100 ms. */
  readonly streamAfter: number;
  /** Time between keep-alive comments on an idle stream, in milliseconds. Default: 8 seconds. */
  readonly keepAliveInterval: number;
  /**
   * Time between progress notifications on an idle stream, in milliseconds. They are sent only to
   * callers that asked for progress. Default: 20 seconds.
   */
  readonly heartbeatInterval: number;
  /** Time after which a stream ends if its client does not read it, in milliseconds. Default: 30 seconds. */
  readonly stallTimeout: number;
  /** Time that clients are told to wait before they reconnect, in milliseconds. Default: one second. */
  readonly reconnectDelay: number;
}

/** The limits that the server applies. The registry applies the others. */
export type ServerLimits = Omit<ParleyLimits, keyof RegistryLimits>;

/** The defaults. Those per caller are computed from the total limits. */
const DEFAULT_LIMITS = {
  maxBody: 4 * 1024 * 1024,
  maxParts: 100_000,
  maxBatch: 100,
  maxBatchAnswer: 4 * 1024 * 1024,
  bodyTimeout: 30_000,
  listTimeToLive: 60_000,
  pageSize: 100,
  maxClientSessions: 10_000,
  maxCallsPerClientSession: 200,
  maxStreams: 10_000,
  maxPages: 10_000,
  maxRequestsPerMinute: Infinity,
  clientSessionTimeToLive: 3_600_000,
  streamAfter: 100,
  keepAliveInterval: 8_000,
  heartbeatInterval: 20_000,
  stallTimeout: 30_000,
  reconnectDelay: 1_000,
};

export function serverLimits(given: Partial<ParleyLimits> = {}): ServerLimits {
  const limits = { ...DEFAULT_LIMITS, ...given };
  return {
    maxClientSessionsPerPrincipal: Math.ceil(limits.maxClientSessions / 10),
    maxStreamsPerPrincipal: Math.ceil(limits.maxStreams / 10),
    maxPagesPerPrincipal: Math.ceil(limits.maxPages / 100),
    ...limits,
  };
}

/** The options of the console. */
export interface ConsoleOptions {
  /**
   * A token for programs on this machine, of at least 32 characters, which they send in the header
   * `x-parley-console`. Default: none.
   */
  readonly token?: string;
  /** Called when a link was used, so that the next one can be shown. */
  readonly onOpened?: () => void;
}

/** The options of a server. All are optional, and the defaults are safe. */
export interface ParleyOptions {
  /** The tools, prompts, resources and skills to serve, or how to load them on first use. Default: none. */
  readonly serve?: Iterable<Served> | LazyDefinitions;
  /** The name of the server, as clients see it. Default: `parley`. */
  readonly name?: string;
  /** The version of the server. Default: `0.1.0`. */
  readonly version?: string;
  /** More information about the server, which clients can show. */
  readonly info?: Omit<ServerInfo, "name" | "version">;
  /** Instructions for the model on how to use this server. */
  readonly instructions?: string;

  /** The path of the MCP endpoint. Default: `/mcp`. */
  readonly path?: string;
  /** Also serve the HTTP+SSE transport of 2024-11-05, at `/sse` and `/messages`. Default: false. */
  readonly legacySse?: boolean;
  /**
   * Serve the console at `/console`: a page on which operators see and answer calls, and authors try
   * tools. `consoleLink` returns a link that opens it on this machine. Default: false.
   */
  readonly console?: boolean | ConsoleOptions;
  /** Identifies the caller of each request. Default: all requests come from one anonymous caller. */
  readonly principal?: PrincipalOf;
  /**
   * Identifies the caller of each request by an OAuth access token, and refuses requests without a
   * token. This does not apply to stdio, where the caller started the program. Default: no tokens.
   */
  readonly auth?: AuthOptions;
  /**
   * Whether only programs on this machine can connect, because the server listens on a loopback
   * address. The addresses of clients then need no check. Default: false.
   */
  readonly localOnly?: boolean;
  /**
   * Host names that requests may use to reach the server, with or without a port. Default: only
   * loopback names, and the host of `publicUrl`.
   */
  readonly allowHosts?: readonly string[];
  /**
   * Origins whose web pages may call the server, such as `https://example.com`, or `*` for all.
   * Default: only loopback origins, and the origin of `publicUrl`.
   */
  readonly allowOrigins?: readonly string[];
  /**
   * Addresses and ranges (CIDR) of proxies whose `Forwarded` and `X-Forwarded-*` headers are
   * trusted, such as `10.0.0.0/8`. Trust only a proxy that sets these headers itself.
   * Default: none.
   */
  readonly trustProxy?: readonly string[];
  /**
   * The URL at which browsers reach the server, or a function that returns it. With a loopback
   * address, only browsers on this machine can open the pages of tools.
   */
  readonly publicUrl?: string | (() => string | undefined);
  /**
   * True if forms may ask for passwords. MCP forbids this, because the client sees what the person
   * types into a form. A page that the server serves is safe. Default: false.
   */
  readonly formPasswords?: boolean;
  /**
   * The ways in which tools may ask the person: a form in the client, an app view in the client, a
   * page in a browser, or the model, which passes the question on. Default: all.
   */
  readonly doors?: readonly Door[];
  /**
   * How long `continue_call` waits for the person's answer before it returns, in milliseconds.
   * Default: 20 seconds.
   */
  readonly askWait?: number;
  /**
   * How long a form may stay unanswered before its question is also asked on a page, in
   * milliseconds. The first answer counts. Legacy clients get a link to the page. Modern clients
   * cannot get one at that time, so for them the page is opened only if `openBrowser` can open it.
   * Default: forever.
   */
  readonly askPatience?: number;
  /**
   * Opens a page in a browser of this machine, to ask the person a question. It is used only if
   * browsers on this machine can reach the server. Default: none.
   */
  readonly openBrowser?: (url: string) => void;
  /**
   * Returns whether a browser can be opened on this machine. Called when a question may need a
   * browser. Default: true if there is an `openBrowser`.
   */
  readonly canOpenBrowser?: () => boolean;

  /** Where the records of durable calls are stored. Default: in memory. */
  readonly store?: ToolSessionStore;
  /**
   * Where client sessions of the legacy era are stored, so that clients can continue after a
   * restart. Default: in memory.
   */
  readonly clients?: ClientSessionStore;
  /**
   * Where the record of a durable call is kept while a modern client answers a question: in the
   * store (`here`), or encrypted in the request state that the client sends back (`sealed`), for
   * tools that allow it. Servers that share calls this way must have the same key. Default: `here`.
   */
  readonly state?: "here" | "sealed";
  /**
   * Encrypts request states, and sensitive answers in the store. Default: a sealer with a new random
   * key.
   */
  readonly sealer?: Sealer;
  /** A language model of the server, and when to use it instead of the client's model. */
  readonly sampling?: SamplingSetup;
  /** The limits of the server. Default: see each limit. */
  readonly limits?: Partial<ParleyLimits>;
  /** The clock that all timers use. Default: the system's clock. */
  readonly clock?: Clock;
  /** Called with each internal error and each unexpected error of a tool. Default: prints to stderr. */
  readonly report?: (fault: Fault) => void;
  /** Runs around each call, for audit, quotas and the like. The first is the outermost. Default: none. */
  readonly use?: readonly Middleware[];
  /** Called with each call that has ended, for logs and metrics. */
  readonly onCall?: (call: EndedCall) => void;
  /** Called with each question of a call, and again if nobody answers it in time, for logs. */
  readonly onQuestion?: (question: AskedQuestion) => void;
  /** Called with each answer to a question of a call, for logs. Sensitive fields are masked. */
  readonly onAnswer?: (answer: AnsweredQuestion) => void;
}
