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
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  AuthorizationResponseError,
  calculatePKCECodeChallenge,
  customFetch,
  generateRandomCodeVerifier,
  generateRandomState,
  processAuthorizationCodeResponse,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  ResponseBodyError,
  type TokenEndpointResponse,
  validateAuthResponse,
} from "oauth4webapi";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Vault } from "../../vault/types.ts";
import { ClientError } from "../client-error.ts";
import type { Authorization, Refused } from "../http.ts";
import { type Callback, useCallback } from "./callback.ts";
import { type Challenge, readChallenge } from "./challenge.ts";
import { Credentials, type StoredTokens } from "./credentials.ts";
import { discover, type Discovered, scopesFor } from "./discovery.ts";
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

export class OAuth implements Authorization {
  readonly #options: OAuthOptions;
  readonly #server: URL;
  readonly #reach: Reach;
  readonly #clock: Clock;
  #credentials: Credentials | undefined;
  #tokens: StoredTokens | undefined;
  /** Set while one request renews the tokens. Others wait for it. */
  #busy: Operation<void> | undefined;
  /** What was tried since the server last accepted a token. */
  #tried = { refreshed: false, signedIn: false };
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
    return this.#tokens && `Bearer ${this.#tokens.access}`;
  }

  *retry({ status, headers }: Refused, used: string | undefined): Operation<boolean> {
    if (status !== 401 && status !== 403) {
      if (used !== undefined && used === this.header) {
        this.#tried = { refreshed: false, signedIn: false };
      }
      return false;
    }
    const challenge = readChallenge(headers);
    if (!challenge) return false;
    if (status === 403 && challenge.error !== "insufficient_scope") return false;
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
    const found = yield* until(discover(this.#server, challenge, this.#reach, signal));
    // Without metadata, the server may just want a fixed header.
    if (found.assumed && !this.#options.browse) return false;
    this.#credentials ??= new Credentials(yield* until(this.#options.vault()));
    if (!lacksScope && (yield* this.#useStored(found, signal))) return true;
    return yield* this.#signIn(found, challenge, lacksScope);
  }

  /** Uses the tokens of an earlier sign-in: the access token, or the refresh token. */
  *#useStored(found: Discovered, signal: AbortSignal): Operation<boolean> {
    const { issuer } = found.issuer;
    const stored = yield* until(this.#credentials!.tokens(issuer, this.#server.href));
    if (!stored) return false;
    const chosen = yield* this.#knownClient(found);
    // Tokens belong to the client that got them.
    if (chosen?.client.client_id !== stored.clientId) return false;
    const { expiresAt = Infinity } = stored;
    if (stored.access !== this.#tokens?.access && this.#clock.now() < expiresAt - MARGIN) {
      this.#tokens = stored;
      return true;
    }
    if (stored.refresh === undefined || this.#tried.refreshed) return false;
    this.#tried.refreshed = true;
    return yield* this.#refresh(found, chosen, stored, signal);
  }

  *#refresh(
    { issuer, resource }: Discovered,
    { client, auth }: ChosenClient,
    stored: StoredTokens,
    signal: AbortSignal,
  ): Operation<boolean> {
    let answer: TokenEndpointResponse;
    try {
      const response = yield* until(
        refreshTokenGrantRequest(issuer, client, auth, stored.refresh!, {
          ...this.#requestOptions(signal, resource),
        }),
      );
      answer = yield* until(processRefreshTokenResponse(issuer, client, response));
    } catch (error) {
      if (error instanceof ClientError) throw error;
      yield* this.#forgetRefused(issuer.issuer, error);
      const now = yield* until(this.#credentials!.tokens(issuer.issuer, this.#server.href));
      if (!now || now.access === stored.access) return false;
      // Another process has refreshed the tokens at the same time.
      this.#tokens = now;
      return true;
    }
    yield* this.#keep(issuer.issuer, client.client_id, answer, stored);
    return true;
  }

  // -------------------------------------------------------------- with a person

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
    yield* this.#checkSecret(found.issuer.issuer);
    const before = yield* until(this.#credentials!.client(found.issuer.issuer));
    const oauth = this;
    return yield* scoped(function* () {
      const callback = yield* useCallback({ port: callbackPort, before: before?.port });
      const signal = yield* useAbortSignal();
      const chosen = yield* oauth.#clientFor(found, callback, signal);
      if (!chosen) return false;
      const answer = yield* race([
        oauth.#authorize(found, chosen, callback, scopes, signal),
        oauth.#timeout(),
      ]);
      oauth.#tried.signedIn = true;
      oauth.#asked = new Set(scopes);
      const scope = scopes?.join(" ");
      yield* oauth.#keep(
        found.issuer.issuer,
        chosen.client.client_id,
        answer,
        scope ? { scope } : {},
      );
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

  /** A secret that the user gave is for one issuer. A server must not direct it to another (OAUTH-2). */
  *#checkSecret(issuer: string): Operation<void> {
    if (this.#options.clientSecret === undefined) return;
    const former = yield* until(this.#credentials!.issuerOf(this.#server.href));
    if (former === undefined || former === issuer) return;
    throw new ClientError(
      `Cannot sign in to ${this.#server}: its authorization server was ${former} and is now ${issuer}, which must not get your client secret; if you trust it, run "parley sign-out ${this.#server}" and try again`,
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
      `Cannot sign in to ${this.#server}: its authorization server ${issuer} does not let programs register; register a client there with the redirect URL http://127.0.0.1/callback, and pass --client-id`,
    );
  }

  *#knownClient({ issuer }: Discovered): Operation<ChosenClient | undefined> {
    const given = givenClient(this.#options, issuer);
    if (given) return given;
    const stored = yield* until(this.#credentials!.client(issuer.issuer));
    return stored && storedClient(stored, issuer);
  }

  *#authorize(
    { issuer, resource }: Discovered,
    { client, auth }: ChosenClient,
    callback: Callback,
    scopes: readonly string[] | undefined,
    signal: AbortSignal,
  ): Operation<TokenEndpointResponse> {
    const verifier = generateRandomCodeVerifier();
    const state = generateRandomState();
    const page = new URL(issuer.authorization_endpoint!);
    const parameters = {
      response_type: "code",
      client_id: client.client_id,
      redirect_uri: callback.url,
      code_challenge: yield* until(calculatePKCECodeChallenge(verifier)),
      code_challenge_method: "S256",
      state,
      ...(scopes && { scope: scopes.join(" ") }),
      ...(scopes?.includes("offline_access") && { prompt: "consent" }),
      ...(resource !== undefined && { resource }),
    };
    for (const [name, value] of Object.entries(parameters)) page.searchParams.set(name, value);
    // The browser may return before `browse` does.
    const answer = callback.expect(state);
    yield* this.#options.browse!(page, issuer.issuer);
    const returned = yield* answer;
    try {
      const checked = validateAuthResponse(issuer, client, returned, state);
      const response = yield* until(authorizationCodeGrantRequest(
        issuer,
        client,
        auth,
        checked,
        callback.url,
        verifier,
        this.#requestOptions(signal, resource),
      ));
      return yield* until(processAuthorizationCodeResponse(issuer, client, response));
    } catch (error) {
      if (error instanceof ClientError) throw error;
      yield* this.#forgetRefused(issuer.issuer, error);
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

  // ---------------------------------------------------------------------- tokens

  *#keep(
    issuer: string,
    clientId: string,
    answer: TokenEndpointResponse,
    before: { readonly refresh?: string; readonly scope?: string },
  ): Operation<void> {
    if (answer.token_type !== "bearer") {
      throw new ClientError(
        `Cannot sign in to ${this.#server}: its authorization server issued a token whose type is not "Bearer"; report this to the operator of the server`,
      );
    }
    const scope = answer.scope ?? before.scope;
    // Without rotation, the refresh token stays the same.
    const refresh = answer.refresh_token ?? before.refresh;
    this.#tokens = {
      clientId,
      access: answer.access_token,
      ...(refresh !== undefined && { refresh }),
      ...(scope !== undefined && { scope }),
      ...(answer.expires_in !== undefined &&
        { expiresAt: this.#clock.now() + answer.expires_in * 1_000 }),
    };
    yield* until(this.#credentials!.keepTokens(issuer, this.#server.href, this.#tokens));
  }

  /** Forgets a registered client that the authorization server no longer knows. */
  *#forgetRefused(issuer: string, error: unknown): Operation<void> {
    const code = error instanceof ResponseBodyError ? error.error : undefined;
    if (code !== "invalid_client" && code !== "unauthorized_client") return;
    yield* until(this.#credentials!.keepClient(issuer, undefined));
  }

  #requestOptions(signal: AbortSignal, resource: string | undefined) {
    return {
      [customFetch]: this.#reach.fetch,
      // `Reach` allows http only for addresses of this machine.
      [allowInsecureRequests]: true,
      signal,
      ...(resource !== undefined && { additionalParameters: { resource } }),
    };
  }
}

/** Why a sign-in failed. Contains only error codes (OAUTH-3). */
function reasonOf(error: unknown): string {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const code = /^[\w.-]{1,60}$/.exec(error.error)?.[0] ?? "an error";
    return code === "access_denied"
      ? "access was denied"
      : `the authorization server answered with "${code}"`;
  }
  return "the answer of the authorization server is not valid";
}
