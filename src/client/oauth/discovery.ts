/**
 * Finds the authorization server of an MCP server that refused a request. Reads first the metadata
 * of the protected resource (RFC 9728), then the metadata of the authorization server (RFC 8414, or
 * OpenID Connect Discovery).
 */
import { type AuthorizationServer, processDiscoveryResponse } from "oauth4webapi";
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import { ClientError } from "../client-error.ts";
import type { Challenge } from "./challenge.ts";
import type { Reach } from "./reach.ts";

/** The data that is needed to sign in to a server. */
export interface Discovered {
  readonly issuer: AuthorizationServer;
  /** The identifier of the server, for the `resource` parameter. */
  readonly resource: string | undefined;
  /** The scopes that the server lists. */
  readonly scopes: readonly string[] | undefined;
  /** Whether the server wants tokens that are bound to a key of the client (DPoP). */
  readonly dpop: Challenge["dpop"];
  /** True if there was no metadata, so that the addresses of revision 2025-03-26 are assumed. */
  readonly assumed: boolean;
}

export async function discover(
  server: URL,
  challenge: Challenge,
  reach: Reach,
  signal: AbortSignal,
): Promise<Discovered> {
  const metadata = await resourceMetadata(server, challenge, reach, signal);
  const named = Array.isArray(metadata?.authorization_servers)
    ? metadata.authorization_servers[0]
    : undefined;
  const address = reach.check(named ?? server.origin, "its authorization server");
  const issuer = await issuerMetadata(address, reach, signal);
  if (!issuer && metadata) {
    throw new ClientError(
      `Cannot sign in to ${server}: its authorization server ${address} has no metadata; report this to the operator of the server`,
    );
  }
  const scopes = metadata?.scopes_supported;
  return {
    issuer: issuer ?? assumedIssuer(server),
    resource: metadata && resourceIn(metadata, server),
    scopes: Array.isArray(scopes) ? scopes.map(String) : undefined,
    dpop: metadata?.dpop_bound_access_tokens_required === true ? "required" : challenge.dpop,
    assumed: !issuer,
  };
}

/** The scopes to ask for. Undefined leaves them to the authorization server. */
export function scopesFor(
  { issuer, scopes: listed }: Discovered,
  { scope }: Challenge,
  granted: readonly string[] = [],
): string[] | undefined {
  const all = new Set([...granted, ...scope?.split(/\s+/) ?? listed ?? []]);
  if (all.size === 0) return undefined;
  // If the authorization server has this scope, a refresh token needs it.
  if (issuer.scopes_supported?.includes("offline_access")) all.add("offline_access");
  return [...all];
}

// The metadata of the server, which is the protected resource.

/** The metadata of the server. Undefined if there is none, as on servers of revision 2025-03-26. */
async function resourceMetadata(
  server: URL,
  { resourceMetadata: named }: Challenge,
  reach: Reach,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const wellKnown = "/.well-known/oauth-protected-resource";
  const path = server.pathname === "/" ? "" : server.pathname;
  const addresses = named !== undefined
    ? [reach.check(named, "its resource metadata")]
    : unique([`${wellKnown}${path}`, wellKnown]).map((path) => new URL(path, server.origin));
  for (const address of addresses) {
    const response = await get(address, reach, signal);
    if (response?.status !== 200) continue;
    const value: unknown = await response.json().catch(() => undefined);
    if (isObject(value)) return value;
    throw new ClientError(
      `Cannot sign in to ${server}: its metadata at ${address} is not a JSON object; report this to the operator of the server`,
    );
  }
  if (named === undefined) return undefined;
  throw new ClientError(
    `Cannot sign in to ${server}: it says that its metadata is at ${named}, but there is none; report this to the operator of the server`,
  );
}

/**
 * The resource identifier in the metadata. It must identify this server. Otherwise, this server
 * could get tokens for another one.
 */
function resourceIn({ resource }: JsonObject, server: URL): string {
  const url = typeof resource === "string" ? URL.parse(resource) : undefined;
  const folder = (path: string) => path.endsWith("/") ? path : `${path}/`;
  if (
    url && url.origin === server.origin &&
    folder(server.pathname).startsWith(folder(url.pathname))
  ) return resource as string;
  throw new ClientError(
    `Cannot sign in to ${server}: its metadata is for ${
      url ?? "another server"
    }; check the address, or report this to the operator of the server`,
  );
}

// The metadata of the authorization server.

/**
 * The metadata of an issuer. Undefined if there is none. Throws if the metadata names another
 * issuer.
 */
export async function issuerMetadata(
  issuer: URL,
  reach: Reach,
  signal: AbortSignal,
): Promise<AuthorizationServer | undefined> {
  const path = issuer.pathname.replace(/\/$/, "");
  const places = unique([
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    `${path}/.well-known/openid-configuration`,
  ]);
  for (const place of places) {
    const response = await get(new URL(place, issuer.origin), reach, signal);
    if (response?.status !== 200) continue;
    try {
      return await processDiscoveryResponse(issuer, response);
    } catch {
      throw new ClientError(
        `Cannot sign in: the metadata of the authorization server ${issuer} is not valid, or names another issuer; report this to the operator of the server`,
      );
    }
  }
  return undefined;
}

/** The addresses that revision 2025-03-26 prescribes for servers without metadata. */
function assumedIssuer({ origin }: URL): AuthorizationServer {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
  };
}

/** Requests a document. Undefined if the document does not exist. */
async function get(
  address: URL,
  reach: Reach,
  signal: AbortSignal,
): Promise<Response | undefined> {
  const response = await reach.fetch(address, {
    headers: { accept: "application/json" },
    signal,
  });
  if (response.status < 500) return response;
  throw new ClientError(
    `Cannot sign in: ${address} answered with HTTP status ${response.status}; try again later`,
  );
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
