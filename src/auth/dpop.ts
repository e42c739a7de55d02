/**
 * Proofs of possession (DPoP, RFC 9449): the caller shows that it has the key that its token is
 * bound to.
 *
 * PROOF-1  A proof is for one method, one address and one token, and it is fresh.
 * PROOF-2  A proof can be used only once. Proofs are remembered for as long as they are fresh; if
 *          there are too many to remember, new ones are refused.
 */
import { calculateJwkThumbprint, EmbeddedJWK, type JWK, jwtVerify } from "jose";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/message-of.ts";
import { nodeCrypto } from "../lib/sealer.ts";
import { ProofRefused } from "./refusal.ts";
import { hashOf } from "./token-cache.ts";
import { ALGORITHMS, CLOCK_SKEW } from "./tokens.ts";

/** Seconds after which a proof is no longer fresh. */
const MAX_AGE = 60;
const MAX_REMEMBERED = 100_000;
const MAX_ID = 256;

export interface ProofSubject {
  readonly request: Request;
  readonly token: string;
  /** The thumbprint of the key that the token is bound to. */
  readonly jkt: string;
  /** Whether the server is at this address. */
  isAt(url: string): boolean;
}

export class Proofs {
  readonly #clock: Clock;
  /** When each proof may be forgotten, the earliest first. */
  readonly #seen = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws `ProofRefused` if the request does not prove that the caller has the token's key. */
  async check(subject: ProofSubject): Promise<void> {
    const { request, token, jkt } = subject;
    const proof = request.headers.get("dpop");
    if (proof === null) throw new ProofRefused("The DPoP header is missing");
    const { payload, key } = await this.#verified(proof);
    const { jti, htm, htu, ath } = payload;
    if (await calculateJwkThumbprint(key) !== jkt) {
      throw new ProofRefused("The key of the DPoP proof is not the key that the token is bound to");
    }
    // PROOF-1: the proof is for this request and this token.
    if (htm !== request.method) throw new ProofRefused("The DPoP proof is for another method");
    if (typeof htu !== "string" || !URL.canParse(htu) || !subject.isAt(withoutQuery(htu))) {
      throw new ProofRefused("The DPoP proof is for another address");
    }
    if (ath !== nodeCrypto().createHash("sha256").update(token).digest("base64url")) {
      throw new ProofRefused("The DPoP proof is for another token");
    }
    if (typeof jti !== "string" || jti === "" || jti.length > MAX_ID) {
      throw new ProofRefused("The DPoP proof has no usable id");
    }
    this.#remember(hashOf(`${jkt} ${jti}`));
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
  #remember(id: string): void {
    const now = this.#clock.now();
    for (const [seen, until] of this.#seen) {
      if (until > now) break;
      this.#seen.delete(seen);
    }
    if (this.#seen.has(id)) throw new ProofRefused("The DPoP proof was used before");
    if (this.#seen.size >= MAX_REMEMBERED) {
      throw new ProofRefused("The server has seen too many DPoP proofs in the last minute");
    }
    this.#seen.set(id, now + (MAX_AGE + 2 * CLOCK_SKEW) * 1_000);
  }
}

function withoutQuery(text: string): string {
  const url = new URL(text);
  url.search = "";
  url.hash = "";
  return url.href;
}
