/** Why a request is refused, before it becomes a response. */

/** The request has no token that this server accepts. */
export class TokenRefused extends Error {
  override readonly name: string = "TokenRefused";
  /** `description` is for the client's developer. It never quotes the token. */
  constructor(readonly description: string, readonly reason = description) {
    super(reason);
  }
}

/** The token was valid, but has expired. */
export class TokenExpired extends TokenRefused {
  constructor() {
    super("The access token has expired");
  }
}

/** The request does not prove that its caller has the key of its token. */
export class ProofRefused extends TokenRefused {}

/** The proof has no nonce of this server, or an old one. */
export class NonceRequired extends ProofRefused {
  constructor() {
    super("The DPoP proof needs a nonce of this server");
  }
}

/** The caller has sent more DPoP proofs than the server remembers for one caller. */
export class TooManyProofs extends Error {
  override readonly name = "TooManyProofs";
  constructor() {
    super("The caller has sent too many DPoP proofs in the last minute");
  }
}

/** The authorization server cannot be reached at the moment. */
export class IssuerUnavailable extends Error {
  override readonly name = "IssuerUnavailable";
  /** `retryAfter` is in milliseconds. */
  constructor(readonly issuer: string, readonly retryAfter: number, why: string) {
    super(`Cannot reach the issuer "${issuer}": ${why}; check that the server can connect to it`);
  }
}

/** A problem of an issuer. Its message becomes part of the message of `IssuerUnavailable`. */
export class IssuerProblem extends Error {
  override readonly name = "IssuerProblem";
}

/** Whether an error means that a token was revoked, if the token was valid before. */
export function saysRevoked(error: unknown): boolean {
  return error instanceof TokenRefused && !(error instanceof TokenExpired) &&
    !(error instanceof ProofRefused);
}

/** The HTTP status of a refusal. */
export function statusOf(error: unknown): number {
  if (error instanceof TokenRefused) return 401;
  return error instanceof TooManyProofs ? 429 : 503;
}

/** The parameters of the challenge in `WWW-Authenticate`. */
export function parametersOf({ description }: TokenRefused): { readonly [name: string]: string } {
  return { error: "invalid_token", error_description: description };
}
