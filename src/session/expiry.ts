/**
 * When the registry lets go of a session that nobody holds: a finished one after its
 * grace time, one that waits after its time to live; a durable one leaves memory.
 */
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import type { FinishedSessions } from "../registry/retention.ts";
import type { RegistryOptions } from "../registry/options.ts";
import type { LiveToolSession } from "./tool-session.ts";

const GRACE_TIME = 60_000;
const PASSIVATE_AFTER = 60_000;

export interface ExpiryHome {
  readonly deadlines: Deadlines;
  readonly finished: FinishedSessions;
  readonly options: Pick<RegistryOptions, "graceTime" | "passivateAfter" | "store">;
  /** How long a question may wait with nobody there. */
  readonly timeToLive: number;
  isClosed(): boolean;
  /** Puts a durable session out of memory. */
  suspend(session: LiveToolSession): void;
  /** Takes a durable session off the record. */
  forget(session: LiveToolSession): void;
}

export class Expiry {
  readonly #home: ExpiryHome;
  /** When the first of those goes that are kept for their grace time. */
  #grace: Deadline | undefined;

  constructor(home: ExpiryHome) {
    this.#home = home;
  }

  /** Something has changed about a session that decides how long it is kept. */
  reschedule(session: LiveToolSession): void {
    const { finished, deadlines, options, timeToLive, isClosed } = this.#home;
    session.expiry?.cancel();
    session.expiry = undefined;
    if (session.holders > 0 || isClosed()) return;
    if (session.outcome) {
      if (!finished.has(session)) return;
      const now = deadlines.now();
      const promised = session.keepUntil - now;
      if (promised > 0) this.#expire(session, Math.max(this.#graceTime, promised));
      else this.#keepForGrace(session, now);
    } else if (session.waiting) {
      const { passivateAfter = PASSIVATE_AFTER } = options;
      this.#expire(session, session.replayable ? passivateAfter : timeToLive);
    }
  }

  /** Takes in a session that has ended; older ones may have to go for it. */
  finish(session: LiveToolSession): void {
    const { finished, deadlines } = this.#home;
    for (const going of finished.add(session, deadlines.now())) this.remove(going);
  }

  /** Lets a session go that has ended. */
  remove(session: LiveToolSession): void {
    const { finished, deadlines, options, forget } = this.#home;
    session.expiry?.cancel();
    session.expiry = undefined;
    if (!finished.delete(session)) return;
    if (!finished.first) {
      this.#grace?.cancel();
      this.#grace = undefined;
    }
    const stored = session.durable && !session.carried;
    // One whose end is still of interest to somebody stays on record until that expires.
    const wanted = options.store !== undefined &&
      (!session.told || session.keepUntil > deadlines.now());
    if (stored && wanted) return session.owner?.left?.(session);
    session.owner?.gone?.(session);
    if (stored) forget(session);
  }

  get #graceTime(): number {
    return this.#home.options.graceTime ?? GRACE_TIME;
  }

  /**
   * It goes after its grace time, as do all that nobody was told to come back for. They
   * stand in line for that, so the first of them has a deadline that serves the others too.
   */
  #keepForGrace(session: LiveToolSession, now: number): void {
    this.#home.finished.putLast(session, now);
    this.#grace ??= this.#home.deadlines.add(this.#graceTime, this.#graceOver);
  }

  readonly #graceOver = (): void => {
    const { deadlines, finished } = this.#home;
    this.#grace = undefined;
    const now = deadlines.now();
    for (let first = finished.first; first; first = finished.first) {
      // Never later than that, should the clock have been set back.
      const left = Math.min(first.leftAt, now) + this.#graceTime - now;
      if (left > 0) {
        this.#grace = deadlines.add(left, this.#graceOver);
        return;
      }
      // One that is held stands in line again when it is left.
      if (first.expiry || first.holders > 0) finished.putAside(first);
      else this.remove(first);
    }
  };

  #expire(session: LiveToolSession, ms: number): void {
    session.expiry = this.#home.deadlines.add(ms, this.#expired, session);
  }

  /** One for all sessions: each that is parked would keep its own. */
  readonly #expired = (session: LiveToolSession): void => {
    session.expiry = undefined;
    if (session.outcome) this.remove(session);
    else if (session.replayable) this.#passivate(session);
    else session.halt("nobody answered in time");
  };

  #passivate(session: LiveToolSession): void {
    // It has begun a step since, which tells when it is done.
    if (!session.waiting) return;
    // Somebody reads along without holding it, and would hear nothing any more.
    if (session.log.watched) this.reschedule(session);
    else this.#home.suspend(session);
  }
}
