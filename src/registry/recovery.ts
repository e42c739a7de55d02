/**
 * Counts how often the server crashed after it resumed a durable session, and sets the session
 * aside after a few crashes. Otherwise a step that exits or never returns would end the server at
 * every start.
 *
 * RECOVERY-1  Resuming a session raises its epoch. The record holds the epoch at which the session
 *             last survived (`settled`). The difference is the number of failed attempts. So an
 *             attempt is counted before it runs, without an additional write.
 * RECOVERY-2  An attempt has survived when the session waits, leaves memory, ends, or has run for
 *             its grace period. Recording an event is no proof: a session that records one more
 *             event before each crash would never be set aside.
 * RECOVERY-3  A session with failed attempts is a suspect. Suspects resume one at a time, even if a
 *             request waits for one: the next suspect resumes when the store has recorded that the
 *             previous one survived. So only the first failed attempt of a session can be the fault
 *             of another suspect. That attempt counts too.
 * RECOVERY-4  Suspects with fewer failed attempts resume first. The last attempt is made only after
 *             the server has run for as long as the grace period of the attempt. So crashes with
 *             another cause are spread over all suspects, and a server that always crashes early
 *             sets no suspect aside.
 * RECOVERY-5  After `MAX_ATTEMPTS` failed attempts the session is set aside: its record stays in
 *             the store, and only an operator can make it run again.
 * RECOVERY-6  A session that works past its grace period may still crash the server. If the server
 *             crashes before the session waits, leaves memory, ends or records the outcome of a
 *             step, this counts as one failed attempt, and the next grace period is four times as
 *             long (`level`). So the grace period finally becomes longer than the time after which
 *             the session crashes.
 * RECOVERY-7  A long grace period does not delay other suspects: a turn lasts for `GRACE`. When the
 *             next suspect begins, the attempts of the earlier ones no longer count, because a
 *             crash could be the fault of the new one. The last attempt is an exception: it begins
 *             when no other attempt counts, and no suspect begins before its grace period is over.
 *             So a suspect is set aside only for its own crashes.
 */
import { action, type Operation } from "effection";
import type { Deadline } from "../lib/deadlines.ts";
import { RegistryClosedError, SessionSetAsideError } from "../model/errors.ts";
import { isFinal } from "../model/events.ts";
import type { RegisteredSession } from "../session/session-home.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { ToolSessionEntry, ToolSessionStore } from "../store/types.ts";
import type { RegistryParts } from "./parts.ts";
import { type EntryMeta, metaOf, type SessionRecords } from "./records.ts";
import { NEVER } from "./waker.ts";

const MAX_ATTEMPTS = 3;
/** The length of the first grace period, and of a turn, in milliseconds (RECOVERY-2). */
const GRACE = 5_000;
/** The factor by which a grace period grows (RECOVERY-6). */
const GROWTH = 4;

/** The number of sessions that one query of the store returns. */
const PAGE = 100;

/** A session that is set aside (RECOVERY-5). Times are in milliseconds since the epoch. */
export interface SetAsideCall {
  readonly sessionId: string;
  readonly toolName: string;
  readonly principal: string;
  readonly createdAt: number;
  readonly setAsideAt: number;
  readonly attempts: number;
}

/** A suspect that waits for its turn to resume. */
interface Turn {
  readonly id: string;
  readonly failed: number;
  readonly level: number;
  begin(): void;
  refuse(error: Error): void;
}

export class Recovery {
  readonly #parts: RegistryParts;
  readonly #records: SessionRecords;
  readonly #startedAt: number;
  /** Suspects that wait for their turn, in the order in which they came. */
  readonly #turns = new Set<Turn>();
  /** The suspect whose turn it is. */
  #tried: string | undefined;
  /**
   * True if the attempt of the suspect in `#tried` has begun. Its turn then ends with the attempt.
   */
  #hasBegun = false;
  /** Suspects whose turn is over, and whose attempts still count (RECOVERY-7). */
  readonly #counted = new Set<RegisteredSession>();
  #steady: Deadline | undefined;
  #stopped = false;

  constructor(parts: RegistryParts, records: SessionRecords) {
    this.#parts = parts;
    this.#records = records;
    this.#startedAt = parts.deadlines.elapsed();
  }

