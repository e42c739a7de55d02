/** The caller of a request: a person or a program. */

/** A JSON value in the claims of a token. */
export type Claim = string | number | boolean | null | readonly Claim[] | {
  readonly [name: string]: Claim;
};

/**
 * A caller. Two principals are the same caller if their ids are equal; clients and scopes can
 * change from one token to the next.
 */
export interface Principal {
  /** Identifies the caller on this server, in stores and in logs. Empty for the anonymous caller. */
  readonly id: string;
  /** The name of the caller at its issuer (`sub`), or the name that the server was given. */
  readonly subject: string;
  /** The authorization server that vouches for the caller. Absent if there is none. */
  readonly issuer?: string;
  /** The id of the OAuth client that the caller uses. */
  readonly client?: string;
  /** The scopes of the caller, which decide what it may do. */
  readonly scopes: readonly string[];
  /** Other facts about the caller from its token, such as `email`. Empty if there are none. */
  readonly claims: { readonly [name: string]: Claim };
}

/** Returns a principal of which only the id is known. */
export function namedPrincipal(id: string): Principal {
  return { id, subject: id, scopes: NO_SCOPES, claims: NO_CLAIMS };
}

/** The caller as it is recorded with a call. Undefined if only its id is known. */
export function recordedCaller(caller: Principal): Principal | undefined {
  const { id, subject, issuer, client, scopes, claims } = caller;
  const isNamed = subject === id && issuer === undefined && client === undefined &&
    scopes.length === 0 && Object.keys(claims).length === 0;
  return isNamed ? undefined : caller;
}

const NO_SCOPES: readonly string[] = Object.freeze([]);
const NO_CLAIMS = Object.freeze({});
