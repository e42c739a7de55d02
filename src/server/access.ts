/**
 * The interface of access control: the gate that identifies callers, its options, and what callers
 * may use. `auth/` contains the implementation of the gate.
 *
 * ACCESS-1  Each request is checked with the scopes that its caller has now. A call that has started
 *           keeps running if its caller loses a scope, but the caller cannot continue it.
 * ACCESS-2  A hidden definition does not exist for a caller without its scopes: lists, errors and
 *           notifications are the same as if it had not been added.
 * ACCESS-3  A caller without a `Principal` is not checked: over stdio, and if the server does not
 *           name its callers.
 * ACCESS-4  A stream of notifications ends when the token with which it was opened expires. The
 *           client opens it again with a new token. The stream of a call lasts until the response:
 *           the call was allowed when it began, and some clients lose a call whose stream they must
 *           resume with a new token.
 * ACCESS-5  Every stream ends if the server learns that its token is no longer valid. If a token can
 *           be revoked at any time, it is checked again while a stream is open, or its streams of
 *           notifications end after five minutes.
 */
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import { ProtocolError } from "../model/errors.ts";
import type { Principal } from "../model/principal.ts";
import { INVALID_REQUEST } from "../model/rpc-codes.ts";
import type { Served } from "../tool/skill.ts";
import type { RequestHeaders } from "../wire/request-headers.ts";

/** Identifies the callers of a server, and serves the requests with which clients sign in. */
export interface Gate {
  /** Decides what callers may use. */
  readonly access: Access;
  /** The response to a request for one of the gate's own paths. Undefined for other requests. */
  serve(request: Request, path: string): Response | Promise<Response> | undefined;
  /**
   * The caller of a request, or a response that refuses the request. Returns a promise only if the
   * caller's token is not in the cache.
   */
  callerOf(request: Request): Principal | Response | Promise<Principal | Response>;
  /**
   * The visitor of a page, or the response: a refusal, or a redirect to the page where people sign
   * in. If `isForPerson` is true and people can sign in, an access token does not open the page.
   */
  visitorOf(
    request: Request,
    isForPerson: boolean,
    signIn?: VisitorSignIn,
  ): Principal | Response | Promise<Principal | Response>;
  /** Whether the caller with this id is a person who can sign in in a browser. */
  canSignIn(principal: string): boolean;
  /**
   * Sends a person to the issuer for more scopes. Undefined if that does not help: the scopes were
   * requested before, or the visitor is not a person who opens a page.
   */
  stepUp(request: Request, scopes: readonly string[]): Promise<Response> | undefined;
  /**
   * The response to a person who may not see a page, because it belongs to another caller.
   * Undefined if the visitor is not a person in a browser.
   */
  refuseVisitor(request: Request, visitor: Principal): Response | undefined;
  /**
   * The response to a browser in which a person signs in or out. Undefined for other requests.
   */
  serveBrowser(request: Request, path: string): Promise<Response> | undefined;
  /**
   * The value of `WWW-Authenticate` for a caller that needs these scopes in addition to those that
   * every request needs.
   */
  insufficientScope(headers: RequestHeaders | undefined, scopes: readonly string[]): string;
  /** Tells the operator of a request that was refused. Never throws. */
  refused(refusal: AccessRefusal): void;
  /** Stops all requests to authorization servers. */
  close(): void;
}

/** How a visitor of a page signs in. */
export interface VisitorSignIn {
  /** Scopes to request besides those that every request needs. Default: none. */
  readonly scopes?: readonly string[];
  /** Signs in again, even if the visitor has a session, and returns to this path. Default: no. */
  readonly again?: string;
}

/** Decides what callers may use, by their scopes. */
export class Access {
  readonly #gate: Gate | undefined;
  readonly #implied: ReadonlyMap<string, readonly string[]>;
  /** The scopes of a principal, with those that they imply. */
  readonly #granted = new WeakMap<Principal, ReadonlySet<string>>();

  readonly #standings = new WeakMap<Principal, Standing>();
  /** The functions that end the streams of each token. */
  readonly #streams = new Map<string, Set<(why: StreamEnd) => void>>();

  constructor(gate: Gate | undefined, hierarchy: { readonly [scope: string]: readonly string[] }) {
    this.#gate = gate;
    this.#implied = new Map(Object.entries(hierarchy));
  }

