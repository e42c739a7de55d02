/** Sessions that are at work or wait, and how many there may be of them. */
import { SessionLimitError } from "../errors.ts";
import type { LiveToolSession } from "./tool-session.ts";

export interface LiveLimits {
  readonly max: number;
  /** For each caller that has a name. Those without one are all the same caller. */
  readonly maxPerPrincipal: number;
}

export class LiveSessions {
  readonly #limits: LiveLimits;
  readonly #sessions = new Map<string, LiveToolSession>();
  readonly #byPrincipal = new Map<string, number>();

  constructor(limits: LiveLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#sessions.size;
  }

  get(id: string): LiveToolSession | undefined {
    return this.#sessions.get(id);
  }

  /** A copy, because sessions come and go meanwhile. */
  all(): LiveToolSession[] {
    return [...this.#sessions.values()];
  }

  /** Throws if there is no room for another one of this caller's. */
  checkRoom(principal: string): void {
    const { max, maxPerPrincipal } = this.#limits;
    if (this.#sessions.size >= max) throw new SessionLimitError(max);
    if (principal !== "" && (this.#byPrincipal.get(principal) ?? 0) >= maxPerPrincipal) {
      throw new SessionLimitError(maxPerPrincipal);
    }
  }

  add(session: LiveToolSession): void {
    this.#sessions.set(session.id, session);
    this.#count(session.principal, 1);
  }

  /** Whether it was there. */
  delete(session: LiveToolSession): boolean {
    if (this.#sessions.get(session.id) !== session) return false;
    this.#count(session.principal, -1);
    return this.#sessions.delete(session.id);
  }

  #count(principal: string, change: number): void {
    if (principal === "") return;
    const count = (this.#byPrincipal.get(principal) ?? 0) + change;
    if (count === 0) this.#byPrincipal.delete(principal);
    else this.#byPrincipal.set(principal, count);
  }
}
