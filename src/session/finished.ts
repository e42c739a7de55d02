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

/** How many that must stay are looked at, at most, to find one that may go. */
const MOST_LOOKS = 16;

export class FinishedSessions {
  readonly #limits: FinishedLimits;
  /** Those that nobody was told to come back for. */
  readonly #free = new Map<string, LiveToolSession>();
  /** Those that somebody was; they go when that time is over, and before it only if they must. */
  readonly #promised = new Map<string, LiveToolSession>();
  #bytes = 0;

  constructor(limits: FinishedLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#free.size + this.#promised.size;
  }

  get(id: string): LiveToolSession | undefined {
    return this.#free.get(id) ?? this.#promised.get(id);
  }

  /** Whether it is this one that is there, and not a later run of the same session. */
  has(session: LiveToolSession): boolean {
    return this.get(session.id) === session;
  }

  /** Takes one in. What comes back must go for it; those that are promised to somebody go last. */
  add(session: LiveToolSession, now: number): readonly LiveToolSession[] {
    (session.keepUntil > now ? this.#promised : this.#free).set(session.id, session);
    this.#bytes += session.log.bytes;
    const { max, maxBytes } = this.#limits;
    if (this.size <= max && this.#bytes <= maxBytes) return NONE;
    const going: LiveToolSession[] = [];
    this.#choose(this.#free, going, now);
    this.#choose(this.#promised, going, now);
    return going;
  }

  /** Whether it was there. */
  delete(session: LiveToolSession): boolean {
    if (!this.has(session)) return false;
    this.#bytes -= session.log.bytes;
    return this.#free.delete(session.id) || this.#promised.delete(session.id);
  }

  clear(): void {
    this.#free.clear();
    this.#promised.clear();
    this.#bytes = 0;
  }

  /** The oldest first. Those that must stay are put behind, so that nobody looks at them each time. */
  #choose(from: Map<string, LiveToolSession>, going: LiveToolSession[], now: number): void {
    const { max, maxBytes } = this.#limits;
    let size = this.size - going.length;
    let bytes = this.#bytes;
    for (const session of going) bytes -= session.log.bytes;
    let looks = 0;
    for (const session of from.values()) {
      if (size <= max && bytes <= maxBytes) return;
      const promisedSince = from === this.#free && session.keepUntil > now;
      if (session.holders > 0 || promisedSince) {
        if (++looks > MOST_LOOKS) return;
        from.delete(session.id);
        (promisedSince ? this.#promised : from).set(session.id, session);
        continue;
      }
      going.push(session);
      size--;
      bytes -= session.log.bytes;
    }
  }
}

const NONE: readonly LiveToolSession[] = [];