  /** Notes how long the streams that a caller opens with its token may stay open. */
  admit(who: Principal, standing: Standing): void {
    this.#standings.set(who, standing);
  }

  /**
   * Calls `end` when the caller's token expires (ACCESS-4), and when it is no longer valid
   * (ACCESS-5). Returns a function that cancels this. Does nothing for a caller without a token.
   */
  whenEnded(who: Principal, deadlines: Deadlines, end: (why: StreamEnd) => void): () => void {
    const standing = this.#standings.get(who);
    if (!standing) return () => {};
    const { token, until = Infinity, isStillValid } = standing;
    let deadline: Deadline | undefined;
    const wait = () => {
      const left = Math.max(0, until - deadlines.now());
      const ms = isStillValid ? Math.min(left, RECHECK_INTERVAL) : left;
      if (ms < Infinity) deadline = deadlines.add(ms, look);
    };
    const look = () => {
      if (isStillValid && !isStillValid()) end("revoked");
      else if (deadlines.now() >= until) end("expired");
      else wait();
    };
    wait();
    const streams = this.#streams.get(token) ?? new Set();
    this.#streams.set(token, streams.add(end));
    return () => {
      deadline?.cancel();
      streams.delete(end);
      if (streams.size === 0 && this.#streams.get(token) === streams) this.#streams.delete(token);
    };
  }

  /** Ends the streams of a token that is no longer valid (ACCESS-5). */
  revoke(token: string): void {
    for (const end of [...this.#streams.get(token) ?? []]) end("revoked");
  }

  /** Whether a caller has all scopes of a definition (ACCESS-3). */
  allows({ scopes }: Guarded, who: Principal | undefined): boolean {
    return scopes === undefined || who === undefined || this.hasScopes(who, scopes.all);
  }

  /** Whether a definition exists for a caller (ACCESS-2). */
  shows(definition: Guarded, who: Principal | undefined): boolean {
    return !definition.scopes?.hidden || this.allows(definition, who);
  }

  hasScopes(who: Principal, scopes: readonly string[]): boolean {
    const granted = this.#grantedTo(who);
    return scopes.every((scope) => granted.has(scope));
  }

  /** Throws `InsufficientScopeError` if a caller lacks a scope of a definition. */
  check(definition: Guarded, { who, headers }: CheckedCaller): void {
    if (this.allows(definition, who)) return;
    const { kind, name, scopes } = definition;
    const missing = scopes!.all.filter((scope) => !this.#grantedTo(who!).has(scope));
    const reason = `the caller lacks the scope ${missing.join(" ")}`;
    this.#gate?.refused({ reason, status: 403, principal: who!.id, name, isOutage: false });
    throw new InsufficientScopeError(
      `Cannot use ${kind} "${name}": the caller lacks the scope ${
        missing.join(" ")
      }; sign in again with the scopes that WWW-Authenticate names`,
      this.#gate?.insufficientScope(headers, scopes!.all) ??
        `Bearer error="insufficient_scope", scope="${scopes!.all.join(" ")}"`,
    );
  }

  #grantedTo(who: Principal): ReadonlySet<string> {
    const known = this.#granted.get(who);
    if (known) return known;
    const granted = new Set(who.scopes);
    // The loop also visits scopes that are added during the iteration, so implied scopes can imply
    // others.
    for (const scope of granted) {
      for (const implied of this.#implied.get(scope) ?? []) granted.add(implied);
    }
    this.#granted.set(who, granted);
    return granted;
  }
}

/** A tool, prompt, resource or skill, of which only the scopes matter here. */
type Guarded = Pick<Served, "kind" | "name" | "scopes">;

/** How often the token of an open stream is checked again, in milliseconds. */
const RECHECK_INTERVAL = 10_000;

/** How long the streams that a caller opens with its token may stay open. */
export interface Standing {
  /** Identifies the token. It is not the token itself. */
  readonly token: string;
  /** When streams of the token end, in milliseconds since the epoch. */
  readonly until?: number;
  /**
   * Whether the token is still valid. Absent if this can be checked only with a request that has
   * the token.
   */
  isStillValid?(): boolean;
}

/** Why a stream ends: its token has expired, or is no longer valid. */
export type StreamEnd = "expired" | "revoked";

/** The data of a caller that a check of scopes needs. */
export interface CheckedCaller {
  readonly who?: Principal | undefined;
  readonly headers?: RequestHeaders | undefined;
}

/** The caller lacks a scope. Over HTTP, the response has status 403. */
export class InsufficientScopeError extends ProtocolError {
  override readonly name = "InsufficientScopeError";
  constructor(message: string, readonly challenge: string) {
    super(INVALID_REQUEST, message);
  }
}

/** The access control of a server. The server is an OAuth resource server. */
export interface AuthOptions {
  /**
   * The authorization servers whose tokens are accepted, as issuer URLs or with more options.
   * Default: none; `tokenFile` is required in that case.
   */
  readonly issuers?: readonly (string | IssuerOptions)[];
  /**
   * A file with static tokens, for programs that cannot sign in. `parley token` adds tokens to the
   * file. Default: none.
   */
  readonly tokenFile?: string;
  /**
   * The URL of the MCP endpoint, as people type it into their clients. Default: `publicUrl` plus
   * `path`.
   */
  readonly resource?: string;
  /** The accepted audiences (`aud`) of tokens. Default: `resource`. */
  readonly audience?: string | readonly string[];
  /** Scopes that every request needs. Default: none. */
  readonly scopes?: readonly string[];
  /**
   * Scopes that include others, such as `{ "flights:book": ["flights:read"] }`. Default: none.
   */
  readonly scopeHierarchy?: { readonly [scope: string]: readonly string[] };
  /**
   * How people who open a page in a browser sign in. The server is then a client of the issuer,
   * with the redirect URI `/signed-in` at `publicUrl`. Default: pages are only for requests with a
   * token.
   */
  readonly signIn?: SignInOptions;
  /**
   * Whether DPoP proofs must contain a nonce of this server (RFC 9449, section 9). Clients learn
   * the nonce from the response to their first request. Default: false.
   */
  readonly dpopNonces?: boolean;
  /**
   * Called with each request that access control refuses, for logs. Clients get less information.
   * The reason contains no token.
   */
  readonly onRefused?: (refusal: AccessRefusal) => void;
  /** Sends the requests to issuers. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** A request that access control has refused. */
export interface AccessRefusal {
  /** The reason, for the operator. It contains no token. */
  readonly reason: string;
  /**
   * The HTTP status: 401 for a token, 403 for a scope, 429 for a limit, 503 if the issuer cannot be
   * reached, 400 for a sign-in in a browser.
   */
  readonly status: number;
  /** The id of the caller, if it is known. */
  readonly principal?: string;
  /** The name of the tool, prompt or resource whose scope the caller lacks. */
  readonly name?: string;
  /** True if the issuer could not be reached. The token may be valid. */
  readonly isOutage: boolean;
}

/** This server as a client of an issuer, to sign people in. */
export interface SignInOptions {
  /** The id of this server at the issuer. */
  readonly clientId: string;
  /** The secret of this server at the issuer. Default: none; the server is a public client. */
  readonly clientSecret?: string;
}

/** An authorization server whose tokens are accepted. */
export interface IssuerOptions {
  /** The issuer URL, exactly as tokens name it in `iss`. */
  readonly issuer: string;
  /** The URL of the issuer's keys. Default: the URL in the issuer's metadata. */
  readonly jwksUri?: string;
  /** The format of the issuer's access tokens. Default: `standard`, which is RFC 9068. */
  readonly profile?: TokenProfile;
  /** The ids of the clients whose tokens are accepted. Default: all clients. */
  readonly clients?: readonly string[];
  /**
   * Credentials with which this server asks the issuer about tokens that are not JWTs (RFC 7662).
   * Default: such tokens are refused.
   */
  readonly introspection?: {
    /** The id of this server at the issuer. */
    readonly clientId: string;
    /** The secret of this server at the issuer. */
    readonly clientSecret: string;
  };
}

/**
 * The format of an issuer's access tokens. `standard` is RFC 9068. The others are named after
 * products whose tokens differ from it.
 */
export type TokenProfile = "standard" | "keycloak" | "auth0" | "entra" | "okta" | "cognito";
