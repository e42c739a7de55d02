/**
 * Proofs of possession (DPoP, RFC 9449): the caller shows that it has the key that its token is
 * bound to.
 *
 * PROOF-1  A proof is for one method, one address and one token, and it is fresh.
 * PROOF-2  A proof can be used only once. Proofs are remembered for as long as they are fresh. Each
 *          caller has a share of that memory. A caller that has used up its share must wait, and
 *          no caller can use up the share of others.
 * PROOF-3  If the server requires nonces, a proof contains a nonce that this server created a few
 *          minutes ago at most. So a stolen key cannot be used to sign proofs for later.
 */
import { calculateJwkThumbprint, EmbeddedJWK, type JWK, jwtVerify } from "jose";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/message-of.ts";
import { nodeCrypto, type Sealer } from "../lib/sealer.ts";
import { type ShareLimits, Shares } from "../lib/shares.ts";
import { NonceRequired, ProofRefused, TooManyProofs } from "./refusal.ts";
import { hashOf } from "./token-cache.ts";
import { ALGORITHMS, CLOCK_SKEW } from "./tokens.ts";

/** Seconds after which a proof is no longer fresh. */
const MAX_AGE = 60;
/** How many proofs are remembered for all callers together, and for each caller (PROOF-2). */
const SHARES = { max: 100_000, maxPerPrincipal: 10_000 };
const MAX_ID = 256;
/** Milliseconds for which a nonce is accepted. */
const NONCE_TIME = 300_000;
/** Milliseconds after which clients get a new nonce. */
const NONCE_RENEWAL = 60_000;
const NONCE_CONTEXT = "dpop nonce";

export interface ProofSubject {
  readonly request: Request;
  readonly token: string;
  /** The thumbprint of the key that the token is bound to. */
  readonly jkt: string;
  /** The id of the caller. The proof counts for the share of this caller (PROOF-2). */
  readonly principal: string;
  /** Whether this URL is the address of the request. */
  isAt(url: string): boolean;
}

interface Seen {
  readonly principal: string;
  /** The time at which the proof may be forgotten. */
  readonly until: number;
}

export class Proofs {
  readonly #clock: Clock;
  readonly #nonces: Nonces | undefined;
  /** The proofs that were used, by their ids. The earliest comes first. */
  readonly #seen = new Map<string, Seen>();
  readonly #shares: Shares;

  /** If `nonces` is given, each proof must have a nonce (PROOF-3). */
  constructor(clock: Clock, nonces?: Nonces, shares: ShareLimits = SHARES) {
    this.#clock = clock;
    this.#nonces = nonces;
    this.#shares = new Shares(shares);
  }

  /** How many proofs are remembered. */
  get size(): number {
    return this.#seen.size;
  }

  /**
   * Throws `ProofRefused` if the request does not prove that the caller has the token's key, and
   * `TooManyProofs` if the caller must wait.
   */
  async check(subject: ProofSubject): Promise<void> {
    const { request, token, jkt, principal } = subject;
    const proof = request.headers.get("dpop");
    if (proof === null) throw new ProofRefused("The DPoP header is missing");
    const { payload, key } = await this.#verified(proof);
    const { jti, htm, htu, ath } = payload;
    if (await calculateJwkThumbprint(key) !== jkt) {
      throw new ProofRefused("The key of the DPoP proof is not the key that the token is bound to");
    }
    // PROOF-1: the proof is for this request and this token.
    if (htm !== request.method) throw new ProofRefused("The DPoP proof is for another HTTP method");
    if (typeof htu !== "string" || !URL.canParse(htu) || !subject.isAt(withoutQuery(htu))) {
      throw new ProofRefused("The DPoP proof is for another URL");
    }
    if (ath !== nodeCrypto().createHash("sha256").update(token).digest("base64url")) {
      throw new ProofRefused("The DPoP proof is for another token");
    }
    if (typeof jti !== "string" || jti === "" || jti.length > MAX_ID) {
      throw new ProofRefused("The DPoP proof has no valid id (jti)");
    }
    if (this.#nonces && !this.#nonces.accepts(payload.nonce)) throw new NonceRequired();
    this.#remember(hashOf(`${jkt} ${jti}`), principal, payload.iat!);
  }

  async #verified(proof: string) {
    try {
      const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
        typ: "dpop+jwt",
        algorithms: ALGORITHMS,
        maxTokenAge: MAX_AGE,
        clockTolerance: CLOCK_SKEW,
        currentDate: new Date(this.#clock.now()),
      });
      return { payload, key: protectedHeader.jwk as JWK };
    } catch (error) {
      throw new ProofRefused("The DPoP proof is not valid", messageOf(error));
    }
  }

  /** Throws if a proof was used before, and remembers it otherwise (PROOF-2). */
  #remember(id: string, principal: string, iat: number): void {
    const now = this.#clock.now();
    // `jose` compares whole seconds, so it accepts a proof for up to a second longer than the proof
    // is remembered.
    if (now >= (iat + MAX_AGE + CLOCK_SKEW) * 1_000) {
      throw new ProofRefused("The DPoP proof is not valid", "it is too old");
    }
    for (const [seen, { until, principal }] of this.#seen) {
      if (until > now) break;
      this.#seen.delete(seen);
      this.#shares.give(principal);
    }
    if (this.#seen.has(id)) throw new ProofRefused("The DPoP proof was used before");
    if (this.#shares.refuses(principal)) throw new TooManyProofs();
    this.#shares.take(principal);
    this.#seen.set(id, { principal, until: now + (MAX_AGE + 2 * CLOCK_SKEW) * 1_000 });
  }
}

/**
 * The nonces of a server. A nonce is the sealed time at which it was created, so all servers with
 * the same key accept it, and nothing is stored.
 */
export class Nonces {
  readonly #sealer: Sealer;
  readonly #clock: Clock;
  #current: { readonly text: string; readonly at: number } | undefined;

  constructor(sealer: Sealer, clock: Clock) {
    this.#sealer = sealer;
    this.#clock = clock;
  }

  /** The nonce for the next proof. */
  get current(): string {
    const now = this.#clock.now();
    if (!this.#current || now - this.#current.at >= NONCE_RENEWAL || now < this.#current.at) {
      this.#current = { text: this.#sealer.seal(String(now), NONCE_CONTEXT), at: now };
    }
    return this.#current.text;
  }

  accepts(nonce: unknown): boolean {
    if (typeof nonce !== "string" || nonce.length > MAX_ID) return false;
    const created = this.#sealer.open(nonce, NONCE_CONTEXT);
    if (created === undefined) return false;
    const age = this.#clock.now() - Number(created);
    return age < NONCE_TIME && age >= -CLOCK_SKEW * 1_000;
  }
}

function withoutQuery(text: string): string {
  const url = new URL(text);
  url.search = "";
  url.hash = "";
  return url.href;
}
