/**
 * Signs in people who open a page. The server is an OAuth client of the issuer, and requests a
 * token for itself.
 *
 * SIGN-IN-1  A sealed cookie binds each attempt to the browser that started it: `state`, the PKCE
 *            verifier, and the page to return to.
 * SIGN-IN-2  The issuer's token is checked like the tokens of MCP clients, so that a person is the
 *            same principal in a browser and in a client. After that, the token is discarded.
 */
import {
  authorizationCodeGrantRequest,
  type AuthorizationServer,
  calculatePKCECodeChallenge,
  type Client,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  generateRandomCodeVerifier,
  generateRandomState,
  None,
  processAuthorizationCodeResponse,
  validateAuthResponse,
} from "oauth4webapi";
import type { Principal } from "../model/principal.ts";
import type { SignInOptions } from "../server/access.ts";
import { type BrowserSessions, cookieIn } from "./browser-session.ts";
import type { Issuer } from "./issuer.ts";

const CONTEXT = "sign-in";
/** Milliseconds within which a person must sign in. */
const ATTEMPT_TIME = 600_000;

interface Attempt {
  readonly state: string;
  readonly verifier: string;
  /** The page to return to, as a path of this server. */
  readonly page: string;
  /** The scopes that the issuer is asked for. */
  readonly scopes: readonly string[];
}

export interface SignInParts {
  readonly options: SignInOptions;
  readonly issuer: Issuer;
  readonly sessions: BrowserSessions;
  readonly scopes: readonly string[];
  /** The URL of the MCP endpoint, which the token must be for. */
  resource(): string;
  /** The URL to which the issuer sends the browser back. */
  callback(): string;
  now(): number;
  /** Called with the reason if a person could not sign in. */
  refused(error: unknown): void;
  /** Checks a token in the same way as the tokens of MCP clients (SIGN-IN-2). */
  check(token: string): Promise<Principal>;
}

export class SignIn {
  readonly #parts: SignInParts;
  readonly #client: Client;

  constructor(parts: SignInParts) {
    this.#parts = parts;
    this.#client = { client_id: parts.options.clientId };
  }

  /**
   * Sends the browser to the issuer. `more` are scopes that only this page needs. If `asksWho` is
   * true, the issuer asks who the person is, even if it knows.
   */
  async begin(page: string, more: readonly string[], asksWho: boolean): Promise<Response> {
    const { issuer, sessions, now } = this.#parts;
    const scopes = [...new Set([...this.#parts.scopes, ...more])];
    const server = await issuer.metadata.get();
    const attempt: Attempt = {
      state: generateRandomState(),
      verifier: generateRandomCodeVerifier(),
      page,
      scopes,
    };
    const url = await issuer.signInUrl();
    const parameters = {
      response_type: "code",
      client_id: this.#client.client_id,
      redirect_uri: this.#parts.callback(),
      state: attempt.state,
      resource: this.#parts.resource(),
      code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: "S256",
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
      ...(asksWho && { prompt: promptOf(server) }),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    const cookie = sessions.cookie(
      cookieName(attempt.state),
      attempt,
      CONTEXT,
      ATTEMPT_TIME,
      now(),
    );
    return redirect(url.href, [cookie]);
  }

  /**
   * Handles the browser's return from the issuer. Starts a session, or returns an error response.
   */
  async finish(request: Request): Promise<Response> {
    const { issuer, sessions, now } = this.#parts;
    const url = new URL(request.url);
    const name = cookieName(url.searchParams.get("state") ?? "");
    const sealed = cookieIn(request, name);
    // SIGN-IN-1.
    const attempt = sessions.open(sealed, CONTEXT, now()) as Attempt | undefined;
    if (!attempt) return failure("the sign-in was not started in this browser, or took too long");
    try {
      const server = await issuer.metadata.get();
      const token = await this.#exchange(server, url.searchParams, attempt);
      const person = await this.#parts.check(token);
      // The origin comes first, so that no path can lead to another server.
      const page = new URL(this.#parts.callback()).origin + attempt.page;
      return redirect(page, [sessions.begin(person, now(), attempt.scopes), sessions.remove(name)]);
    } catch (error) {
      // Tell only the operator the reason: the person cannot do anything about it.
      this.#parts.refused(error);
      // End the session: otherwise, an old session that has not expired would lead to this error
      // again.
      return failure("the sign-in service refused the request", [sessions.end()]);
    }
  }

  async #exchange(
    server: AuthorizationServer,
    given: URLSearchParams,
    { state, verifier }: Attempt,
  ): Promise<string> {
    const { issuer } = this.#parts;
    const parameters = validateAuthResponse(server, this.#client, given, state);
    const response = await authorizationCodeGrantRequest(
      server,
      this.#client,
      this.#authentication(server),
      parameters,
      this.#parts.callback(),
      verifier,
      { ...issuer.http, additionalParameters: { resource: this.#parts.resource() } },
    );
    const tokens = await processAuthorizationCodeResponse(server, this.#client, response);
    return tokens.access_token;
  }

  #authentication(server: AuthorizationServer): ClientAuth {
    const { clientSecret } = this.#parts.options;
    if (clientSecret === undefined) return None();
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    return methods.includes("client_secret_basic")
      ? ClientSecretBasic(clientSecret)
      : ClientSecretPost(clientSecret);
  }
}

/** The value of `prompt` with which the issuer asks who a person is (OpenID Connect). */
function promptOf({ prompt_values_supported: values }: AuthorizationServer): string {
  return Array.isArray(values) && values.includes("select_account") ? "select_account" : "login";
}

/** Each attempt has its own cookie, so that two pages can be opened at once. */
function cookieName(state: string): string {
  return `parley_sign_in_${state.replace(/\W/g, "").slice(0, 12)}`;
}

const HEADERS = {
  "cache-control": "no-store",
  // The URL contains a code, so no page may receive it as the referrer.
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

function redirect(location: string, cookies: readonly string[]): Response {
  const headers = new Headers({ ...HEADERS, location });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}

function failure(why: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ ...HEADERS, "content-type": "text/plain; charset=utf-8" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  const text = `Cannot sign you in: ${why}; go back and open the page again`;
  return new Response(text, { status: 400, headers });
}
