/**
 * The suspended durable sessions whose records are in an in-memory store. Their number is limited.
 * Their bytes count as memory of their callers.
 */
import { Owned, Shares } from "../lib/shares.ts";
import type { LiveToolSession } from "../session/tool-session.ts";

interface Rest {
  readonly id: string;
  readonly principal: string;
  readonly bytes: number;
  readonly expiresAt: number;
}

export class Resting {
  readonly #max: number;
  readonly #memory: Shares;
  readonly #counts = new Shares({ max: Infinity, maxPerPrincipal: Infinity });
  readonly #byId = new Map<string, Rest>();
  readonly #owned = new Owned<Rest>();

  constructor(max: number, memory: Shares) {
    this.#max = max;
    this.#memory = memory;
  }

  get size(): number {
    return this.#byId.size;
  }

  /**
   * Adds a session. If there are too many, returns the id of the session to evict: the oldest
   * session of the caller that has the most.
   */
  add({ id, principal, baggage, log }: LiveToolSession, expiresAt: number): string | undefined {
    const rest = { id, principal, bytes: baggage + log.totalBytes, expiresAt };
    this.#byId.set(id, rest);
    this.#owned.add(principal, rest);
    this.#counts.take(principal);
    this.#memory.take(principal, rest.bytes);
    if (this.size <= this.#max) return undefined;
    const [oldest] = this.#owned.of(this.#counts.largest!);
    this.delete(oldest!.id);
    return oldest!.id;
  }

  delete(id: string): void {
    const rest = this.#byId.get(id);
    if (!rest) return;
    const { principal, bytes } = rest;
    this.#byId.delete(id);
    this.#owned.delete(principal, rest);
    this.#counts.give(principal);
    this.#memory.give(principal, bytes);
  }

  /** Removes the sessions that the store has deleted because they expired. */
  expire(now: number): void {
    for (const { id, expiresAt } of [...this.#byId.values()]) if (expiresAt < now) this.delete(id);
  }
}
