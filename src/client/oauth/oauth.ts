/**
 * Signs in to a server with OAuth, if the server requires it.
 *
 * OAUTH-1  A token is sent only to the origin that it is for, which the user named. `http.ts`
 *          ensures this.
 * OAUTH-2  Client credentials and refresh tokens are sent only to the issuer that issued them. The
 *          issuer is discovered again after each refusal, and credentials are stored by issuer.
 * OAUTH-3  No message contains a token, a code, a secret, or text of an authorization server other
 *          than an error code.
 * OAUTH-4  The person is asked once for each refusal. If the server then refuses again for the same
 *          reason, the sign-in fails.
 */
import { type Operation, race, scoped, until, useAbortSignal, withResolvers } from "effection";
import {
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  type TokenEndpointResponse,
} from "oauth4webapi";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Vault } from "../../vault/types.ts";
import { ClientError } from "../client-error.ts";
import type { Authorization, HeaderLines, Refused } from "../http.ts";
import { type Callback, useCallback } from "./callback.ts";
import { type Challenge, NEEDS_NONCE, readChallenge } from "./challenge.ts";
import { Credentials, type StoredTokens } from "./credentials.ts";
import { discover, type Discovered, scopesFor } from "./discovery.ts";
import { codeOf, type Grant, grantForCode, grantForRefresh, reasonOf } from "./grants.ts";
import { PROOF_ALGORITHM, ProofKey } from "./proof-key.ts";
import { Reach } from "./reach.ts";
import {
  type ChosenClient,
  type GivenClient,
  givenClient,
  isUsable,
  registeredClient,
  storedClient,
} from "./registration.ts";

export interface OAuthOptions extends GivenClient {
  /** The URL of the server. */
  readonly url: string;
  /** The port of the callback on this machine. Default: any. */
  readonly callbackPort?: number | undefined;
  readonly vault: () => Promise<Vault>;
  /** Shows a page of the authorization server to the person. Undefined if that is not possible. */
  readonly browse: ((page: URL, issuer: string) => Operation<void>) | undefined;
  readonly clock?: Clock;
}

/** How long a person may take to sign in, in minutes. */
const MINUTES = 5;
/** Milliseconds before its expiry at which a token is no longer used. */
const MARGIN = 10_000;
/** How many times in a row a server may ask for another nonce in proofs. */
const MAX_NONCES = 5;

export class OAuth implements Authorization {
  readonly #options: OAuthOptions;
  readonly #server: URL;
  readonly #reach: Reach;
  readonly #clock: Clock;
  #credentials: Credentials | undefined;
  #tokens: StoredTokens | undefined;
  /** The key of the tokens. Undefined for bearer tokens. */
  #key: ProofKey | undefined;
  /** Set while one request renews the tokens. Others wait for it. */
  #busy: Operation<void> | undefined;
  /** The steps that were tried since the server last accepted a token. */
  #tried = { refreshed: false, signedIn: false, nonces: 0 };
  /** The scopes of the last sign-in (OAUTH-4). */
  #asked: ReadonlySet<string> | undefined;

  constructor(options: OAuthOptions) {
    this.#options = options;
    this.#server = new URL(options.url);
    this.#server.hash = "";
    this.#clock = options.clock ?? systemClock;
    this.#reach = new Reach(options.url, this.#clock);
  }

  get header(): string | undefined {
    return this.#tokens && `${this.#key ? "DPoP" : "Bearer"} ${this.#tokens.access}`;
  }