  /** Refuses all suspects that wait for their turn. */
  stop(): void {
    this.#stopped = true;
    this.#steady?.cancel();
    for (const turn of [...this.#turns]) turn.refuse(new RegistryClosedError());
  }

  /**
   * Resumes a session by calling `resume`. A suspect waits for its turn; other sessions resume
   * immediately. Throws `SessionSetAsideError` if the session is set aside.
   */
  *admit(
    entry: ToolSessionEntry,
    resume: () => Operation<LiveToolSession | undefined>,
  ): Operation<LiveToolSession | undefined> {
    if (!(yield* this.#isSuspect(entry))) return yield* resume();
    yield* this.#turn(entry);
    try {
      // Another server may have tried the session in the meantime.
      const latest = yield* this.#parts.store.get(entry.id);
      if (!latest) return undefined;
      yield* this.#isSuspect(latest);
      return yield* resume();
    } finally {
      if (!this.#hasBegun) this.#turnOver();
    }
  }

  /**
   * Returns true if a session is a suspect. If all its attempts have failed, sets the session aside
   * and throws.
   */
  *#isSuspect(entry: ToolSessionEntry): Operation<boolean> {
    const { id, toolName } = entry;
    if (metaOf(entry).setAside) throw new SessionSetAsideError(id, toolName);
    const attempts = failedAttempts(entry);
    if (attempts === 0) return false;
    const last = (yield* this.#parts.store.read(id)).at(-1);
    // A session that has ended does not run, so it cannot crash the server.
    if (last && isFinal(last)) return false;
    if (attempts < MAX_ATTEMPTS) return true;
    const { store, deadlines } = this.#parts;
    const expiresAt = this.#records.expiryFromNow;
    yield* changeRecord(store, entry, last?.lsn ?? 0, expiresAt, NEVER, {
      setAside: { at: deadlines.now(), attempts },
    });
    const error = new SessionSetAsideError(id, toolName);
    const what =
      `the call was set aside: the server crashed in each of ${attempts} attempts to continue it`;
    this.#parts.report({ what, toolName, sessionId: id, error });
    throw error;
  }

  *#turn(entry: ToolSessionEntry): Operation<void> {
    if (this.#stopped) throw new RegistryClosedError();
    const failed = failedAttempts(entry);
    const { slow: level = 0 } = metaOf(entry);
    yield* action<void>((resolve, reject) => {
      const turn = { id: entry.id, failed, level, begin: resolve, refuse: reject };
      this.#turns.add(turn);
      this.#next();
      return () => void this.#turns.delete(turn);
    });
  }

  #turnOver(): void {
    this.#tried = undefined;
    this.#hasBegun = false;
    this.#next();
  }

  /**
   * Called when the attempt of a suspect no longer counts. The turn of the suspect may already be
   * over.
   */
  #attemptOver(session: RegisteredSession): void {
    if (this.#tried === session.id) return this.#turnOver();
    if (this.#counted.delete(session)) this.#next();
  }

  #next(): void {
    if (this.#tried !== undefined || this.#stopped) return;
    // RECOVERY-4: choose the first suspect with the fewest failed attempts.
    let next: Turn | undefined;
    for (const turn of this.#turns) if (!next || turn.failed < next.failed) next = turn;
    if (!next) return;
    if (isLast(next.failed) && (this.#counted.size > 0 || !this.#isSteady(next.level))) return;
    this.#tried = next.id;
    this.#turns.delete(next);
    next.begin();
  }

  /**
   * Returns true if the server has run for the grace period of this level (RECOVERY-4). Otherwise
   * returns false, and calls `#next` when it has.
   */
  #isSteady(level: number): boolean {
    const { deadlines } = this.#parts;
    const early = this.#startedAt + GRACE * GROWTH ** level - deadlines.elapsed();
    if (early <= 0) return true;
    this.#steady?.cancel();
    this.#steady = deadlines.add(early, () => {
      this.#steady = undefined;
      this.#next();
    });
    return false;
  }

  /** Adds `settled` to the record of a resumed session that has none (RECOVERY-1). */
  *count(mine: ToolSessionEntry): Operation<ToolSessionEntry> {
    const counted = { ...mine, meta: { ...mine.meta, settled: mine.epoch - 1 } };
    yield* this.#parts.store.set(mine.id, counted);
    return counted;
  }

  /** Undoes the count of an attempt, because the session got a new owner but did not run. */
  *uncount(mine: ToolSessionEntry): Operation<void> {
    const meta = { ...mine.meta, settled: mine.epoch };
    yield* this.#parts.store.set(mine.id, { ...mine, meta });
  }

  /** Starts an attempt. The resumed session is about to run. */
  begin(session: RegisteredSession, mine: ToolSessionEntry): void {
    // Subtract one, because the epoch already counts this attempt.
    const failed = failedAttempts(mine) - 1;
    const { slow: level = 0 } = metaOf(mine);
    const { deadlines } = this.#parts;
    const deadline = deadlines.add(
      GRACE * GROWTH ** level,
      () => this.#records.settleUnproven(session, level + 1),
    );
    if (this.#tried !== session.id) return void (session.trial = { failed, level, deadline });
    this.#hasBegun = true;
    // RECOVERY-7: from now on, a crash could be the fault of this session.
    for (const other of this.#counted) {
      this.#counted.delete(other);
      this.#records.settleUnproven(other, other.trial?.level ?? 0);
    }
    const turn = level === 0 || isLast(failed) ? undefined : deadlines.add(GRACE, () => {
      this.#counted.add(session);
      this.#turnOver();
    });
    session.trial = { failed, level, deadline, turn, over: () => this.#attemptOver(session) };
    const error = new Error(
      `Cannot continue this call safely: the server crashed in ${failed} attempts to continue it; after ${MAX_ATTEMPTS} such attempts the call is set aside`,
    );
    const { toolName, id: sessionId } = session;
    this.#parts.report({ what: "the call resumes once more", toolName, sessionId, error });
  }

  /**
   * Called when a session began to wait, and therefore has survived (RECOVERY-2). For a suspect,
   * this is recorded immediately.
   */
  changed(session: RegisteredSession): void {
    const { trial, waiting, replay } = session;
    if (!trial || trial.proven || !waiting || replay?.done === false) return;
    if (trial.failed > 0 || trial.slow !== undefined) this.#records.settle(session);
    else this.#records.survived(session);
  }

  *list(): Operation<SetAsideCall[]> {
    const { store } = this.#parts;
    const calls: SetAsideCall[] = [];
    for (let after = { wakeAt: NEVER, id: "" };;) {
      const page = yield* store.wakes(PAGE, after);
      for (const { id } of page) {
        const entry = yield* store.get(id);
        const { setAside, principal } = entry ? metaOf(entry) : ({} as Partial<EntryMeta>);
        if (!entry || !setAside || principal === undefined) continue;
        const { toolName, createdAt } = entry;
        const { at: setAsideAt, attempts } = setAside;
        calls.push({ sessionId: id, toolName, principal, createdAt, setAsideAt, attempts });
      }
      if (page.length < PAGE) return calls;
      after = page.at(-1)!;
    }
  }

  /**
   * Lets a session that was set aside run again. `isDue` is true if it should resume now. Returns
   * undefined if the session is not set aside.
   */
  *revive(sessionId: string): Operation<{ readonly isDue: boolean } | undefined> {
    const now = this.#parts.deadlines.now();
    return yield* reviveRecord(this.#parts.store, sessionId, now, this.#records.expiryFromNow);
  }
}

/**
 * Changes the record of a session that is set aside, so that the session can run again. `isDue` is
 * true if it should resume now. Returns undefined if the session is not set aside.
 */
export function* reviveRecord(
  store: ToolSessionStore,
  sessionId: string,
  now: number,
  expiresAt: number,
): Operation<{ readonly isDue: boolean } | undefined> {
  const entry = yield* store.get(sessionId);
  const meta = entry && metaOf(entry);
  if (!entry || !meta?.setAside) return undefined;
  const lsn = (yield* store.read(sessionId)).at(-1)?.lsn ?? 0;
  // A session with `needsCaller` resumes with the next request of its caller.
  const isDue = !meta.attended;
  yield* changeRecord(store, entry, lsn, expiresAt, isDue ? now : null, {
    settled: entry.epoch,
    slow: undefined,
    setAside: undefined,
  });
  return { isDue };
}

function* changeRecord(
  store: ToolSessionStore,
  entry: ToolSessionEntry,
  afterLSN: number,
  expiresAt: number,
  wakeAt: number | null,
  change: { [K in keyof EntryMeta]?: EntryMeta[K] | undefined },
): Operation<void> {
  const meta = { ...entry.meta, ...change } as never;
  yield* store.append(entry.id, [], {
    afterLSN,
    epoch: entry.epoch,
    entry: { ...entry, expiresAt, meta },
    expiresAt,
    wakeAt,
  });
}

/** Returns the number of failed attempts to resume a session (RECOVERY-1). */
export function failedAttempts(entry: ToolSessionEntry): number {
  const { settled = entry.epoch, slow = 0 } = metaOf(entry);
  // RECOVERY-6: the server crashed after the session had worked past its grace period.
  return entry.epoch - settled + (slow > 0 ? 1 : 0);
}

/**
 * Returns true if the next attempt is the last: if it fails, the session is set aside (RECOVERY-5).
 */
function isLast(failed: number): boolean {
  return failed === MAX_ATTEMPTS - 1;
}
