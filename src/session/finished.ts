/**
 * Sessions that have ended, in the order in which they were left, for those who come
 * back for them. They are bounded in number and in bytes; the oldest go first,
 * but never one that somebody is reading.
 */
import { Line } from "../runtime/line.ts";
import type { LiveToolSession } from "./tool-session.ts";

export interface FinishedLimits {
  readonly max: number;
  readonly maxBytes: number;
}

/** How many that must stay are looked at, at most, to find one that may go. */
const MOST_LOOKS = 16;

export class FinishedSessions {
  readonly #limits: FinishedLimits;
  readonly #byId = new Map<string, LiveToolSession>();
  /** Those that nobody was told to come back for. */
  readonly #free = new Line<LiveToolSession>();
  /** Those that somebody was, or that are held; they go before their time only if they must. */
  readonly #promised = new Line<LiveToolSession>();
  #bytes = 0;

  constructor(limits: FinishedLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#byId.size;
  }

  get(id: string): LiveToolSession | undefined {
    return this.#byId.get(id);
  }

  /** Whether it is this one that is there, and not a later run of the same session. */
  has(session: LiveToolSession): boolean {
    return session.line !== undefined;
  }

  /** Takes one in. What comes back must go for it; those that are promised to somebody go last. */
  add(session: LiveToolSession, now: number): readonly LiveToolSession[] {
    const earlier = this.#byId.get(session.id);
    if (earlier) this.delete(earlier);
    this.#byId.set(session.id, session);
    (session.keepUntil > now ? this.#promised : this.#free).add(session);
    this.#bytes += session.log.bytes;
    const { max, maxBytes } = this.#limits;
    if (this.size <= max && this.#bytes <= maxBytes) return NONE;
    const going: LiveToolSession[] = [];
    this.#choose(this.#free, going, now);
    this.#choose(this.#promised, going, now);
    return going;
  }

  /** The one that was left longest ago, of those that nobody was told to come back for. */
  get first(): LiveToolSession | undefined {
    return this.#free.first;
  }

  /** Nobody was told to come back for it, and it was left just now. */
  putLast(session: LiveToolSession, now: number): void {
    session.leftAt = now;
    session.line?.remove(session);
    this.#free.add(session);
  }

  /** Somebody was told to come back for it, or is there. */
  putAside(session: LiveToolSession): void {
    session.line?.remove(session);
    this.#promised.add(session);
  }

  /** Whether it was there. */
  delete(session: LiveToolSession): boolean {
    if (!session.line?.remove(session)) return false;
    this.#bytes -= session.log.bytes;
    return this.#byId.delete(session.id);
  }

  clear(): void {
    for (const session of this.#byId.values()) session.line?.remove(session);
    this.#byId.clear();
    this.#bytes = 0;
  }

  /** The oldest first. Those that must stay are put behind, so that nobody looks at them each time. */
  #choose(from: Line<LiveToolSession>, going: LiveToolSession[], now: number): void {
    const { max, maxBytes } = this.#limits;
    let size = this.size - going.length;
    let bytes = this.#bytes;
    for (const session of going) bytes -= session.log.bytes;
    let looks = 0;
    let next = from.first;
    while (next) {
      if (size <= max && bytes <= maxBytes) return;
      const session = next;
      next = session.behind;
      const promisedSince = from === this.#free && session.keepUntil > now;
      if (session.holders > 0 || promisedSince) {
        if (++looks > MOST_LOOKS) return;
        from.remove(session);
        (promisedSince ? this.#promised : from).add(session);
        continue;
      }
      going.push(session);
      size--;
      bytes -= session.log.bytes;
    }
  }
}

const NONE: readonly LiveToolSession[] = [];
