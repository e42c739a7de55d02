/**
 * How long sessions stay in memory: finished ones for clients that come back for the result, and
 * waiting ones for an answer.
 *
 * RETAIN-1  A session that nobody holds expires: a finished one after its grace time or when it was
 *           promised until, a waiting one after its time to live. A durable one leaves memory then.
 * RETAIN-2  Finished sessions are bounded in number and in bytes. The oldest of the largest holder
 *           go first, those that were promised to a client last, and never one that is held.
 */
import type { Deadline } from "../lib/deadlines.ts";
import { LinkedList } from "../lib/linked-list.ts";
import { Owned, Shares } from "../lib/shares.ts";
import type { RegisteredSession } from "../session/session-home.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { RegistryParts } from "./parts.ts";
import type { SessionRecords } from "./records.ts";

export interface FinishedLimits {
  readonly max: number;
  readonly maxBytes: number;
}

/** How many sessions that must stay are passed over, at most, to find one that may go. */
const MOST_LOOKS = 16;

export class FinishedSessions {
  readonly #limits: FinishedLimits;
  readonly #byId = new Map<string, LiveToolSession>();
  /** Sessions that no client was told to come back for. */
  readonly #free = new LinkedList<LiveToolSession>();
  /** Sessions that a client was told to come back for, or that are held. They go last. */
  readonly #promised = new LinkedList<LiveToolSession>();
  readonly #owned = new Owned<LiveToolSession>();
  /** The number of sessions of each caller, and their bytes. */
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

  /** Returns true for this run of a session, not for an earlier or later run with the same id. */
  has(session: LiveToolSession): boolean {
    return session.list !== undefined;
  }

  /** Adds a session. Returns those that must go for it (RETAIN-2). */
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
    // They count until the caller deletes them.
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

  /** The session that was left longest ago, of those that no client was told to come back for. */
  get first(): LiveToolSession | undefined {
    return this.#free.first;
  }

  /** Starts the grace period of a session that no client was told to come back for. */
  putLast(session: RegisteredSession, now: number): void {
    session.leftAt = now;
    session.list?.remove(session);
    this.#free.add(session);
  }

  /** Takes a session out of the grace period: a client was told to come back for it, or holds it. */
  putAside(session: LiveToolSession): void {
    session.list?.remove(session);
    this.#promised.add(session);
  }

  /** Returns false if the session was not here. */
  delete(session: LiveToolSession): boolean {
    if (!session.list?.remove(session)) return false;
    this.#owned.delete(session.principal, session);
    this.#count(session, -1);
    return this.#byId.delete(session.id);
  }

  clear(): void {
    for (const session of this.#byId.values()) session.list?.remove(session);
    this.#byId.clear();
    this.#owned.clear();
    this.#counts.replace([]);
    this.#weights.replace([]);
  }

  /** Chooses among sessions of the largest holder: a new session costs no third caller anything. */
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
    // Put them last, so that the next search does not pass over them again.
    for (const session of held) {
      this.#owned.delete(principal, session);
      this.#owned.add(principal, session);
    }
    return promised;
  }

  /** Chooses the oldest first. Sessions that must stay are put last, for the next search. */
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

/** A durable session keeps its arguments and client with its record. */
function weightOf({ log, durable, baggage }: LiveToolSession): number {
  return durable ? log.bytes + baggage : log.bytes;
}

const UNLIMITED = { max: Infinity, maxPerPrincipal: Infinity };
const NONE: readonly LiveToolSession[] = [];

export class Retention {
  readonly #parts: RegistryParts;
  readonly #records: SessionRecords;
  readonly #finished: FinishedSessions;
  /** One deadline for all sessions in their grace period: the oldest expires first. */
  #grace: Deadline | undefined;

  constructor(
    parts: RegistryParts,
    records: SessionRecords,
    finished: FinishedSessions,
  ) {
    this.#parts = parts;
    this.#records = records;
    this.#finished = finished;
  }

  /** A finished session that is still kept. */
  get(id: string): LiveToolSession | undefined {
    return this.#finished.get(id);
  }

  /** Sets when a session expires, from how it stands now (RETAIN-1). */
  reschedule(session: RegisteredSession): void {
    session.expiry?.cancel();
    session.expiry = undefined;
    if (session.holders > 0 || this.#parts.live.isClosed) return;
    if (session.outcome) {
      if (!this.#finished.has(session)) return;
      const now = this.#parts.deadlines.now();
      const promised = session.keepUntil - now;
      if (promised > 0) {
        this.#expire(session, Math.max(this.#parts.limits.finishedTimeToLive, promised));
      } else this.#keepForGrace(session, now);
    } else if (session.waiting) {
      const { passivateAfter, waitingTimeToLive } = this.#parts.limits;
      this.#expire(session, session.replayable ? passivateAfter : waitingTimeToLive);
    }
  }

  /** Keeps a session that ended before it was registered. */
  keep(session: RegisteredSession): void {
    if (!session.outcome || session.registered) return;
    session.registered = true;
    this.finish(session);
    this.reschedule(session);
  }

  /** Keeps a session that has just ended. Older ones may have to go for it. */
  finish(session: LiveToolSession): void {
    const now = this.#parts.deadlines.now();
    for (const evicted of this.#finished.add(session, now)) this.remove(evicted);
  }

  /** Removes a finished session from memory, and its record if nobody will come back for it. */
  remove(session: RegisteredSession): void {
    session.expiry?.cancel();
    session.expiry = undefined;
    if (!this.#finished.delete(session)) return;
    if (!this.#finished.first) {
      this.#grace?.cancel();
      this.#grace = undefined;
    }
    const stored = session.durable && !session.portable;
    // The record of a result that somebody may still ask for stays until it expires.
    const wanted = this.#parts.outlasts &&
      (!session.outcomeDelivered || session.keepUntil > this.#parts.deadlines.now());
    if (stored && wanted) return session.owner?.left?.(session);
    session.owner?.gone?.(session);
    if (stored) this.#records.forget(session);
  }

  #keepForGrace(session: LiveToolSession, now: number): void {
    this.#finished.putLast(session, now);
    this.#grace ??= this.#parts.deadlines.add(
      this.#parts.limits.finishedTimeToLive,
      this.#graceOver,
    );
  }

  readonly #graceOver = (): void => {
    const { deadlines } = this.#parts;
    this.#grace = undefined;
    const now = deadlines.now();
    for (let first = this.#finished.first; first; first = this.#finished.first) {
      // The clock may have been set back: never wait longer than the grace time from now.
      const left = Math.min(first.leftAt, now) + this.#parts.limits.finishedTimeToLive - now;
      if (left > 0) {
        this.#grace = deadlines.add(left, this.#graceOver);
        return;
      }
      // A session that is held gets a new grace period when it is let go.
      if (first.expiry || first.holders > 0) this.#finished.putAside(first);
      else this.remove(first);
    }
  };

  #expire(session: RegisteredSession, ms: number): void {
    session.expiry = this.#parts.deadlines.add(ms, this.#expired, session);
  }

  /** One function for all sessions, so that a parked session holds no closure of its own. */
  readonly #expired = (session: RegisteredSession): void => {
    session.expiry = undefined;
    if (session.outcome) this.remove(session);
    else if (session.replayable) this.#passivate(session);
    else session.halt("nobody answered in time");
  };

  #passivate(session: LiveToolSession): void {
    // A session that has begun a step is rescheduled when the step is done.
    if (!session.waiting) return;
    // A reader that does not hold the session would hear nothing more from it.
    if (session.log.watched) this.reschedule(session);
    else session.suspend();
  }
}
