/**
 * Writes the records of durable sessions: appends events, renews a record while its session is
 * alive, and deletes records that no client needs.
 *
 * RECORD-1  Every live durable session with a record in the store has one journal, until everything
 *           is written. Only that journal writes the record.
 * RECORD-2  A record expires later than every `requestState` that a client has for it, by `SLACK`.
 *           The record is written before the state is created.
 * RECORD-3  The record of a live session never expires. It is renewed when half of its time to live
 *           is over.
 */
import { type Operation, until } from "effection";
import { promised } from "../lib/strand.ts";
import type { ClientInfo, ToolSessionEvent } from "../model/events.ts";
import { type Principal, recordedCaller } from "../model/principal.ts";
import { Journal } from "../session/journal.ts";
import type { RegisteredSession } from "../session/session-home.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { ToolSessionEntry } from "../store/types.ts";
import type { Definition } from "../tool/types.ts";
import type { RegistryParts } from "./parts.ts";

/** The number of milliseconds by which a record outlasts its states (RECORD-2). */
const SLACK = 60_000;

export class SessionRecords {
  readonly #parts: RegistryParts;
  readonly #journals = new Map<string, Journal>();
  /** The live sessions by id, in the order of their last renewal, oldest first. */
  readonly #renewals = new Map<string, Renewal>();
  #deletions = 0;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
  }

  /** True if no record is being written or deleted. */
  get isIdle(): boolean {
    return this.#journals.size === 0 && this.#deletions === 0;
  }

  /** Begins the record of a new session. */
  begin(session: LiveToolSession, params: unknown): void {
    this.#attach(session, entryOf(session, params, this.#expiresAt(session)), false);
  }

  /** Continues the record of a session that has resumed. */
  resume(session: LiveToolSession, entry: ToolSessionEntry): void {
    const journal = this.#attach(session, entry, true);
    const { deadlines, limits } = this.#parts;
    // RECORD-3: the record may be about to expire, because the session was not in memory for a long
    // time.
    const soon = deadlines.now() + limits.durableTimeToLive / 2 + 2 * SLACK;
    if (journal.expiresAt < soon) this.update(session);
  }

  /** Writes changes of a session that are not events. */
  update(session: LiveToolSession): void {
    this.#journals.get(session.id)?.update({
      expiresAt: this.#expiresAt(session),
      meta: entryMetaOf(session) as never,
    });
  }

  /**
   * Delays the expiry of a session's record, because the session is promised to a client for longer
   * (RECORD-2).
   */
  extend(session: LiveToolSession): void {
    const journal = this.#journals.get(session.id);
    if (journal && session.keepUntil > journal.expiresAt) this.update(session);
  }

  /** RECORD-3: renews the records of live sessions. */
  *renew(now: number): Operation<void> {
    const halfTime = now - this.#parts.limits.durableTimeToLive / 2;
    // The oldest renewal comes first, so stop at the first session that was renewed recently.
    for (const { session, at } of this.#renewals.values()) {
      if (at > halfTime) return;
      // Moves the session to the end.
      this.#renewals.delete(session.id);
      this.#renewals.set(session.id, { session, at: now });
      this.update(session);
      const written = this.written(session);
      if (written) yield* until(written);
    }
  }

  /** Records that a session has survived the attempt to resume it (RECOVERY-2). */
  settle(session: RegisteredSession): void {
    this.survived(session);
    const turnOver = endTrial(session);
    this.update(session);
    // RECOVERY-3: the next suspect may resume when this is stored.
    if (turnOver) this.whenWritten(session.id, turnOver);
  }

  /**
   * Records that a session has worked past its grace period (RECOVERY-6). `slow` is the level of
   * the next attempt, if the server crashes before the session proves that it has survived.
   */
  settleUnproven(session: RegisteredSession, slow: number): void {
    const { trial } = session;
    if (!trial) return;
    this.survived(session);
    trial.slow = slow;
    trial.deadline.cancel();
    trial.turn?.cancel();
    this.update(session);
    if (trial.over) this.whenWritten(session.id, trial.over);
  }

  /**
   * Notes that a session has survived the attempt to resume it. The note is written with the next
   * event, or by `settle`.
   */
  survived(session: RegisteredSession): void {
    const journal = this.#journals.get(session.id);
    if (journal) session.settled = journal.epoch;
  }

  /** Resolves to true if a session is completely stored. Undefined if the session has no journal. */
  written(session: LiveToolSession): Promise<boolean> | undefined {
    const journal = this.#journals.get(session.id);
    if (!journal) return undefined;
    return new Promise((tell) => journal.whenWritten(() => tell(session.lost === undefined)));
  }

  /** Calls `then` when all writes of a session are done. */
  whenWritten(id: string, then: () => void): void {
    const journal = this.#journals.get(id);
    if (journal) journal.whenWritten(then);
    else then();
  }

  /** Ends the journal of a session. Returns the epoch and the expiry of the record. */
  release(id: string): Pick<Journal, "epoch" | "expiresAt"> | undefined {
    const journal = this.#journals.get(id);
    this.#journals.delete(id);
    this.#renewals.delete(id);
    return journal;
  }

  /** Deletes the record of a session that no client needs any more. */
  forget(session: LiveToolSession): void {
    this.#parts.budget.forget(session);
    this.delete(session.id, session.toolName);
  }

  delete(id: string, toolName: string): void {
    const { scope, store, report, activity } = this.#parts;
    this.#deletions++;
    promised(scope, () => store.delete(id))
      .catch((error) =>
        report({
          what: "the record of the call could not be deleted",
          toolName,
          sessionId: id,
          error,
        })
      )
      .then(() => {
        this.#deletions--;
        activity.changed();
      });
  }

  /**
   * The time at which a record expires if its session is abandoned now, in milliseconds since the
   * epoch.
   */
  get expiryFromNow(): number {
    return this.#parts.deadlines.now() + this.#parts.limits.durableTimeToLive + SLACK;
  }

  /**
   * Returns the time at which the record of a session expires. A sleeping session counts as
   * abandoned only after it wakes up.
   */
  #expiresAt({ keepUntil, wakeAt }: LiveToolSession): number {
    const { deadlines, limits } = this.#parts;
    const abandoned = Math.max(deadlines.now(), wakeAt ?? 0);
    return Math.max(keepUntil, abandoned + limits.durableTimeToLive + SLACK);
  }

  /** Creates the journal of a session (RECORD-1). `written` is true if the store has the entry. */
  #attach(session: RegisteredSession, entry: ToolSessionEntry, written: boolean): Journal {
    const { scope, store, deadlines } = this.#parts;
    /** True if the events that are being written prove that the session has survived. */
    let settles = false;
    const journal = new Journal(scope, store, entry, {
      recorded: (lsn) => {
        const turnOver = settles ? endTrial(session) : undefined;
        settles = false;
        session.log.recorded(lsn);
        turnOver?.();
      },
      failed: (error) => session.storeFailed(error),
      state: (batch) => {
        const { wakeAt, trial } = session;
        const expiresAt = this.#expiresAt(session);
        // RECOVERY-2: an event within the grace period does not prove that the session has
        // survived.
        const hasSettled = trial?.slow === undefined && session.settled === entry.epoch;
        // RECOVERY-6: after the grace period, progress proves that the session has survived.
        const hasProgressed = trial?.slow !== undefined &&
          (session.waiting || batch.some(isProgress));
        settles = trial !== undefined && (session.log.closed || hasSettled || hasProgressed);
        if (!settles) return { expiresAt, wakeAt };
        trial!.proven = true;
        session.settled = entry.epoch;
        return { expiresAt, wakeAt, meta: entryMetaOf(session) as never };
      },
    }, written);
    this.#journals.set(session.id, journal);
    this.#renewals.set(session.id, { session, at: deadlines.now() });
    session.log.keepIn(journal);
    return journal;
  }
}

