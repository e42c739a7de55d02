/**
 * The OAuth client metadata. On a loopback address, the client id itself contains the metadata, and
 * the redirect may use any port. Otherwise, the client id is the URL of a document that this server
 * publishes.
 */

export const CALLBACK = "/bluesky/callback";
export const METADATA = "/bluesky/client-metadata.json";
const SCOPE = "atproto transition:generic";

/** The OAuth client id. Tokens are valid only for the client id that they were issued to. */
export function clientIdFor(site: { local: boolean; url: string | undefined }): string | undefined {
  if (site.local) {
    const query = new URLSearchParams({
      redirect_uri: `http://127.0.0.1${CALLBACK}`,
      scope: SCOPE,
    });
    return `http://localhost?${query.toString().replaceAll("+", "%20")}`;
  }
  // Authorization servers accept only https.
  return site.url?.startsWith("https://") ? `${site.url}${METADATA}` : undefined;
}

/** The redirect URI. It has an IP address, because `localhost` could resolve to another machine. */
export function redirectUriOf(page: string): string {
  const url = new URL(page);
  if (url.hostname === "localhost") url.hostname = "127.0.0.1";
  return url.href;
}

export function clientMetadata(clientId: string, redirectUri: string): object {
  const native = clientId.startsWith("http://localhost");
  return {
    client_id: clientId,
    client_name: "Parley",
    redirect_uris: [redirectUri],
    scope: SCOPE,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    application_type: native ? "native" : "web",
    dpop_bound_access_tokens: true,
    ...(!native && { client_uri: new URL(clientId).origin }),
  };
}
