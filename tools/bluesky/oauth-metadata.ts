/**
 * Who we are to an authorization server. On this machine, a client needs no
 * document: its name says all of it, and the port of the redirect may be any.
 * Elsewhere its name is the address of a document that we serve.
 */

export const CALLBACK = "/bluesky/callback";
export const METADATA = "/bluesky/client-metadata.json";
const SCOPE = "atproto transition:generic";

/** The name of the client; a sign-in is good only with the one it was made with. */
export function clientIdFor(site: { local: boolean; url: string | undefined }): string | undefined {
  if (site.local) {
    const query = new URLSearchParams({
      redirect_uri: `http://127.0.0.1${CALLBACK}`,
      scope: SCOPE,
    });
    return `http://localhost?${query.toString().replaceAll("+", "%20")}`;
  }
  // Nothing else is accepted there.
  return site.url?.startsWith("https://") ? `${site.url}${METADATA}` : undefined;
}

/** Redirects go to an address, not to a name that could be another's. */
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