/**
 * True if an event is the outcome of a step. This is progress, because the next attempt need not
 * repeat the step.
 */
function isProgress(event: ToolSessionEvent): boolean {
  return event.type === "fact" && event.place.kind !== "value";
}

interface Renewal {
  readonly session: LiveToolSession;
  readonly at: number;
}

/**
 * Ends the attempt to resume a session. Returns the function that lets the next suspect resume, if
 * there is one.
 */
export function endTrial(session: RegisteredSession): (() => void) | undefined {
  const { trial } = session;
  session.trial = undefined;
  trial?.deadline.cancel();
  trial?.turn?.cancel();
  return trial?.over;
}

/** The registry's data in `ToolSessionEntry.meta`. */
export interface EntryMeta {
  readonly kind: Definition["kind"];
  readonly principal: string;
  /** The caller as it was when the call began. Absent if only its id was known. */
  readonly caller?: Principal;
  readonly client: ClientInfo;
  readonly keepUntil: number;
  readonly taskSince?: number;
  readonly attended?: boolean;
  /** Present if a request of the session has ended with a ticket. */
  readonly deferred?: boolean;
  /** The epoch at which the session last survived (RECOVERY-1). Absent in records of earlier versions. */
  readonly settled?: number;
  /**
   * How many times in a row the session worked past its grace period without proof (RECOVERY-6).
   */
  readonly slow?: number;
  /** Present if the session is set aside (RECOVERY-5). */
  readonly setAside?: { readonly at: number; readonly attempts: number };
}

/** Returns the metadata of a record. */
export function metaOf({ meta }: ToolSessionEntry): EntryMeta {
  return (meta ?? {}) as unknown as EntryMeta;
}

/** Returns the record of a session that begins now. */
function entryOf(
  session: LiveToolSession,
  params: unknown,
  expiresAt: number,
): ToolSessionEntry {
  const { id, toolName, principal, createdAt, tool } = session;
  return {
    id,
    toolName,
    params: params ?? {},
    principal,
    createdAt,
    epoch: 1,
    toolVersion: tool.durable!.version,
    expiresAt,
    meta: entryMetaOf(session) as never,
  };
}

function entryMetaOf(session: LiveToolSession): EntryMeta {
  const { tool: { kind }, principal, client, keepUntil, taskSince, needsCaller, settled } = session;
  const caller = session.caller && recordedCaller(session.caller);
  const slow = session.trial?.proven ? undefined : session.trial?.slow ?? session.trial?.level;
  return {
    kind,
    principal,
    ...(caller && { caller }),
    client,
    keepUntil,
    settled,
    ...(slow && { slow }),
    ...(taskSince !== undefined && { taskSince }),
    ...(needsCaller && { attended: true }),
    ...(session.deferred && { deferred: true }),
  };
}
