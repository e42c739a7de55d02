/**
 * Verifies access tokens.
 *
 * VERIFY-1  A token is verified only with the keys of the issuer that it names. If it does not name
 *           its key, all keys of that issuer with a fitting algorithm are tried.
 * VERIFY-2  Only asymmetric algorithms are accepted, so that a public key is never used as a
 *           secret.
 * VERIFY-3  A token that is bound to a key is accepted only with a proof for that key (RFC 9449).
 */
import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type JWTVerifyOptions,
  type JWTVerifyResult,
} from "jose";
import {
  ClientSecretBasic,
  introspectionRequest,
  processIntrospectionResponse,
} from "oauth4webapi";
import { messageOf } from "../lib/message-of.ts";
import type { Principal } from "../model/principal.ts";
import type { AuthOptions } from "../server/access.ts";
import type { Reach } from "./bounded-fetch.ts";
import { type Claims, principalOf } from "./claims.ts";
import { Issuer, type KeySet } from "./issuer.ts";
import { IssuerUnavailable, TokenExpired, TokenRefused } from "./refusal.ts";

/** The accepted algorithms (VERIFY-2). */
export const ALGORITHMS = "ES256 ES384 ES512 RS256 RS384 RS512 PS256 PS384 PS512 EdDSA Ed25519"
  .split(" ") as never[];

/** Seconds by which clocks may differ. */
export const CLOCK_SKEW = 5;

/** How many keys are tried for a token that does not name its key. */
const MAX_TRIED_KEYS = 8;

/** Milliseconds for which an accepted token is not verified again. */
const KEPT_FOR = 300_000;
/** The same for introspected tokens. It is shorter, because they can be revoked at any time. */
const INTROSPECTED_KEPT_FOR = 10_000;
/**
 * Maximum number of concurrent introspection requests. There is a limit, because callers without a
 * valid token can cause them.
 */
const MAX_INTROSPECTIONS = 64;
const INTROSPECTION_DELAY = 1_000;

/**
 * Values of `token_type` in an introspection response, in lower case. RFC 7662 wants the type of the
 * access token. Some issuers send the type hint instead.
 */
const ACCESS_TYPES = ["bearer", "dpop", "access_token"];

/** A token that was verified. */
export interface Verified {
  readonly principal: Principal;
  /** When the token must be verified again, in milliseconds since the epoch. */
  readonly until: number;
  /** When streams of the token end, in milliseconds since the epoch. */
  readonly streamsUntil: number;
  /** The thumbprint of the key that the caller must prove to have (VERIFY-3). */
  readonly jkt?: string | undefined;
}

export class Tokens {
  readonly #reach: Reach;
  readonly #audience: () => readonly string[];
  readonly #issuers = new Map<string, Issuer>();
  readonly #introspected: Issuer | undefined;
  #introspections = 0;
  #introspectAt = 0;

  /** `audience` returns the audiences that tokens may be for. */
  constructor({ issuers = [] }: AuthOptions, reach: Reach, audience: () => readonly string[]) {
    this.#reach = reach;
    this.#audience = audience;
    for (const given of issuers) {
      const issuer = new Issuer(typeof given === "string" ? { issuer: given } : given, reach);
      this.#issuers.set(withoutSlash(issuer.url), issuer);
    }
    const introspected = [...this.#issuers.values()].filter(({ introspection }) => introspection);
    this.#introspected = introspected[0];
  }

  /** The issuer at which people sign in: the first one. */
  get first(): Issuer {
    return this.#issuers.values().next().value!;
  }

  /** Throws `TokenRefused` or `IssuerUnavailable`. */
  async verify(token: string): Promise<Verified> {
    const issuer = this.#issuerOf(token);
    if (issuer) return await this.#verifyJwt(token, issuer);
    if (this.#introspected) return await this.#introspect(token, this.#introspected);
    throw new TokenRefused(NOT_VALID, "it is not a JWT, and no issuer is set up for introspection");
  }

  /** Returns the issuer that the token names (VERIFY-1). Undefined if the token is not a JWT. */
  #issuerOf(token: string): Issuer | undefined {
    let named: unknown;
    try {
      named = decodeJwt(token).iss;
    } catch {
      return undefined;
    }
    const issuer = typeof named === "string" ? this.#issuers.get(withoutSlash(named)) : undefined;
    if (issuer) return issuer;
    throw new TokenRefused(NOT_VALID, "it is of another issuer");
  }

  async #verifyJwt(token: string, issuer: Issuer): Promise<Verified> {
    const keys = await issuer.keys.get();
    try {
      return await this.#verifyWith(keys, token, issuer);
    } catch (error) {
      if (!isOfAnotherKey(error, token)) throw refusalOf(error);
    }
    // The issuer may have added a key in the meantime.
    const newer = await issuer.keys.newerThan(keys);
    if (newer === keys) throw new TokenRefused(NOT_VALID, "the issuer has no such key");
    try {
      return await this.#verifyWith(newer, token, issuer);
    } catch (error) {
      throw refusalOf(error);
    }
  }