  *proof(method: string, url: URL): Operation<HeaderLines> {
    if (!this.#key || !this.#tokens) return {};
    return yield* until(this.#key.proof(this.#tokens.access, method, url));
  }

  *retry({ status, headers }: Refused, used: string | undefined): Operation<boolean> {
    const hasNonce = this.#key?.takeNonce(headers) ?? false;
    if (status !== 401 && status !== 403) {
      if (used !== undefined && used === this.header) {
        this.#tried = { refreshed: false, signedIn: false, nonces: 0 };
      }
      return false;
    }
    const challenge = readChallenge(headers);
    if (!challenge) return false;
    if (status === 403 && challenge.error !== "insufficient_scope") return false;
    if (challenge.error === NEEDS_NONCE && hasNonce) {
      return this.#tried.nonces++ < MAX_NONCES;
    }
    while (this.#busy) yield* this.#busy;
    if (this.header !== used) return true;
    const { operation, resolve } = withResolvers<void>();
    this.#busy = operation;
    try {
      return yield* this.#renew(challenge, status === 403);
    } finally {
      this.#busy = undefined;
      resolve();
    }
  }

  *#renew(challenge: Challenge, lacksScope: boolean): Operation<boolean> {
    const signal = yield* useAbortSignal();
    if (!this.#reach.isSafe(this.#server)) return false;
    // OAUTH-2: the server may have moved to another issuer.
    const found = yield* until(
      discover(this.#server, this.#withKey(challenge), this.#reach, signal),
    );
    // A server without metadata may only accept a fixed header.
    if (found.assumed && !this.#options.browse) return false;
    this.#credentials ??= new Credentials(yield* until(this.#options.vault()));
    if (!lacksScope && (yield* this.#useStored(found, signal))) return true;
    return yield* this.#signIn(found, challenge, lacksScope);
  }

  /**
   * Adds DPoP to the challenge of a server that got tokens with a key before, even if the challenge
   * does not mention it.
   */
  #withKey(challenge: Challenge): Challenge {
    return this.#key ? { ...challenge, dpop: "required" } : challenge;
  }

  /** Uses the tokens of an earlier sign-in: the access token, or the refresh token. */
  *#useStored(found: Discovered, signal: AbortSignal): Operation<boolean> {
    const { issuer } = found.issuer;
    const stored = yield* until(this.#credentials!.tokens(issuer, this.#server.href));
    if (!stored) return false;
    const chosen = yield* this.#knownClient(found);
    // Tokens belong to the client that got them.
    if (chosen?.client.client_id !== stored.clientId) return false;
    // The server may have begun to require proofs, which bearer tokens do not have.
    if (found.dpop === "required" && !stored.key) return false;
    if (stored.access !== this.#tokens?.access && this.#isFresh(stored)) {
      yield* until(this.#use(stored));
      return true;
    }
    if (stored.refresh === undefined || this.#tried.refreshed) return false;
    this.#tried.refreshed = true;
    return yield* until(this.#refresh(found, chosen, stored, signal));
  }

  /**
   * Only one process refreshes at a time. Many authorization servers accept a refresh token once, and
   * end the whole sign-in if it is used again.
   */
  async #refresh(
    found: Discovered,
    chosen: ChosenClient,
    known: StoredTokens,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { issuer } = found.issuer;
    return await this.#credentials!.refreshing(async () => {
      const stored = await this.#credentials!.tokens(issuer, this.#server.href);
      if (!stored || stored.clientId !== known.clientId) return false;
      if (stored.access !== known.access && this.#isFresh(stored)) {
        // Another process has refreshed the tokens.
        await this.#use(stored);
        return true;
      }
      if (stored.refresh === undefined) return false;
      const key = stored.key && await ProofKey.from(stored.key);
      try {
        const grant = this.#grant(found, chosen, key, signal);
        const answer = await grantForRefresh(grant, stored.refresh);
        await this.#keep(grant, answer, stored);
        return true;
      } catch (error) {
        if (error instanceof ClientError) throw error;
        await this.#forgetRefused(issuer, error);
        return false;
      }
    }, signal);
  }

  // Methods that sign in with the help of a person.

  *#signIn(
    found: Discovered,
    challenge: Challenge,
    lacksScope: boolean,
  ): Operation<boolean> {
    const { browse, callbackPort } = this.#options;
    // The new token replaces the old one, so it needs the scopes of the old one too.
    const granted = lacksScope ? this.#tokens?.scope?.split(" ") : undefined;
    const scopes = scopesFor(found, challenge, granted);
    this.#checkProgress(scopes, lacksScope);
    if (!browse) {
      throw new ClientError(
        `Cannot sign in to ${this.#server}: there is no terminal and no browser; run the command once in a terminal, set BROWSER, or pass --header "Authorization: …"`,
      );
    }
    this.#checkIssuer(found);
    const key = this.#wantsKey(found) ? yield* until(ProofKey.create()) : undefined;
    yield* this.#checkSecret(found.issuer.issuer);
    const before = yield* until(this.#credentials!.client(found.issuer.issuer));
    const oauth = this;
    return yield* scoped(function* () {
      const callback = yield* useCallback({ port: callbackPort, before: before?.port });
      const signal = yield* useAbortSignal();
      const chosen = yield* oauth.#clientFor(found, callback, signal);
      if (!chosen) return false;
      const grant = oauth.#grant(found, chosen, key, signal);
      const answer = yield* race([oauth.#authorize(grant, callback, scopes), oauth.#timeout()]);
      oauth.#tried.signedIn = true;
      oauth.#asked = new Set(scopes);
      if (found.dpop === "required" && answer.token_type !== "dpop") throw oauth.#notBound();
      const scope = scopes?.join(" ");
      yield* until(oauth.#keep(grant, answer, scope ? { scope } : {}));
      return true;
    });
  }

  /** Gives up if another sign-in cannot help (OAUTH-4). */
  #checkProgress(scopes: readonly string[] | undefined, lacksScope: boolean): void {
    if (lacksScope) {
      const asked = this.#asked;
      if (!asked || !(scopes ?? []).every((scope) => asked.has(scope))) return;
      throw new ClientError(
        `Cannot continue on ${this.#server}: your account does not get the scopes that the server requires; ask its operator for access`,
      );
    }
    if (!this.#tried.signedIn) return;
    throw new ClientError(
      `Cannot sign in to ${this.#server}: it refuses the token that its authorization server issued; report this to its operator`,
    );
  }

  #checkIssuer({ issuer, assumed }: Discovered): void {
    this.#reach.check(
      issuer.authorization_endpoint,
      "the sign-in page of its authorization server",
    );
    if (assumed || issuer.code_challenge_methods_supported?.includes("S256")) return;
    throw new ClientError(
      `Cannot sign in to ${this.#server}: its authorization server does not support PKCE with S256; report this to the operator of the server`,
    );
  }

  /** Whether tokens are bound to a key. */
  #wantsKey({ issuer, dpop }: Discovered): boolean {
    if (dpop === undefined) return false;
    if (issuer.dpop_signing_alg_values_supported?.includes(PROOF_ALGORITHM)) return true;
    if (dpop === "required") throw this.#notBound();
    return false;
  }

  #notBound(): ClientError {
    return new ClientError(
      `Cannot sign in to ${this.#server}: it requires tokens that are bound to a key (DPoP with ${PROOF_ALGORITHM}), and its authorization server does not issue them; report this to the operator of the server`,
    );
  }

  /**
   * Throws if the user gave a client secret, and the server now names a different issuer: the
   * secret is for the former issuer (OAUTH-2).
   */
  *#checkSecret(issuer: string): Operation<void> {
    if (this.#options.clientSecret === undefined) return;
    const former = yield* until(this.#credentials!.issuerOf(this.#server.href));
    if (former === undefined || former === issuer) return;
    throw new ClientError(
      `Cannot sign in to ${this.#server}: its authorization server has changed from ${former} to ${issuer}, which may not get your client secret; if you trust ${issuer}, run "parley sign-out ${this.#server}" and try again`,
    );
  }

  /** The client to sign in with. Undefined if the server does not use OAuth. */
  *#clientFor(
    found: Discovered,
    { port }: Callback,
    signal: AbortSignal,
  ): Operation<ChosenClient | undefined> {
    const given = givenClient(this.#options, found.issuer);
    if (given) return given;
    const { issuer } = found.issuer;
    const before = yield* until(this.#credentials!.client(issuer));
    if (before && isUsable(before, port, this.#clock.now())) {
      return storedClient(before, found.issuer);
    }
    const client = yield* until(registeredClient(found.issuer, port, this.#reach, signal));
    if (client) {
      yield* until(this.#credentials!.keepClient(issuer, client));
      return storedClient(client, found.issuer);
    }
    if (found.assumed) return undefined;
    throw new ClientError(
      `Cannot sign in to ${this.#server}: its authorization server ${issuer} does not register clients automatically; register a client there with the redirect URL http://127.0.0.1/callback, and pass --client-id`,
    );
  }

  *#knownClient({ issuer }: Discovered): Operation<ChosenClient | undefined> {
    const given = givenClient(this.#options, issuer);
    if (given) return given;
    const stored = yield* until(this.#credentials!.client(issuer.issuer));
    return stored && storedClient(stored, issuer);
  }

  *#authorize(
    grant: Grant,
    callback: Callback,
    scopes: readonly string[] | undefined,
  ): Operation<TokenEndpointResponse> {
    const { issuer, client, resource, key } = grant;
    const verifier = generateRandomCodeVerifier();
    const state = generateRandomState();
    const page = new URL(issuer.authorization_endpoint!);
    const asked = {
      response_type: "code",
      client_id: client.client_id,
      redirect_uri: callback.url,
      code_challenge: yield* until(calculatePKCECodeChallenge(verifier)),
      code_challenge_method: "S256",
      state,
      ...(scopes && { scope: scopes.join(" ") }),
      ...(scopes?.includes("offline_access") && { prompt: "consent" }),
      ...(resource !== undefined && { resource }),
      // Bind the authorization code to the key, too.
      ...(key && { dpop_jkt: yield* until(key.thumbprint()) }),
    };
    for (const [name, value] of Object.entries(asked)) page.searchParams.set(name, value);
    // Start to listen now, because the browser may return before `browse` has ended.
    const answer = callback.expect(state);
    yield* this.#options.browse!(page, issuer.issuer);
    const parameters = yield* answer;
    try {
      const returned = { parameters, state, redirect: callback.url, verifier };
      return yield* until(grantForCode(grant, returned));
    } catch (error) {
      if (error instanceof ClientError) throw error;
      yield* until(this.#forgetRefused(issuer.issuer, error));
      throw new ClientError(
        `Cannot sign in to ${this.#server}: ${reasonOf(error)}; try again`,
      );
    }
  }

  *#timeout(): Operation<never> {
    const { operation, resolve } = withResolvers<void>();
    const cancel = this.#clock.after(MINUTES * 60_000, resolve);
    try {
      yield* operation;
    } finally {
      cancel();
    }
    throw new ClientError(
      `Cannot sign in to ${this.#server}: nobody signed in within ${MINUTES} minutes; try again`,
    );
  }

  // Methods that store and use tokens.

  #grant(
    { issuer, resource }: Discovered,
    chosen: ChosenClient,
    key: ProofKey | undefined,
    signal: AbortSignal,
  ): Grant {
    return { ...chosen, issuer, resource, key, reach: this.#reach, signal };
  }

  #isFresh({ expiresAt = Infinity }: StoredTokens): boolean {
    return this.#clock.now() < expiresAt - MARGIN;
  }

  async #use(tokens: StoredTokens): Promise<void> {
    this.#key = tokens.key && await ProofKey.from(tokens.key);
    this.#tokens = tokens;
  }

  async #keep(
    { issuer: { issuer }, client, key }: Grant,
    answer: TokenEndpointResponse,
    before: { readonly refresh?: string; readonly scope?: string },
  ): Promise<void> {
    const isBound = answer.token_type === "dpop" && key !== undefined;
    if (!isBound && answer.token_type !== "bearer") {
      throw new ClientError(
        `Cannot sign in to ${this.#server}: its authorization server issued a token whose type is not "Bearer"; report this to the operator of the server`,
      );
    }
    const scope = answer.scope ?? before.scope;
    // Without rotation, the refresh token stays the same.
    const refresh = answer.refresh_token ?? before.refresh;
    const tokens = {
      clientId: client.client_id,
      access: answer.access_token,
      ...(refresh !== undefined && { refresh }),
      ...(scope !== undefined && { scope }),
      ...(answer.expires_in !== undefined &&
        { expiresAt: this.#clock.now() + answer.expires_in * 1_000 }),
      ...(isBound && { key: key.jwk }),
    };
    this.#tokens = tokens;
    this.#key = isBound ? key : undefined;
    await this.#credentials!.keepTokens(issuer, this.#server.href, tokens);
  }

  /** Forgets a registered client that the authorization server no longer knows. */
  async #forgetRefused(issuer: string, error: unknown): Promise<void> {
    const code = codeOf(error);
    if (code !== "invalid_client" && code !== "unauthorized_client") return;
    await this.#credentials!.keepClient(issuer, undefined);
  }
}
