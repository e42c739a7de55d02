/**
 * The gate of a server: identifies the caller of each request by its access token.
 *
 * GATE-1  Checking a recently accepted token takes one hash and one look-up, and creates no
 *         promise.
 * GATE-2  A refusal contains what the RFCs require. It never tells the client why a key or an
 *         issuer was not accepted.
 */
import { type Clock, systemClock } from "../lib/clock.ts";
import { messageOf } from "../lib/message-of.ts";
import { Sealer } from "../lib/sealer.ts";
import type { Principal } from "../model/principal.ts";
import { INVALID_REQUEST, SERVER_BUSY } from "../model/rpc-codes.ts";
import {
  Access,
  type AccessRefusal,
  type AuthOptions,
  type Gate,
  type VisitorSignIn,
} from "../server/access.ts";
import type { ParleyOptions } from "../server/options.ts";
import { errorText } from "../wire/json-rpc.ts";
import type { Reach } from "./bounded-fetch.ts";
import { BrowserSessions } from "./browser-session.ts";
import { checkAuthOptions, issuerUrls } from "./options.ts";
import { isPersonOf } from "./claims.ts";
import type { Nonces, Proofs } from "./dpop.ts";
import {
  IssuerUnavailable,
  NonceRequired,
  parametersOf,
  ProofRefused,
  saysRevoked,
  statusOf,
  TokenRefused,
  TooManyProofs,
} from "./refusal.ts";
import { PROOF_ALGORITHMS, ProtectedResource } from "./resource.ts";
import type { SignIn } from "./sign-in.ts";
import { hashOf, TokenCache } from "./token-cache.ts";
import { isForm, isNavigation, Visitors } from "./visitors.ts";
import { TokenFile } from "./token-file.ts";
import type { Tokens } from "./tokens.ts";
import type { RequestHeaders } from "../wire/request-headers.ts";

/**
 * Maximum length of the `Authorization` header. Runtimes have a similar limit for all headers
 * together.
 */
const MAX_HEADER = 16_384;

/** The parts of the gate that are loaded on first use. */
interface Checks {
  readonly tokens: Tokens;
  readonly proofs: Proofs;
  readonly nonces: Nonces | undefined;
  readonly signIn: SignIn | undefined;
}

export class TokenGate implements Gate {
  readonly access: Access;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  readonly #resource: ProtectedResource;
  readonly #cache = new TokenCache();
  readonly #options: AuthOptions;
  readonly #reach: Reach;
  readonly #file: TokenFile | undefined;
  readonly #server: Pick<ParleyOptions, "publicUrl">;
  readonly #sealer: Sealer;
  readonly #report: NonNullable<ParleyOptions["report"]>;
  readonly #sessions: BrowserSessions;
  readonly #visitors: Visitors;
  #checks: Promise<Checks> | undefined;

