/** Turns the claims of a token into a principal. */
import type { Claim, Principal } from "../model/principal.ts";
import type { Profile } from "./profiles.ts";
import { TokenRefused } from "./refusal.ts";

/** The claims of a token, or the answer of an introspection endpoint. */
export interface Claims {
  readonly [name: string]: unknown;
}

/** Claims about the token itself. They change with every token and say nothing about the caller. */
const OF_THE_TOKEN = new Set(
  "iss sub aud exp nbf iat jti scope scp client_id azp cid cnf active token_type typ sid nonce at_hash auth_time"
    .split(" "),
);

/** Claims that only ID tokens have: they bind an ID token to a sign-in. */
const OF_ID_TOKENS = ["nonce", "at_hash", "c_hash", "s_hash"];

/** Maximum length of a subject. A token with a longer one is refused. */
const MAX_SUBJECT = 512;

/** A scope with which clients get refresh tokens. It gives no access to a server. */
const NOT_OURS = "offline_access";

/** The principal of a token whose claims have been verified. */
export function principalOf(issuer: string, claims: Claims, profile: Profile): Principal {
  const client = first(claims, profile.client);
  const { sub: subject = client } = claims;
  if (typeof subject !== "string" || subject === "" || subject.length > MAX_SUBJECT) {
    throw new TokenRefused("The access token has no valid subject");
  }
  if (profile.clients && (client === undefined || !profile.clients.includes(client))) {
    throw new TokenRefused("The access token was issued to another client");
  }
  for (const [claim, value] of Object.entries(profile.marks)) {
    if (claims[claim] !== undefined && claims[claim] !== value) {
      throw new TokenRefused("The token is not an access token");
    }
  }
  if (
    profile.resemblesIdToken &&
    (client === undefined || OF_ID_TOKENS.some((claim) => claims[claim] !== undefined))
  ) {
    throw new TokenRefused(
      "The token is not an access token",
      "it has the claims of an ID token, or it does not name its client",
    );
  }
  // A program that acts for itself has its client id as its subject. A person could have the same
  // name, so the id says whether the caller is a program or a person.
  const kind = subject === client ? "client" : "user";
  return Object.freeze({
    id: `${issuer}|${kind}|${subject}`,
    subject,
    issuer,
    ...(client !== undefined && { client }),
    scopes: Object.freeze(scopesIn(claims, profile.scopes)),
    claims: Object.freeze(
      Object.fromEntries(
        Object.entries(claims).filter(([name]) => !OF_THE_TOKEN.has(name)),
      ),
    ) as { readonly [name: string]: Claim },
  });
}

/** Whether an id belongs to a person who signs in at this issuer. */
export function isPersonOf(issuer: string, id: string): boolean {
  const bare = issuer.replace(/\/+$/, "");
  // The issuer's own metadata may write its URL with a slash at the end.
  return id.startsWith(`${bare}|user|`) || id.startsWith(`${bare}/|user|`);
}

function first(claims: Claims, names: readonly string[]): string | undefined {
  const name = names.find((name) => typeof claims[name] === "string" && claims[name] !== "");
  return name === undefined ? undefined : claims[name] as string;
}

function scopesIn(claims: Claims, names: readonly string[]): string[] {
  for (const name of names) {
    const value = claims[name];
    const scopes = typeof value === "string" ? value.split(" ") : value;
    if (!Array.isArray(scopes)) continue;
    return [...new Set(scopes.filter((one) => typeof one === "string" && one !== ""))]
      .filter((scope) => scope !== NOT_OURS);
  }
  return [];
}
