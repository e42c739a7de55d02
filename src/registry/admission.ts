/** Sessions that are at work or wait: how many there may be of them, and how much they may take. */
import { SessionLimitError } from "../model/errors.ts";
import { type ShareLimits, Shares } from "../lib/shares.ts";
import type { Budget } from "./budget.ts";
import type { LiveToolSession } from "../session/tool-session.ts";

export class LiveSessions {
  readonly #sessions = new Map<string, LiveToolSession>();
  readonly #shares: Shares;
  readonly #budget: Budget;

  constructor(limits: ShareLimits, budget: Budget) {
    this.#shares = new Shares(limits);
    this.#budget = budget;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Whether there is room for anybody. */
  get hasRoom(): boolean {
    const { memory } = this.#budget;
    return this.size < this.#shares.limits.max && memory.total < memory.limits.max;
  }

  get(id: string): LiveToolSession | undefined {
    return this.#sessions.get(id);
  }

  /** A copy, because sessions come and go meanwhile. */
  all(): LiveToolSession[] {
    return [...this.#sessions.values()];
  }

  /** Throws if there is no room for another one of this caller's; `stored` for one with a record. */
  checkRoom(principal: string, stored: boolean): void {
    const { max } = this.#shares.limits;
    if (this.#sessions.size >= max) throw new SessionLimitError(max);
    if (this.#shares.reached(principal) === "share") {
      const share = this.#shares.limitOf(principal);
      throw new SessionLimitError(share, `the caller has ${share} alive, which is its share`);
    }
    this.#budget.check(principal, stored);
  }

  add(session: LiveToolSession, params: unknown): void {
    this.#sessions.set(session.id, session);
    this.#shares.take(session.principal);
    const problem = this.#budget.enter(session, params);
    if (problem !== undefined && session.waiting) session.endForRoom(problem);
  }

  /** Something has changed: if it waits now, and has no room for that, it ends. */
  changed(session: LiveToolSession): void {
    if (!session.waiting || session.halting) return;
    const problem = this.#budget.weigh(session);
    if (problem !== undefined) session.endForRoom(problem);
  }

  /** Whether it was there. */
  delete(session: LiveToolSession): boolean {
    if (this.#sessions.get(session.id) !== session) return false;
    this.#shares.give(session.principal);
    this.#budget.leave(session);
    return this.#sessions.delete(session.id);
  }
}
