/**
 * Tokens that were accepted recently.
 *
 * TOKENS-1  A token is stored as its SHA-256 hash, and only after it was accepted.
 * TOKENS-2  Requests that bring the same new token at the same time share one verification.
 * TOKENS-3  The number of entries is limited. The oldest entry makes room for a new one.
 */
import { nodeCrypto } from "../lib/sealer.ts";
import type { Verified } from "./tokens.ts";

const MAX_ENTRIES = 10_000;

export class TokenCache {
  readonly #entries = new Map<string, Verified>();
  readonly #verifying = new Map<string, Promise<Verified>>();

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the entry of a token that is still valid. */
  get(hash: string, now: number): Verified | undefined {
    const entry = this.#entries.get(hash);
    if (!entry || now < entry.until) return entry;
    this.#entries.delete(hash);
    return undefined;
  }

  /** Verifies a token that has no entry. Concurrent requests share the verification (TOKENS-2). */
  verified(hash: string, verify: () => Promise<Verified>): Promise<Verified> {
    const running = this.#verifying.get(hash);
    if (running) return running;
    const verifying = verify()
      .then((verified) => this.#keep(hash, verified))
      .finally(() => this.#verifying.delete(hash));
    this.#verifying.set(hash, verifying);
    return verifying;
  }

  /** Stores a token that was accepted (TOKENS-1). Drops the oldest entry if there are too many (TOKENS-3). */
  #keep(hash: string, verified: Verified): Verified {
    if (this.#entries.size >= MAX_ENTRIES) {
      this.#entries.delete(this.#entries.keys().next().value!);
    }
    this.#entries.set(hash, verified);
    return verified;
  }
}

/** The SHA-256 hash of a token, in hexadecimal: on Deno, other encodings take twice as long. */
export function hashOf(token: string): string {
  return nodeCrypto().createHash("sha256").update(token).digest("hex");
}
