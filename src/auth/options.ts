/** Checks the options of access control when a server is created. */
import type { AuthOptions, IssuerOptions } from "../server/access.ts";
import { isLoopback } from "../server/guard.ts";
import type { ParleyOptions } from "../server/options.ts";
import { profileOf } from "./profiles.ts";

export function issuerUrls({ issuers = [] }: AuthOptions): string[] {
  return issuers.map((given) => typeof given === "string" ? given : given.issuer);
}

export function checkAuthOptions(options: ParleyOptions & { readonly auth: AuthOptions }): void {
  const { auth, publicUrl } = options;
  if (options.principal) {
    throw new TypeError(
      'Cannot use the options "auth" and "principal" together: each names the caller; keep one of them',
    );
  }
  const { issuers = [] } = auth;
  if (issuers.length === 0 && auth.tokenFile === undefined) {
    throw new TypeError(
      "Cannot check tokens: no issuer and no token file is configured; set auth.issuers or auth.tokenFile",
    );
  }
  issuerUrls(auth).forEach(checkIssuer);
  for (const given of issuers) if (typeof given !== "string") profileOf(given);
  const introspected = issuers.filter((given) => (given as IssuerOptions).introspection);
  if (introspected.length > 1) {
    throw new TypeError(
      "Cannot introspect tokens: several issuers have introspection, but an introspected token does not name its issuer; configure introspection for one issuer only",
    );
  }
  if (issuers.length > 0 && auth.resource === undefined && publicUrl === undefined) {
    throw new TypeError(
      "Cannot check tokens: the server does not know its own address, so it cannot check the audience of a token; set publicUrl or auth.resource",
    );
  }
  if (auth.signIn && issuers.length === 0) {
    throw new TypeError(
      "Cannot sign people in: no issuer is configured; set auth.issuers",
    );
  }
  if (auth.scopes?.includes("offline_access")) {
    throw new TypeError(
      'Cannot require the scope "offline_access": it is for clients, to get refresh tokens; leave it out',
    );
  }
}

function checkIssuer(issuer: string): void {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (!url || url.search || url.hash || issuer.includes("|")) {
    throw new TypeError(
      `Cannot trust issuer "${issuer}": it is not the URL of an issuer; pass a URL such as "https://login.example.com"`,
    );
  }
  if (url.protocol === "https:" || url.protocol === "http:" && isLoopback(url.host)) return;
  throw new TypeError(
    `Cannot trust issuer "${issuer}": its URL is not https; use https, because only issuers on this machine may use http`,
  );
}
