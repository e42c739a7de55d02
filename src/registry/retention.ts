/**
 * Decides how long sessions stay in memory. Finished sessions stay so that clients can fetch the
 * result. Waiting sessions stay until they get an answer.
 *
 * RETAIN-1  A session without holders expires. A finished session expires after its grace period,
 *           or at the time that was promised to its client. A waiting session expires after its
 *           time to live. A durable session that waits leaves memory instead.
 * RETAIN-2  The number and the bytes of finished sessions are limited. First the oldest sessions of
 *           the caller that has the most are evicted. Sessions that are promised to a client are
 *           evicted last, and sessions with holders never.
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

/** A search for a session to evict stops after this many sessions that must stay. */
const MAX_LOOKS = 16;

export class FinishedSessions {
  readonly #limits: FinishedLimits;
  readonly #byId = new Map<string, LiveToolSession>();
  /** All finished sessions, by id. */
  readonly sessions: ReadonlyMap<string, LiveToolSession> = this.#byId;
  /** Sessions that are not promised to a client. */
  readonly #free = new LinkedList<LiveToolSession>();
  /** Sessions that are promised to a client, or have holders. They are evicted last. */
  readonly #promised = new LinkedList<LiveToolSession>();
  /** Sessions by caller, oldest first. Undefined until there are sessions of a second caller. */
  #owned: Owned<LiveToolSession> | undefined;
  /** The number of sessions of each caller, and their bytes. */
  readonly #counts = new Shares(UNLIMITED);
  readonly #weights = new Shares(UNLIMITED);

