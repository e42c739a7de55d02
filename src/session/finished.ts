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

  /** Takes one in. What comes back must go for it. */
  add(session: LiveToolSession): LiveToolSession[] {
    this.#sessions.set(session.id, session);
    this.#bytes += session.log.bytes;
    return this.#tooMany();
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

  #tooMany(): LiveToolSession[] {
    const { max, maxBytes } = this.#limits;
    let { size } = this.#sessions;
    let bytes = this.#bytes;
    if (size <= max && bytes <= maxBytes) return NONE;
    const going: LiveToolSession[] = [];
    for (const session of this.#sessions.values()) {
      if (size <= max && bytes <= maxBytes) break;
      if (session.holders > 0) continue;
      going.push(session);
      size--;
      bytes -= session.log.bytes;
    }
    return going;
  }
}

const NONE: LiveToolSession[] = [];
