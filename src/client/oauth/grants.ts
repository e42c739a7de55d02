/** Requests tokens from an authorization server. */
import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  AuthorizationResponseError,
  type AuthorizationServer,
  customFetch,
  isDPoPNonceError,
  processAuthorizationCodeResponse,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  ResponseBodyError,
  type TokenEndpointResponse,
  validateAuthResponse,
} from "oauth4webapi";
import type { ProofKey } from "./proof-key.ts";
import type { Reach } from "./reach.ts";
import type { ChosenClient } from "./registration.ts";

/** A request for tokens: the authorization server, and the server that the tokens are for. */
export interface Grant extends ChosenClient {
  readonly issuer: AuthorizationServer;
  /** The identifier of the server that the tokens are for. */
  readonly resource: string | undefined;
  /** The key that the tokens are bound to. Undefined for bearer tokens. */
  readonly key: ProofKey | undefined;
  readonly reach: Reach;
  readonly signal: AbortSignal;
}

export interface Returned {
  /** The parameters of the URL to which the browser returned. */
  readonly parameters: URLSearchParams;
  readonly state: string;
  readonly redirect: string;
  readonly verifier: string;
}

/** Exchanges a code. Checks `state` and `iss` first, so that a code of another issuer is not sent. */
export function grantForCode(
  grant: Grant,
  { parameters, state, redirect, verifier }: Returned,
): Promise<TokenEndpointResponse> {
  const { issuer, client, auth } = grant;
  const checked = validateAuthResponse(issuer, client, parameters, state);
  return withNonce(async () => {
    const response = await authorizationCodeGrantRequest(
      issuer,
      client,
      auth,
      checked,
      redirect,
      verifier,
      optionsOf(grant),
    );
    return await processAuthorizationCodeResponse(issuer, client, response);
  });
}

export function grantForRefresh(grant: Grant, token: string): Promise<TokenEndpointResponse> {
  const { issuer, client, auth } = grant;
  return withNonce(async () => {
    const response = await refreshTokenGrantRequest(
      issuer,
      client,
      auth,
      token,
      optionsOf(grant),
    );
    return await processRefreshTokenResponse(issuer, client, response);
  });
}

/** Sends a request again if the authorization server requires its nonce in the proof. */
async function withNonce<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    if (!isDPoPNonceError(error)) throw error;
    return await request();
  }
}

function optionsOf({ reach, signal, resource, key }: Grant) {
  return {
    [customFetch]: reach.fetch,
    // `Reach` allows http only for addresses of this machine.
    [allowInsecureRequests]: true,
    signal,
    ...(resource !== undefined && { additionalParameters: { resource } }),
    ...(key && { DPoP: key.handle }),
  };
}

/** The code of an error that an authorization server sent. */
export function codeOf(error: unknown): string | undefined {
  const known = error instanceof AuthorizationResponseError || error instanceof ResponseBodyError;
  return known ? /^[\w.-]{1,60}$/.exec(error.error)?.[0] ?? "an error" : undefined;
}

/** Why a sign-in failed. Contains only error codes (OAUTH-3). */
export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code === undefined) return "the answer of the authorization server is not valid";
  return code === "access_denied"
    ? "access was denied"
    : `the authorization server answered with "${code}"`;
}
