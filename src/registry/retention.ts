/**
 * Sessions that have ended, in the order in which they were left, for those who come
 * back for them. They are bounded in number and in bytes; the oldest of the largest holder
 * go first, but never one that somebody is reading.
 */
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import { LinkedList } from "../lib/linked-list.ts";
import { Owned, Shares } from "../lib/shares.ts";
import type { RegisteredSession } from "../session/session-home.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { RegistryLimits } from "./options.ts";

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
  readonly #free = new LinkedList<LiveToolSession>();
  /** Those that somebody was, or that are held; they go before their time only if they must. */
  readonly #promised = new LinkedList<LiveToolSession>();
  readonly #owned = new Owned<LiveToolSession>();
  /** How many there are of each caller's, and how many bytes they take. */
  readonly #counts = new Shares(UNLIMITED);
  readonly #weights = new Shares(UNLIMITED);

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
    this.#owned.add(session.principal, session);
    this.#count(session, 1);
    if (!this.#isOver) return NONE;
    const going: LiveToolSession[] = [];
    this.#chooseOfLargest(going, now);
    this.#choose(this.#free, going, now);
    this.#choose(this.#promised, going, now);
    // They count until they are deleted.
    for (const one of going) this.#count(one, 1);
    return going;
  }

  get #isOver(): boolean {
    const { max, maxBytes } = this.#limits;
    return this.#counts.total > max || this.#weights.total > maxBytes;
  }

  #count(session: LiveToolSession, times: 1 | -1): void {
    this.#counts.take(session.principal, times);
    this.#weights.take(session.principal, times * weightOf(session));
  }

  /** The one that was left longest ago, of those that nobody was told to come back for. */
  get first(): LiveToolSession | undefined {
    return this.#free.first;
  }

  /** Nobody was told to come back for it, and it was left just now. */
  putLast(session: RegisteredSession, now: number): void {
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
    this.#owned.delete(session.principal, session);
    this.#count(session, -1);
    return this.#byId.delete(session.id);
  }

  clear(): void {
    for (const session of this.#byId.values()) session.line?.remove(session);
    this.#byId.clear();
    this.#owned.clear();
    this.#counts.replace([]);
    this.#weights.replace([]);
  }

  /** Of the largest holder, where there are several: a newcomer costs no third party anything. */
  #chooseOfLargest(going: LiveToolSession[], now: number): void {
    while (this.#isOver) {
      const isCount = this.#counts.total > this.#limits.max;
      const { largest } = isCount ? this.#counts : this.#weights;
      if (largest === undefined || this.#counts.of(largest) === this.#counts.total) return;
      const oldest = this.#oldestOf(largest, now);
      if (!oldest) return;
      this.#owned.delete(largest, oldest);
      this.#count(oldest, -1);
      going.push(oldest);
    }
  }

  #oldestOf(principal: string, now: number): LiveToolSession | undefined {
    let promised: LiveToolSession | undefined;
    let looks = 0;
    const held: LiveToolSession[] = [];
    for (const session of this.#owned.of(principal)) {
      if (session.holders > 0) held.push(session);
      else if (session.keepUntil <= now) return session;
      else promised ??= session;
      if (++looks === MOST_LOOKS) break;
    }
    // Behind the others, so that nobody looks at them each time.
    for (const session of held) {
      this.#owned.delete(principal, session);
      this.#owned.add(principal, session);
    }
    return promised;
  }

  /** The oldest first. Those that must stay are put behind, so that nobody looks at them each time. */
  #choose(from: LinkedList<LiveToolSession>, going: LiveToolSession[], now: number): void {
    const chosen = new Set(going);
    let looks = 0;
    let next = from.first;
    while (next && this.#isOver) {
      const session = next;
      next = session.next;
      if (chosen.has(session)) continue;
      const promisedSince = from === this.#free && session.keepUntil > now;
      if (session.holders > 0 || promisedSince) {
        if (++looks > MOST_LOOKS) return;
        from.remove(session);
        (promisedSince ? this.#promised : from).add(session);
        continue;
      }
      going.push(session);
      this.#count(session, -1);
    }
  }
}

/** What came with a durable call is kept with its record. */
function weightOf({ log, durable, baggage }: LiveToolSession): number {
  return durable ? log.bytes + baggage : log.bytes;
}

const UNLIMITED = { max: Infinity, maxPerPrincipal: Infinity };
const NONE: readonly LiveToolSession[] = [];

export interface ExpiryHome {
  readonly deadlines: Deadlines;
  readonly finished: FinishedSessions;
  readonly limits: RegistryLimits;
  /** Whether the store outlasts the registry. */
  readonly outlasts: boolean;
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
  reschedule(session: RegisteredSession): void {
    const { finished, deadlines, limits, isClosed } = this.#home;
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
      const { passivateAfter, waitingTimeToLive } = limits;
      this.#expire(session, session.replayable ? passivateAfter : waitingTimeToLive);
    }
  }

  /** Takes in a session that has ended; older ones may have to go for it. */
  finish(session: LiveToolSession): void {
    const { finished, deadlines } = this.#home;
    for (const going of finished.add(session, deadlines.now())) this.remove(going);
  }

  /** Lets a session go that has ended. */
  remove(session: RegisteredSession): void {
    const { finished, deadlines, outlasts, forget } = this.#home;
    session.expiry?.cancel();
    session.expiry = undefined;
    if (!finished.delete(session)) return;
    if (!finished.first) {
      this.#grace?.cancel();
      this.#grace = undefined;
    }
    const stored = session.durable && !session.portable;
    // One whose end is still of interest to somebody stays on record until that expires.
    const wanted = outlasts &&
      (!session.outcomeDelivered || session.keepUntil > deadlines.now());
    if (stored && wanted) return session.owner?.left?.(session);
    session.owner?.gone?.(session);
    if (stored) forget(session);
  }

  get #graceTime(): number {
    return this.#home.limits.finishedTimeToLive;
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

  #expire(session: RegisteredSession, ms: number): void {
    session.expiry = this.#home.deadlines.add(ms, this.#expired, session);
  }

  /** One for all sessions: each that is parked would keep its own. */
  readonly #expired = (session: RegisteredSession): void => {
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
