/**
 * The key of a sign-in, for servers that ask for proof of possession (DPoP, RFC 9449). A token that
 * is bound to the key is useless without it. The key is stored with the tokens, in the vault.
 */
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  SignJWT,
} from "jose";
import { createHash, randomUUID } from "node:crypto";
import { DPoP, type DPoPHandle } from "oauth4webapi";
import type { HeaderLines } from "../http.ts";

/** The only algorithm that is used. Every server that supports DPoP is expected to know it. */
export const PROOF_ALGORITHM = "ES256";

type PrivateKey = Parameters<SignJWT["sign"]>[0];
/** A key pair as `oauth4webapi` types it. The type of the other library differs. */
type KeyPair = Parameters<typeof DPoP>[1];

export class ProofKey {
  /** Adds proofs to the requests for tokens. */
  readonly handle: DPoPHandle;
  readonly #private: PrivateKey;
  readonly #public: JWK;
  /** The private key, for the vault. */
  readonly jwk: JWK;
  /** The last nonce of the server that is called. */
  #nonce: string | undefined;

  private constructor(pair: KeyPair, shared: JWK, jwk: JWK) {
    this.#private = pair.privateKey as PrivateKey;
    this.#public = shared;
    this.jwk = jwk;
    this.handle = DPoP({}, pair);
  }

  static async create(): Promise<ProofKey> {
    const pair = await generateKeyPair(PROOF_ALGORITHM, { extractable: true });
    const { kty, crv, x, y, d } = await exportJWK(pair.privateKey);
    return await ProofKey.from({ kty, crv, x, y, d } as JWK);
  }

  /** The key of an earlier sign-in. */
  static async from(jwk: JWK): Promise<ProofKey> {
    const { d: _, ...shared } = jwk;
    const [privateKey, publicKey] = await Promise.all([
      importJWK(jwk, PROOF_ALGORITHM),
      importJWK(shared, PROOF_ALGORITHM, { extractable: true }),
    ]);
    return new ProofKey({ privateKey, publicKey } as unknown as KeyPair, shared, jwk);
  }

  /** Identifies the key to an authorization server. */
  thumbprint(): Promise<string> {
    return calculateJwkThumbprint(this.#public);
  }

  /** The proof for one request with a token. Each request needs a new one. */
  async proof(token: string, method: string, url: URL): Promise<HeaderLines> {
    const proof = await new SignJWT({
      htm: method,
      htu: `${url.origin}${url.pathname}`,
      ath: createHash("sha256").update(token).digest("base64url"),
      ...(this.#nonce !== undefined && { nonce: this.#nonce }),
    })
      .setProtectedHeader({ alg: PROOF_ALGORITHM, typ: "dpop+jwt", jwk: this.#public })
      .setJti(randomUUID())
      .setIssuedAt()
      .sign(this.#private);
    return { dpop: proof };
  }

  /** Keeps the nonce of a response for the next proof. Returns true if the nonce is new. */
  takeNonce(headers: Headers): boolean {
    const nonce = headers.get("dpop-nonce") ?? undefined;
    if (nonce === undefined || nonce === this.#nonce) return false;
    this.#nonce = nonce;
    return true;
  }
}
