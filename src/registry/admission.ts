/** Holds the live sessions, and decides whether another session may start. */
import { type ShareLimits, Shares } from "../lib/shares.ts";
import { RegistryClosedError, SessionLimitError } from "../model/errors.ts";
import type { RegisteredSession } from "../session/session-home.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { Budget } from "./budget.ts";

export class Admission {
  /** The maximum number of live sessions. */
  readonly max: number;
  /** True if the registry is closing or closed, so that no session can start. */
  readonly isClosed: boolean = false;
  readonly #sessions = new Map<string, LiveToolSession>();
  /** All live sessions, by id. */
  readonly sessions: ReadonlyMap<string, LiveToolSession> = this.#sessions;
  readonly #shares: Shares;
  readonly #budget: Budget;

  constructor(limits: ShareLimits, budget: Budget) {
    this.max = limits.max;
    this.#shares = new Shares(limits);
    this.#budget = budget;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** True if a caller that is within its share may start a session. */
  get hasRoom(): boolean {
    const { memory } = this.#budget;
    return this.size < this.max && memory.total < memory.limits.max;
  }

  /**
   * Returns all live sessions (see REGISTRY-2). The list is a copy, because sessions may start and end during an
   * iteration.
   */
  all(): LiveToolSession[] {
    return [...this.#sessions.values()];
  }

  close(this: { isClosed: boolean }): void {
    this.isClosed = true;
  }

  checkOpen(): void {
    if (this.isClosed) throw new RegistryClosedError();
  }

  /**
   * Throws if another session of this caller would exceed a limit. `stored` means that the session
   * will have a record in the store.
   */
  checkRoom(principal: string, stored: boolean): void {
    if (this.#sessions.size >= this.max) throw new SessionLimitError(this.max);
    const reached = this.#shares.refuses(principal);
    if (reached === "share") {
      const share = this.#shares.limitOf(principal);
      throw new SessionLimitError(
        share,
        `the caller has ${share} running or waiting calls, which is its share`,
      );
    }
    if (reached === "crowded") {
      const own = this.#shares.of(principal);
      throw new SessionLimitError(
        this.max,
        `the caller has ${own} running or waiting calls, and the remaining ones are reserved for callers with fewer`,
      );
    }
    this.#budget.check(principal, stored);
  }

  add(session: RegisteredSession, params: unknown): void {
    if (session.registered) return;
    session.registered = true;
    this.#sessions.set(session.id, session);
    this.#shares.take(session.principal);
    const problem = this.#budget.measure(session, params);
    if (problem !== undefined && session.waiting) session.endForRoom(problem);
  }

  /**
   * Measures a session that began to wait. Ends the session if it exceeds the budget (BUDGET-3).
   */
  changed(session: LiveToolSession): void {
    if (!session.waiting || session.halting) return;
    const problem = this.#budget.measure(session);
    if (problem !== undefined) session.endForRoom(problem);
  }

  /** Removes a session. Returns false if the session was not in the list. */
  delete(session: LiveToolSession): boolean {
    if (this.#sessions.get(session.id) !== session) return false;
    this.#shares.give(session.principal);
    this.#budget.leave(session);
    return this.#sessions.delete(session.id);
  }
}