  constructor(options: ParleyOptions & { readonly auth: AuthOptions }) {
    const { auth, publicUrl, path = "/mcp", clock = systemClock } = options;
    checkAuthOptions(options);
    this.#options = auth;
    this.#server = options;
    this.#report = options.report ?? console.error;
    this.#sealer = options.sealer ?? new Sealer();
    this.#sessions = new BrowserSessions(
      this.#sealer,
      () => this.#publicUrl().startsWith("https:"),
    );
    this.#visitors = new Visitors({
      sessions: this.#sessions,
      publicUrl: () => this.#publicUrl(),
      now: () => this.#clock.now(),
      signIn: async () => (await this.#checked()).signIn!,
    });
    this.access = new Access(this, auth.scopeHierarchy ?? {});
    this.#clock = clock;
    const { fetch } = auth;
    this.#reach = { clock, signal: this.#closing.signal, ...(fetch && { fetch }) };
    if (auth.tokenFile !== undefined) {
      this.#file = new TokenFile(auth.tokenFile, clock, (error) => {
        const what = "the token file cannot be used";
        this.#report({ what, toolName: "-", sessionId: "-", error });
      });
    }
    const audience = auth.audience === undefined ? undefined : [auth.audience].flat();
    this.#resource = new ProtectedResource({
      url: () => {
        if (auth.resource !== undefined) return auth.resource;
        const told = typeof publicUrl === "function" ? publicUrl() : publicUrl;
        return told === undefined ? undefined : new URL(told.replace(/\/+$/, "") + path).href;
      },
      path,
      audience,
      issuers: issuerUrls(auth),
      scopes: auth.scopes ?? [],
      name: options.info?.title ?? options.name ?? "Parley",
    });
  }

  serve(request: Request, path: string): Response | undefined {
    return this.#resource.hasMetadataAt(path) ? this.#metadata(request) : undefined;
  }

  callerOf(request: Request): Principal | Response | Promise<Principal | Response> {
    const authorization = request.headers.get("authorization");
    if (authorization === null) {
      this.refused({ reason: "the request has no token", status: 401, isOutage: false });
      return this.#challenge(request, 401);
    }
    const given = tokenIn(authorization);
    if (!given) {
      this.refused({ reason: "the header has no token", status: 401, isOutage: false });
      return this.#challenge(request, 401, {
        error: "invalid_request",
        error_description:
          "Send the access token in the header Authorization, after the word Bearer",
      });
    }
    // GATE-1: look the token up before any promise is created.
    const hash = hashOf(given.token);
    const known = this.#cache.get(hash, this.#clock.now());
    if (known && known.jkt === undefined && !given.proven) {
      return this.#admitted(request, known.principal);
    }
    const named = this.#file?.find(hash);
    if (!named) return this.#verified(request, given, hash);
    const isStillValid = () => this.#file!.has(hash, named);
    this.access.admit(named, { token: hash, isStillValid });
    return this.#admitted(request, named);
  }

  canSignIn(principal: string): boolean {
    const [issuer] = issuerUrls(this.#options);
    return this.#options.signIn !== undefined && issuer !== undefined &&
      isPersonOf(issuer, principal);
  }

  visitorOf(
    request: Request,
    isForPerson: boolean,
    { scopes = [], again }: VisitorSignIn = {},
  ): Principal | Response | Promise<Principal | Response> {
    if (!this.#options.signIn || !isForPerson && request.headers.has("authorization")) {
      return this.callerOf(request);
    }
    const { person, isOld } = again === undefined ? this.#visitors.in(request) ?? {} : {};
    if (isNavigation(request) && (!person || isOld)) {
      return this.#signInFirst(request, person, { scopes, ...(again !== undefined && { again }) });
    }
    if (person) return this.#admitted(request, person);
    this.refused({ reason: "the visitor is not signed in", status: 401, isOutage: false });
    const refusal = this.#challenge(request, 401);
    return isForm(request) ? this.#visitors.refuseForm(request, refusal) : refusal;
  }

  stepUp(request: Request, scopes: readonly string[]): Promise<Response> | undefined {
    if (!this.#options.signIn || !isNavigation(request)) return undefined;
    return this.#visitors.stepUp(request, scopes)
      ?.catch((error) => this.#refusal(request, error));
  }

  refuseVisitor(request: Request, visitor: Principal): Response | undefined {
    const isPerson = this.#options.signIn && isNavigation(request) &&
      !request.headers.has("authorization");
    return isPerson ? this.#visitors.refuse(request, visitor) : undefined;
  }

  serveBrowser(request: Request, path: string): Promise<Response> | undefined {
    if (!this.#options.signIn) return undefined;
    return this.#visitors.serve(request, path)?.catch((error) => this.#refusal(request, error));
  }

  insufficientScope(headers: RequestHeaders | undefined, scopes: readonly string[]): string {
    const all = new Set([...this.#options.scopes ?? [], ...scopes]);
    return this.#resource.challenge(headers, {
      error: "insufficient_scope",
      scope: [...all].join(" "),
    });
  }

  close(): void {
    this.#closing.abort();
  }

  /** Signs a person in. While the issuer is down, a person who is signed in need not do so again. */
  async #signInFirst(
    request: Request,
    person: Principal | undefined,
    options: VisitorSignIn,
  ): Promise<Principal | Response> {
    try {
      return await this.#visitors.begin(request, person, options);
    } catch (error) {
      if (person && error instanceof IssuerUnavailable) return this.#admitted(request, person);
      return await this.#refusal(request, error);
    }
  }

  /** The URL at which browsers reach the server. */
  #publicUrl(): string {
    const { publicUrl } = this.#server;
    const told = typeof publicUrl === "function" ? publicUrl() : publicUrl;
    return told ?? new URL(this.#resource.url).origin;
  }

  async #verified(
    request: Request,
    { token, proven }: GivenToken,
    hash: string,
  ): Promise<Principal | Response> {
    try {
      if (issuerUrls(this.#options).length === 0) throw new TokenRefused("The token is unknown");
      const { tokens, proofs } = await this.#checked();
      const { jkt, principal, streamsUntil } = this.#cache.get(hash, this.#clock.now()) ??
        await this.#cache.verified(hash, () => tokens.verify(token));
      this.access.admit(principal, { token: hash, until: streamsUntil });
      if (proven !== (jkt !== undefined)) {
        throw new ProofRefused(
          proven ? "The access token is not bound to a key" : "The access token needs a DPoP proof",
        );
      }
      if (jkt !== undefined) {
        const { pathname } = new URL(request.url);
        const isAt = (url: string) => this.#resource.isAt(url, pathname);
        await proofs.check({ request, token, jkt, principal: principal.id, isAt });
      }
      return this.#admitted(request, principal);
    } catch (error) {
      if (saysRevoked(error)) this.access.revoke(hash);
      return await this.#refusal(request, error);
    }
  }

  #checked(): Promise<Checks> {
    return this.#checks ??= this.#load();
  }

  /** Loads the libraries on first use, so that servers start fast. */
  async #load(): Promise<Checks> {
    const [{ Tokens }, { Nonces, Proofs }, { SignIn }] = await Promise.all([
      import("./tokens.ts"),
      import("./dpop.ts"),
      import("./sign-in.ts"),
    ]);
    const { signIn: options, scopes = [], dpopNonces } = this.#options;
    const nonces = dpopNonces ? new Nonces(this.#sealer, this.#clock) : undefined;
    const tokens = new Tokens(this.#options, this.#reach, () => this.#resource.audience);
    const signIn = options && new SignIn({
      options,
      issuer: tokens.first,
      sessions: this.#sessions,
      scopes,
      resource: () => this.#resource.url,
      callback: () => this.#visitors.callback,
      now: () => this.#clock.now(),
      refused: (error) => this.#noteRefusal(error, 400),
      check: async (token) => {
        const { principal, jkt } = await tokens.verify(token);
        if (jkt === undefined && this.access.hasScopes(principal, scopes)) return principal;
        throw new TokenRefused("This person may not use this server");
      },
    });
    return { tokens, proofs: new Proofs(this.#clock, nonces), nonces, signIn };
  }

  /** Checks the scopes that every request needs. */
  #admitted(request: Request, principal: Principal): Principal | Response {
    const { scopes = [] } = this.#options;
    if (scopes.length === 0 || this.access.hasScopes(principal, scopes)) return principal;
    const reason = `the caller lacks a scope of ${scopes.join(" ")}`;
    this.refused({ reason, status: 403, principal: principal.id, isOutage: false });
    return this.#challenge(request, 403, { error: "insufficient_scope", scope: scopes.join(" ") });
  }

  /** Returns the response for a token that is not accepted (GATE-2). */
  async #refusal(request: Request, error: unknown): Promise<Response> {
    this.#noteRefusal(error, statusOf(error));
    if (error instanceof ProofRefused) return await this.#proofRefusal(request, error);
    if (error instanceof TokenRefused) return this.#challenge(request, 401, parametersOf(error));
    if (error instanceof TooManyProofs) {
      return refusal(
        429,
        { "retry-after": "60" },
        SERVER_BUSY,
        "Cannot serve the request: the caller has sent too many DPoP proofs; try again later",
      );
    }
    if (!(error instanceof IssuerUnavailable)) throw error;
    return refusal(
      503,
      {
        "retry-after": String(Math.max(1, Math.ceil(error.retryAfter / 1_000))),
      },
      SERVER_BUSY,
      "Cannot check the access token: its issuer cannot be reached; try again later",
    );
  }

  /**
   * Refuses a proof. The response tells the client which algorithms and which nonce to use (RFC
   * 9449, sections 7.1 and 9).
   */
  async #proofRefusal(request: Request, error: ProofRefused): Promise<Response> {
    const needsNonce = error instanceof NonceRequired;
    // If only the nonce is missing, the token may be valid.
    const response = this.#challenge(request, 401, needsNonce ? {} : parametersOf(error));
    const code = needsNonce ? "use_dpop_nonce" : "invalid_dpop_proof";
    response.headers.append(
      "www-authenticate",
      `DPoP error="${code}", algs="${PROOF_ALGORITHMS.join(" ")}"`,
    );
    const { nonces } = await this.#checked();
    if (nonces) response.headers.set("dpop-nonce", nonces.current);
    return response;
  }

  refused(refusal: AccessRefusal): void {
    try {
      this.#options.onRefused?.(refusal);
    } catch (error) {
      this.#report({ what: "onRefused threw an error", toolName: "-", sessionId: "-", error });
    }
  }

  #noteRefusal(error: unknown, status: number): void {
    const isOutage = error instanceof IssuerUnavailable;
    const reason = error instanceof TokenRefused ? error.reason : messageOf(error);
    this.refused({ reason, status, isOutage });
  }

  #challenge(
    request: Request,
    status: 401 | 403,
    parameters?: { readonly [name: string]: string },
  ): Response {
    const message = status === 403
      ? "Cannot serve the request: the access token lacks a scope; sign in again with the scopes that WWW-Authenticate names"
      : "Cannot serve the request: it has no valid access token; sign in as WWW-Authenticate says";
    const challenge = this.#resource.challenge(hostIn(request), parameters);
    return refusal(status, { "www-authenticate": challenge }, INVALID_REQUEST, message);
  }

  /** The metadata document. It is public: web pages of every origin may read it. */
  #metadata(request: Request): Response {
    const headers = {
      "access-control-allow-origin": "*",
      "access-control-allow-headers": "*",
      "access-control-allow-methods": "GET, OPTIONS",
    };
    if (request.method === "OPTIONS") return new Response(null, { status: 204, headers });
    if (request.method !== "GET" && request.method !== "HEAD") {
      return new Response(null, { status: 405, headers: { ...headers, allow: "GET, OPTIONS" } });
    }
    const text = JSON.stringify(this.#resource.metadata(hostIn(request)));
    return new Response(request.method === "HEAD" ? null : text, {
      headers: {
        ...headers,
        "content-type": "application/json",
        "cache-control": "public, max-age=300",
        vary: "Host",
      },
    });
  }
}

function hostIn({ headers }: Request): { readonly host: string | null } {
  return { host: headers.get("host") };
}

interface GivenToken {
  readonly token: string;
  /**
   * True if the scheme is DPoP. The request must then prove that the caller has the token's key.
   */
  readonly proven: boolean;
}

/** The token in an `Authorization` header. Undefined if the header has another form. */
function tokenIn(authorization: string): GivenToken | undefined {
  if (authorization.length > MAX_HEADER) return undefined;
  const [, scheme, token] = /^(Bearer|DPoP) +([\w~+/.-]+=*)$/i.exec(authorization) ?? [];
  return token === undefined ? undefined : { token, proven: scheme!.length === 4 };
}

function refusal(
  status: number,
  headers: { readonly [name: string]: string },
  code: number,
  message: string,
): Response {
  return new Response(errorText(undefined, { code, message }), {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
  });
}
