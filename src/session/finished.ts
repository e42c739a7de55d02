/**
 * Sessions that have ended, in the order in which they did, for those who come
 * back for them. They are bounded in number and in bytes; the oldest go first,
 * but never one that somebody is reading.
 */
import type { LiveToolSession } from "./tool-session.ts";

export interface FinishedLimits {
  readonly max: number;
  readonly maxBytes: number;
}

export class FinishedSessions {
  readonly #limits: FinishedLimits;
  readonly #sessions = new Map<string, LiveToolSession>();
  #bytes = 0;

  constructor(limits: FinishedLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#sessions.size;
  }

  get(id: string): LiveToolSession | undefined {
    return this.#sessions.get(id);
  }

  has({ id }: LiveToolSession): boolean {
    return this.#sessions.has(id);
  }

  /** Takes one in. What comes back must go for it; those that are promised to somebody go last. */
  add(session: LiveToolSession, now: number): LiveToolSession[] {
    this.#sessions.set(session.id, session);
    this.#bytes += session.log.bytes;
    const { max, maxBytes } = this.#limits;
    if (this.#sessions.size <= max && this.#bytes <= maxBytes) return NONE;
    const going = new Set<LiveToolSession>();
    this.#choose(going, ({ keepUntil }) => keepUntil <= now);
    this.#choose(going, () => true);
    return [...going];
  }

  /** Whether it was there. */
  delete(session: LiveToolSession): boolean {
    const there = this.#sessions.delete(session.id);
    if (there) this.#bytes -= session.log.bytes;
    return there;
  }

  clear(): void {
    this.#sessions.clear();
    this.#bytes = 0;
  }

  #choose(going: Set<LiveToolSession>, may: (session: LiveToolSession) => boolean): void {
    const { max, maxBytes } = this.#limits;
    let size = this.#sessions.size - going.size;
    let bytes = this.#bytes;
    for (const session of going) bytes -= session.log.bytes;
    for (const session of this.#sessions.values()) {
      if (size <= max && bytes <= maxBytes) return;
      if (session.holders > 0 || going.has(session) || !may(session)) continue;
      going.add(session);
      size--;
      bytes -= session.log.bytes;
    }
  }
}

const NONE: LiveToolSession[] = [];