  constructor(limits: FinishedLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Adds a session. Deletes other sessions if there are too many (RETAIN-2), and returns them. */
  add(session: LiveToolSession, now: number): readonly LiveToolSession[] {
    const earlier = this.#byId.get(session.id);
    if (earlier) this.delete(earlier);
    this.#byId.set(session.id, session);
    (session.keepUntil > now ? this.#promised : this.#free).add(session);
    this.#count(session, 1);
    if (this.#owned) this.#owned.add(session.principal, session);
    else if (this.#counts.of(session.principal) < this.#counts.total) this.#trackOwners();
    if (!this.#isOver) return NONE;
    const going: LiveToolSession[] = [];
    if (this.#owned) this.#evictOfLargest(going, now);
    this.#evict(this.#free, going, now);
    this.#evict(this.#promised, going, now);
    return going;
  }

  /**
   * Groups the sessions by caller. A server with one caller skips this, because a large set is slow
   * to change.
   */
  #trackOwners(): void {
    this.#owned = new Owned();
    for (const session of this.#byId.values()) this.#owned.add(session.principal, session);
  }

  get #isOver(): boolean {
    const { max, maxBytes } = this.#limits;
    return this.#counts.total > max || this.#weights.total > maxBytes;
  }

  #count(session: LiveToolSession, times: 1 | -1): void {
    const { principal, log, durable, baggage } = session;
    this.#counts.take(principal, times);
    // The bytes of a durable session include the arguments and the client data in its record.
    this.#weights.take(principal, times * (durable ? log.bytes + baggage : log.bytes));
  }

  /** The session whose grace period started first. */
  get first(): LiveToolSession | undefined {
    return this.#free.first;
  }

  /** Starts the grace period of a session that is not promised to a client. */
  putLast(session: RegisteredSession, now: number): void {
    session.leftAt = now;
    session.list?.remove(session);
    this.#free.add(session);
  }

  /** Ends the grace period of a session, because it has holders or is promised to a client. */
  putAside(session: LiveToolSession): void {
    session.list?.remove(session);
    this.#promised.add(session);
  }

  /** Deletes a session. Returns false if it was not in this collection. */
  delete(session: LiveToolSession): boolean {
    if (!session.list?.remove(session)) return false;
    this.#owned?.delete(session.principal, session);
    this.#count(session, -1);
    return this.#byId.delete(session.id);
  }

  clear(): void {
    for (const session of this.#byId.values()) session.list?.remove(session);
    this.#byId.clear();
    this.#owned = undefined;
    this.#counts.replace([]);
    this.#weights.replace([]);
  }

  /**
   * Deletes sessions of the caller that has the most, so that other callers do not lose sessions.
   */
  #evictOfLargest(going: LiveToolSession[], now: number): void {
    while (this.#isOver) {
      const isCount = this.#counts.total > this.#limits.max;
      const { largest } = isCount ? this.#counts : this.#weights;
      if (largest === undefined || this.#counts.of(largest) === this.#counts.total) return;
      const oldest = this.#oldestOf(largest, now);
      if (!oldest) return;
      this.delete(oldest);
      going.push(oldest);
    }
  }

  #oldestOf(principal: string, now: number): LiveToolSession | undefined {
    let promised: LiveToolSession | undefined;
    let looks = 0;
    const held: LiveToolSession[] = [];
    for (const session of this.#owned?.of(principal) ?? []) {
      if (session.holders > 0) held.push(session);
      else if (session.keepUntil <= now) return session;
      else promised ??= session;
      if (++looks === MAX_LOOKS) break;
    }
    // Move sessions with holders to the end, so that the next search does not start with them.
    for (const session of held) {
      this.#owned?.delete(principal, session);
      this.#owned?.add(principal, session);
    }
    return promised;
  }

  /**
   * Deletes the oldest sessions. Moves sessions that must stay to the end, so that the next search
   * does not start with them.
   */
  #evict(from: LinkedList<LiveToolSession>, going: LiveToolSession[], now: number): void {
    let looks = 0;
    let next = from.first;
    while (next && this.#isOver) {
      const session = next;
      next = session.next;
      const promisedSince = from === this.#free && session.keepUntil > now;
      if (session.holders > 0 || promisedSince) {
        if (++looks > MAX_LOOKS) return;
        from.remove(session);
        (promisedSince ? this.#promised : from).add(session);
        continue;
      }
      this.delete(session);
      going.push(session);
    }
  }
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

  /** Finds a finished session in memory. */
  get(id: string): LiveToolSession | undefined {
    return this.#finished.sessions.get(id);
  }

  /** Sets when a session expires, depending on its current state (RETAIN-1). */
  reschedule(session: RegisteredSession): void {
    session.expiry?.cancel();
    session.expiry = undefined;
    if (session.holders > 0 || this.#parts.live.isClosed) return;
    const { deadlines, limits } = this.#parts;
    let ms: number;
    if (session.outcome) {
      // The session is in no list, so it is not kept.
      if (!session.list) return;
      const now = deadlines.now();
      const promised = session.keepUntil - now;
      if (promised <= 0) return this.#keepForGrace(session, now);
      ms = Math.max(limits.finishedTimeToLive, promised);
    } else if (session.waiting) {
      ms = session.replayable ? limits.passivateAfter : limits.waitingTimeToLive;
    } else return;
    session.expiry = deadlines.add(ms, this.#expired, session);
  }

  /** Keeps a session that ended before it was registered. */
  keep(session: RegisteredSession): void {
    if (!session.outcome || session.registered) return;
    session.registered = true;
    this.finish(session);
    this.reschedule(session);
  }

  /** Keeps a session that has just ended. May evict older sessions. */
  finish(session: LiveToolSession): void {
    const now = this.#parts.deadlines.now();
    for (const evicted of this.#finished.add(session, now)) this.#removed(evicted);
  }

  /**
   * Removes a finished session from memory. Deletes its record too, if no client needs the result.
   */
  remove(session: RegisteredSession): void {
    this.#removed(session, this.#finished.delete(session));
  }

  /**
   * Called with a session that is no longer in this collection. `wasKept` is false if it never was.
   */
  #removed(session: RegisteredSession, wasKept = true): void {
    session.expiry?.cancel();
    session.expiry = undefined;
    if (!wasKept) return;
    if (!this.#finished.first) {
      this.#grace?.cancel();
      this.#grace = undefined;
    }
    const stored = session.durable && !session.portable;
    // If a client may still request the result, the record stays until it expires.
    const wanted = this.#parts.outlasts &&
      (!session.outcomeDelivered || session.keepUntil > this.#parts.deadlines.now());
    if (stored && wanted) return session.tellLeft();
    session.tellGone();
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
      // The clock may have been set back. Never wait longer than one grace period from now.
      const left = Math.min(first.leftAt, now) + this.#parts.limits.finishedTimeToLive - now;
      if (left > 0) {
        this.#grace = deadlines.add(left, this.#graceOver);
        return;
      }
      // A session with holders gets a new grace period when the last holder releases it.
      if (first.expiry || first.holders > 0) this.#finished.putAside(first);
      else this.remove(first);
    }
  };

  /**
   * Handles the expiry of a session (RETAIN-1). All sessions share this function, so that a parked
   * session needs no closure.
   */
  readonly #expired = (session: RegisteredSession): void => {
    session.expiry = undefined;
    if (session.outcome) this.remove(session);
    else if (session.replayable) this.#passivate(session);
    else session.halt("nobody answered in time");
  };

  #passivate(session: LiveToolSession): void {
    // A session that is running a step is rescheduled when the step is done.
    if (!session.waiting) return;
    // Keep a session in memory while it has a reader, because a suspended session sends no more
    // events.
    if (session.log.watched) this.reschedule(session);
    else session.suspend();
  }
}
