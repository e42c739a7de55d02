/**
 * Tokens that were accepted recently.
 *
 * C1  A token is stored as its SHA-256 hash, and only after it was accepted.
 * C2  Requests that bring the same new token at the same time share one verification.
 * C3  The number of entries is limited. The oldest entry makes room for a new one.
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

  /** Verifies a token that has no entry. */
  verified(hash: string, verify: () => Promise<Verified>): Promise<Verified> {
    const running = this.#verifying.get(hash);
    if (running) return running;
    const verifying = verify()
      .then((verified) => this.#keep(hash, verified))
      .finally(() => this.#verifying.delete(hash));
    this.#verifying.set(hash, verifying);
    return verifying;
  }

  #keep(hash: string, verified: Verified): Verified {
    if (this.#entries.size >= MAX_ENTRIES) {
      this.#entries.delete(this.#entries.keys().next().value!);
    }
    this.#entries.set(hash, verified);
    return verified;
  }
}

export function hashOf(token: string): string {
  return nodeCrypto().createHash("sha256").update(token).digest("base64url");
}
