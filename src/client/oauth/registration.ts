/** The OAuth client with which this program signs in: its id and its authentication. */
import {
  allowInsecureRequests,
  type AuthorizationServer,
  type Client,
  type ClientAuth,
  ClientSecretPost,
  customFetch,
  dynamicClientRegistrationRequest,
  None,
  processDynamicClientRegistrationResponse,
} from "oauth4webapi";
import { ClientError } from "../client-error.ts";
import { callbackUrl } from "./callback.ts";
import type { StoredClient } from "./credentials.ts";
import type { Reach } from "./reach.ts";

/** A client that the user names with `--client-id` and related flags. */
export interface GivenClient {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** The URL of a client ID metadata document. It is also the client's id. */
  readonly clientMetadataUrl?: string | undefined;
}

export interface ChosenClient {
  readonly client: Client;
  readonly auth: ClientAuth;
}

/** The client that the user named, if the authorization server supports it. */
export function givenClient(
  { clientId, clientSecret, clientMetadataUrl }: GivenClient,
  issuer: AuthorizationServer,
): ChosenClient | undefined {
  if (clientId !== undefined) return chosen(issuer, clientId, clientSecret);
  const supported = issuer.client_id_metadata_document_supported === true;
  if (clientMetadataUrl === undefined || !supported) return undefined;
  return chosen(issuer, clientMetadataUrl);
}

export function storedClient({ id, secret, method }: StoredClient, issuer: AuthorizationServer) {
  return chosen(issuer, id, secret, method);
}

/** True if a client that was registered earlier can still be used, with this callback. */
export function isUsable({ port, secretExpiresAt = 0 }: StoredClient, at: number, now: number) {
  return port === at && (secretExpiresAt === 0 || secretExpiresAt * 1_000 > now);
}

/** Registers a client. Undefined if the authorization server refuses that. */
export async function registeredClient(
  issuer: AuthorizationServer,
  port: number,
  reach: Reach,
  signal: AbortSignal,
): Promise<StoredClient | undefined> {
  if (issuer.registration_endpoint === undefined) return undefined;
  const metadata = {
    client_name: "Parley",
    redirect_uris: [callbackUrl(port)],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    application_type: "native",
    token_endpoint_auth_method: wantedMethod(issuer),
  };
  // Register without scopes: some authorization servers grant a client only the scopes that it
  // registered.
  const response = await dynamicClientRegistrationRequest(issuer, metadata, {
    [customFetch]: reach.fetch,
    [allowInsecureRequests]: true,
    signal,
  });
  if (response.status >= 400 && response.status < 500) return undefined;
  try {
    const { client_id, client_secret, client_secret_expires_at, token_endpoint_auth_method } =
      await processDynamicClientRegistrationResponse(await lenient(response));
    return {
      id: client_id,
      port,
      ...(typeof client_secret === "string" && { secret: client_secret }),
      ...(typeof token_endpoint_auth_method === "string" && { method: token_endpoint_auth_method }),
      ...(typeof client_secret_expires_at === "number" &&
        { secretExpiresAt: client_secret_expires_at }),
    };
  } catch {
    throw new ClientError(
      `Cannot sign in: the authorization server ${issuer.issuer} sent an invalid answer to the registration of a client; pass --client-id`,
    );
  }
}

/**
 * Corrects a response: many authorization servers answer with status 200, or do not say when a
 * secret expires.
 */
async function lenient(response: Response): Promise<Response> {
  const value = await response.json();
  const whole = { client_secret_expires_at: 0, ...value };
  return Response.json(whole, { status: response.status === 200 ? 201 : response.status });
}

/** Prefers a client without a secret, because a program on a user's machine cannot protect one. */
function wantedMethod({ token_endpoint_auth_methods_supported: offered }: AuthorizationServer) {
  if (!offered || offered.includes("none")) return "none";
  return ["client_secret_basic", "client_secret_post"].find((one) => offered.includes(one)) ??
    "none";
}

function chosen(
  issuer: AuthorizationServer,
  id: string,
  secret?: string,
  method = secret === undefined ? "none" : secretMethod(issuer),
): ChosenClient {
  const client: Client = { client_id: id, token_endpoint_auth_method: method };
  if (secret === undefined || method === "none") return { client, auth: None() };
  if (method === "client_secret_post") return { client, auth: ClientSecretPost(secret) };
  if (method === "client_secret_basic") return { client, auth: basic(id, secret) };
  throw new ClientError(
    `Cannot sign in: the authorization server ${issuer.issuer} requires the authentication method "${method}", which Parley does not support; pass the --client-id of another client`,
  );
}

function secretMethod({ token_endpoint_auth_methods_supported: offered }: AuthorizationServer) {
  const known = ["client_secret_basic", "client_secret_post"];
  return offered ? known.find((one) => offered.includes(one)) ?? offered[0] : known[0];
}

/**
 * Like `ClientSecretBasic` of `oauth4webapi`, but it escapes only characters that must be escaped.
 * The original also escapes "-" and "_", which some authorization servers do not unescape.
 */
function basic(id: string, secret: string): ClientAuth {
  const escaped = (text: string) => encodeURIComponent(text).replaceAll("%20", "+");
  return (_issuer, _client, _body, headers) => {
    headers.set("authorization", `Basic ${btoa(`${escaped(id)}:${escaped(secret)}`)}`);
  };
}
