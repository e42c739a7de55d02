/** Reads what a server asks for when it refuses a request: the `WWW-Authenticate` header. */

/** The error of a server that wants its nonce in the next proof (RFC 9449). */
export const NEEDS_NONCE = "use_dpop_nonce";

/** A challenge for OAuth. */
export interface Challenge {
  /** The URL of the protected resource metadata. */
  readonly resourceMetadata?: string;
  /** The scopes that the request needs, separated by spaces. */
  readonly scope?: string;
  readonly error?: string;
  /**
   * Says whether tokens may (`offered`) or must (`required`) be bound to a key of the client
   * (DPoP).
   */
  readonly dpop?: "offered" | "required";
}

/** Matches the name of a scheme, or a parameter and its value. */
const PART = /[\s,]*([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/y;

/**
 * Reads the `Bearer` and `DPoP` challenges. Empty if the server sent no challenge at all; undefined if
 * it asks for something other than OAuth, such as a password.
 */
export function readChallenge(headers: Headers): Challenge | undefined {
  const text = headers.get("www-authenticate")?.trim();
  if (!text) return {};
  const all = challengesIn(text);
  const bearer = all.find(({ scheme }) => scheme === "bearer")?.parameters;
  const dpop = all.find(({ scheme }) => scheme === "dpop")?.parameters;
  if (!bearer && !dpop) return undefined;
  const { resource_metadata: resourceMetadata, scope, error: said } = { ...dpop, ...bearer };
  // Prefer this error, because a missing nonce is easy to correct. The `Bearer` challenge may say
  // that the token is not valid.
  const error = dpop?.error === NEEDS_NONCE ? NEEDS_NONCE : said;
  return {
    ...(resourceMetadata && { resourceMetadata }),
    ...(scope?.trim() && { scope: scope.trim() }),
    ...(error && { error }),
    ...(dpop && { dpop: bearer ? "offered" : "required" }),
  };
}

interface Scheme {
  readonly scheme: string;
  readonly parameters: { [name: string]: string };
}

function challengesIn(text: string): Scheme[] {
  const found: Scheme[] = [];
  PART.lastIndex = 0;
  for (let part = PART.exec(text); part; part = PART.exec(text)) {
    const [, name = "", quoted, plain] = part;
    const value = quoted?.replaceAll(/\\(.)/g, "$1") ?? plain;
    if (value === undefined) found.push({ scheme: name.toLowerCase(), parameters: {} });
    else if (found.length > 0) found.at(-1)!.parameters[name.toLowerCase()] = value;
  }
  return found;
}