  async #verifyWith(keys: KeySet, token: string, issuer: Issuer): Promise<Verified> {
    const { profile } = issuer;
    const name = await issuer.name();
    const { payload, protectedHeader } = await verifiedByOneOf(keys, token, {
      issuer: name,
      ...(profile.audience && { audience: [...this.#audience()] }),
      algorithms: ALGORITHMS,
      requiredClaims: [...profile.required],
      clockTolerance: CLOCK_SKEW,
      currentDate: new Date(this.#reach.clock.now()),
    });
    const type = (protectedHeader.typ ?? "").toLowerCase();
    if (profile.types && !profile.types.includes(type)) {
      throw new TokenRefused("The token is not an access token", `its type is "${type}"`);
    }
    return this.#accepted(principalOf(name, payload, profile), payload, KEPT_FOR);
  }

  #accepted(principal: Principal, { exp, cnf }: Claims, keptFor: number): Verified {
    const now = this.#reach.clock.now();
    const expiresAt = typeof exp === "number" ? exp * 1_000 : Infinity;
    const until = Math.min(expiresAt, now + keptFor);
    // Streams end only when the token is no longer accepted. Otherwise the client could open them
    // again with the same token.
    const acceptedUntil = expiresAt + CLOCK_SKEW * 1_000;
    // A token is not introspected again while its stream is open. So end the stream, to make the
    // client present the token again.
    const streamsUntil = keptFor === KEPT_FOR
      ? acceptedUntil
      : Math.min(acceptedUntil, now + KEPT_FOR);
    return { principal, until, streamsUntil, jkt: thumbprintIn(cnf) };
  }

  async #introspect(token: string, issuer: Issuer): Promise<Verified> {
    const { clock } = this.#reach;
    const wait = this.#introspectAt - clock.now();
    if (wait > 0 || this.#introspections >= MAX_INTROSPECTIONS) {
      throw new IssuerUnavailable(issuer.url, Math.max(wait, INTROSPECTION_DELAY), "it is busy");
    }
    this.#introspections++;
    let claims: Claims;
    try {
      const server = await issuer.metadata.get();
      const { clientId: client_id, clientSecret } = issuer.introspection!;
      const response = await introspectionRequest(
        server,
        { client_id },
        ClientSecretBasic(clientSecret),
        token,
        issuer.http,
      );
      claims = await processIntrospectionResponse(server, { client_id }, response) as never;
    } catch (error) {
      if (error instanceof IssuerUnavailable) throw error;
      this.#introspectAt = clock.now() + INTROSPECTION_DELAY;
      throw new IssuerUnavailable(issuer.url, INTROSPECTION_DELAY, messageOf(error));
    } finally {
      this.#introspections--;
    }
    await this.#checkIntrospected(claims, issuer);
    const name = await issuer.name();
    const principal = principalOf(name, claims, {
      ...issuer.profile,
      marks: {},
      resemblesIdToken: false,
    });
    return this.#accepted(principal, claims, INTROSPECTED_KEPT_FOR);
  }

  async #checkIntrospected(claims: Claims, issuer: Issuer): Promise<void> {
    const now = this.#reach.clock.now() / 1_000;
    const { active, aud, iss, exp, nbf, token_type: type } = claims;
    if (active !== true) throw new TokenRefused(NOT_VALID, "the issuer says that it is not active");
    if (type !== undefined && !ACCESS_TYPES.includes(String(type).toLowerCase())) {
      throw new TokenRefused("The token is not an access token", "its type is another one");
    }
    if (iss !== undefined && iss !== await issuer.name()) {
      throw new TokenRefused(NOT_VALID, "it is of another issuer");
    }
    if (typeof exp === "number" && exp + CLOCK_SKEW <= now) throw new TokenExpired();
    if (typeof nbf === "number" && nbf - CLOCK_SKEW > now) throw new TokenRefused(NOT_VALID);
    const audiences = this.#audience();
    if (issuer.profile.audience && ![aud].flat().some((one) => audiences.includes(one as string))) {
      throw new TokenRefused(NOT_VALID, "it is for another audience");
    }
  }
}

const NOT_VALID = "The access token is not valid for this server";

/**
 * Verifies a token with the key that it names. If it names none and several keys fit its algorithm,
 * they are tried in turn, up to a limit.
 */
async function verifiedByOneOf(
  keys: KeySet,
  token: string,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  let last: unknown;
  try {
    return await jwtVerify(token, keys, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    last = error;
  }
  let tried = 0;
  for await (const key of last as errors.JWKSMultipleMatchingKeys) {
    if (++tried > MAX_TRIED_KEYS) break;
    try {
      return await jwtVerify(token, key, options);
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
      last = error;
    }
  }
  throw last;
}

/** Whether the issuer may have signed a token with a key that is not in the set yet. */
function isOfAnotherKey(error: unknown, token: string): boolean {
  if (error instanceof errors.JWKSNoMatchingKey) return true;
  return error instanceof errors.JWSSignatureVerificationFailed &&
    decodeProtectedHeader(token).kid === undefined;
}

/**
 * Returns the thumbprint of the key that a token is bound to (VERIFY-3). Throws for bindings other
 * than DPoP, because the server cannot check them.
 */
function thumbprintIn(cnf: unknown): string | undefined {
  if (cnf === undefined) return undefined;
  const { jkt, ...others } = (cnf ?? {}) as { jkt?: unknown };
  if (typeof jkt === "string" && Object.keys(others).length === 0) return jkt;
  throw new TokenRefused(NOT_VALID, "it is bound to a key in a way that is not supported");
}

/**
 * Turns an error into a refusal. Its description is for the client, and its reason for the
 * operator.
 */
function refusalOf(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return new TokenExpired();
  // All other errors count as an invalid token, even if a key of the issuer could not be imported.
  if (error instanceof errors.JOSEError) return new TokenRefused(NOT_VALID, messageOf(error));
  if (error instanceof TokenRefused || error instanceof IssuerUnavailable) return error;
  return new TokenRefused(NOT_VALID, messageOf(error));
}

function withoutSlash(url: string): string {
  return url.endsWith("/") ? url.slice(0, -1) : url;
}
