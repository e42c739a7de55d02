/**
 * Removes durable sessions from memory, and resumes them from their records.
 *
 * DURABLE-1  A session has one run at a time. A new owner first raises the epoch, so that the
 *            former owner can no longer write. It also waits for a run in this registry that is
 *            still leaving memory.
 * DURABLE-2  Only the version of the tool that started a session may resume it.
 * DURABLE-3  Requests for a session that is being resumed wait, and get the same session.
 */
import type { Operation } from "effection";
import { promised } from "../lib/strand.ts";
import { isFinal, type ToolSessionEvent } from "../model/events.ts";
import { SessionSetAsideError } from "../model/errors.ts";
import type { RegisteredSession, SessionHome } from "../session/session-home.ts";
import { LiveToolSession } from "../session/tool-session.ts";
import type { ToolSessionEntry } from "../store/types.ts";
import type { Definition } from "../tool/types.ts";
import { FinalEvents } from "./final-events.ts";
import type { RegistryParts } from "./parts.ts";
import { hasComeAsFar, type PortableCall, type PortableRecord } from "./portable-record.ts";
import { endTrial, metaOf, type SessionRecords } from "./records.ts";
import { failedAttempts, Recovery, type SetAsideCall } from "./recovery.ts";
import { Resting } from "./resting.ts";
import type { Retention } from "./retention.ts";
import { Sweeper } from "./sweeper.ts";
import { Waker } from "./waker.ts";

type Revival = Promise<LiveToolSession | undefined>;

export class Durability {
  /** Lists and revives sessions that are set aside. */
  readonly setAside = {
    list: (): Promise<SetAsideCall[]> => promised(this.#parts.scope, () => this.recovery.list()),
    revive: (sessionId: string): Promise<boolean> => this.#reviveSetAside(sessionId),
  };
  readonly #parts: RegistryParts;
  readonly #home: SessionHome;
  readonly #records: SessionRecords;
  readonly #retention: Retention;
  readonly recovery: Recovery;
  readonly #finalEvents: FinalEvents;
  /** The suspended sessions. Only defined if the store is in memory. */
  readonly #resting: Resting | undefined;
  readonly #waker: Waker;
  readonly #sweeper: Sweeper;
  /** Sessions that are being resumed (DURABLE-3). */
  readonly #revivals = new Map<string, Revival>();

  constructor(
    parts: RegistryParts,
    home: SessionHome,
    records: SessionRecords,
    retention: Retention,
  ) {
    this.#parts = parts;
    this.#home = home;
    this.#records = records;
    this.#retention = retention;
    this.recovery = new Recovery(parts, records);
    this.#finalEvents = new FinalEvents(parts);
    if (!parts.outlasts) this.#resting = new Resting(parts.live.max, parts.budget.memory);
    this.#waker = new Waker(parts, (id) => this.#wakeDue(id));
    this.#sweeper = new Sweeper(parts, records, this.#finalEvents, this.#resting);
  }

  /** True if no session is being written, resumed or deleted. */
  get isIdle(): boolean {
    return this.#records.isIdle && this.#revivals.size === 0 && !this.#finalEvents.isWriting;
  }

  /**
   * Resumes stored sessions: immediately those that a crashed server was running, and the others
   * when they are due.
   */
  start(): void {
    this.#sweeper.countUsage();
    this.#waker.look();
    this.#sweeper.start();
  }

  /** Stops resuming sessions. Resolves when no session is being resumed. */
  async stop(): Promise<void> {
    this.recovery.stop();
    await Promise.all([this.#waker.stop(), this.#sweeper.stop()]);
    while (this.#revivals.size > 0) await Promise.allSettled(this.#revivals.values());
    await promised(this.#parts.scope, () => this.#finalEvents.stop());
  }

  // Methods for sessions that leave memory.

  /** Called when a session is about to leave memory. */
  leaving({ wakeAt }: LiveToolSession): void {
    // If the session is already due, it must resume as soon as it has left.
    if (wakeAt !== null) this.#waker.expect(Math.max(wakeAt, this.#parts.deadlines.now() + 1));
  }

  /** Called when the run of a session that leaves memory is over. */
  left(session: LiveToolSession): void {
    const { id, toolName } = session;
    if (session.trial) this.#records.settle(session);
    this.#records.whenWritten(id, () => {
      const { expiresAt = Infinity } = this.#records.release(id) ?? {};
      if (this.#resting && !session.portable) {
        const evicted = this.#resting.add(session, expiresAt);
        this.#sweeper.start();
        if (evicted !== undefined) this.#records.delete(evicted, toolName);
      }
      this.#parts.live.delete(session);
      this.#parts.activity.changed();
    });
  }

  /** Called when a session has ended, and its last event is stored. */
  ended({ id }: LiveToolSession): void {
    this.#records.whenWritten(id, () => {
      this.#records.release(id);
      this.#parts.activity.changed();
    });
  }

  /**
   * Called when a session has ended because its record could not be written, or has another owner.
   */
  lost(session: LiveToolSession): void {
    const { id, log, needsCaller, taskSince } = session;
    endTrial(session)?.();
    const journal = this.#records.release(id);
    // A session with `needsCaller` or a task can be resumed by its caller. For other sessions, the
    // caller has received an error, so the record must get a final event.
    if (!journal || needsCaller || taskSince !== undefined) return;
    const event = log.findLast(isFinal);
    if (event) this.#finalEvents.record({ id, epoch: journal.epoch, event });
  }

  // Methods that resume sessions.

  /** Returns the principal of a stored session. */
  async principalOf(id: string): Promise<string | undefined> {
    await promised(this.#parts.scope, () => this.#untilGone(id));
    const entry = await promised(this.#parts.scope, () => this.#parts.store.get(id));
    return entry ? metaOf(entry).principal : undefined;
  }

  /**
   * Resumes a session, if it is stored and this server has its tool. `asked` is true if the caller
   * of the session waits for it. The session then counts for the share of the caller.
   */
  revive(id: string, asked: boolean): Revival {
    return this.#revivals.get(id) ??
      this.#track(id, promised(this.#parts.scope, () => this.#take(id, asked)));
  }

  /**
   * Resumes a session from a record that its client sent. A session that is still in memory is used
   * instead, if its log has all events of the record. If its log lacks some, another server has
   * continued the session in the meantime, and the record replaces it.
   */
  adopt(record: PortableRecord, call: PortableCall): Promise<LiveToolSession> {
    const before = this.#revivals.get(call.sessionId) ?? Promise.resolve();
    const adoption = before.then(() =>
      promised(this.#parts.scope, () => this.#adopt(record, call))
    );
    return this.#track(call.sessionId, adoption);
  }

  /**
   * Remembers that a session is being resumed, so that further requests wait for the same session
   * (DURABLE-3).
   */
  #track<S extends LiveToolSession | undefined>(id: string, work: Promise<S>): Promise<S> {
    const revival = work.finally(() => {
      if (this.#revivals.get(id) === revival) this.#revivals.delete(id);
      this.#parts.activity.changed();
    });
    this.#revivals.set(id, revival);
    return revival;
  }

  *#adopt(record: PortableRecord, call: PortableCall): Operation<LiveToolSession> {
    const { live } = this.#parts;
    const { sessionId, definition, params, client, principal } = call;
    const here = this.#find(sessionId);
    if (here && hasComeAsFar(here.log, record)) return here;
    live.checkOpen();
    // A live session frees its own slot. Only a missing or finished session needs a new one.
    if (!here || here.outcome) live.checkRoom(principal, false);
    if (here?.outcome) this.#retention.remove(here);
    else here?.suspend();
    yield* this.#untilGone(sessionId);
    live.checkOpen();
    const { createdAt, version, events, seed, caller } = record;
    const session = new LiveToolSession(
      this.#home,
      sessionId,
      definition,
      client,
      // The tool sees the caller as it was when the call began.
      caller ?? principal,
      createdAt,
    );
    session.takeOver({ events, needsCaller: true, portable: true, seed });
    this.#enter(session, params, version);
    return session;
  }

  *#take(id: string, asked: boolean): Operation<LiveToolSession | undefined> {
    const { store, budget, outlasts } = this.#parts;
    if (this.#parts.live.sessions.get(id)?.suspending) yield* this.#untilGone(id);
    const entry = yield* store.get(id);
    if (!entry) return this.#noRecord(id);
    const { kind, principal } = metaOf(entry);
    const definition = this.#parts.server.find(kind, entry.toolName);
    if (!definition?.durable) return undefined;
    if (asked && outlasts) budget.checkRevived(principal);
    const takeOver = () => this.#takeOver(id, definition);
    return outlasts ? yield* this.recovery.admit(entry, takeOver) : yield* takeOver();
  }

  /** Takes over a session in the store, and resumes it (DURABLE-1). */
  *#takeOver(id: string, definition: Definition): Operation<LiveToolSession | undefined> {
    const { store, outlasts } = this.#parts;
    // Take the session over before reading its events: after `take`, no other owner can append
    // events.
    const taken = yield* store.take(id);
    if (!taken) return this.#noRecord(id);
    const isUncounted = outlasts && metaOf(taken).settled === undefined;
    const mine = isUncounted ? yield* this.recovery.count(taken) : taken;
    try {
      return this.#restore(mine, definition, yield* store.read(id));
    } catch (error) {
      if (outlasts) yield* this.recovery.uncount(mine);
      throw error;
    }
  }

  /** Notes that a session has no record, so that it no longer counts as a session in the store. */
  #noRecord(id: string): undefined {
    this.#resting?.delete(id);
  }

  #restore(
    entry: ToolSessionEntry,
    definition: Definition,
    events: readonly ToolSessionEvent[],
  ): LiveToolSession {
    const { id, createdAt, params, toolVersion, epoch } = entry;
    const meta = metaOf(entry);
    const { client, principal, caller, keepUntil, taskSince, attended = false, settled } = meta;
    const { live, budget, outlasts } = this.#parts;
    // The registry may have been closed while the store was read.
    live.checkOpen();
    const session: RegisteredSession = new LiveToolSession(
      this.#home,
      id,
      definition,
      client,
      caller ?? principal,
      createdAt,
    );
    session.takeOver({ events, keepUntil, taskSince, needsCaller: attended });
    if (meta.deferred) session.defer();
    session.settled = settled ?? epoch;
    // From now on, the bytes of the session count as those of a live session.
    this.#resting?.delete(id);
    budget.restored(session, params);
    if (!session.outcome) {
      if (outlasts) this.recovery.begin(session, entry);
      this.#records.resume(session, entry);
    }
    this.#enter(session, params, toolVersion);
    return session;
  }

  /**
   * Starts a restored session, or keeps it if it has ended. `began` is the version of the tool that
   * started it.
   */
  #enter(session: LiveToolSession, params: unknown, began: string | undefined): void {
    if (session.outcome) return this.#retention.keep(session);
    this.#parts.live.add(session, params);
    const { version } = session.tool.durable!;
    // DURABLE-2
    if (began === version) session.start(params);
    else {
      session.refuse(
        `version ${began} of the tool began this call, but this server has version ${version}`,
      );
    }
  }

  /** Waits until a run of this session that is leaving memory has left (DURABLE-1). */
  #untilGone(id: string): Operation<void> {
    const { live, activity } = this.#parts;
    return activity.until(() => !live.sessions.get(id)?.suspending);
  }

  /** Returns a session that is in memory, unless it is leaving memory. */
  #find(id: string): LiveToolSession | undefined {
    const session = this.#parts.live.sessions.get(id) ?? this.#retention.get(id);
    return session?.suspending ? undefined : session;
  }

  // Methods for sessions that are due.

  /**
   * Resumes a session that is due. If the session is suspect, does not wait for its turn
   * (RECOVERY-3).
   */
  async #wakeDue(id: string): Promise<void> {
    if (this.#finalEvents.has(id)) return;
    const entry = await promised(this.#parts.scope, () => this.#parts.store.get(id));
    const woken = this.#wake(id);
    if (!entry || failedAttempts(entry) === 0) return await woken;
    woken.catch((error) => {
      // `Recovery` has already reported that it set the session aside.
      if (error instanceof SessionSetAsideError || this.#parts.live.isClosed) return;
      const what = "the call could not be resumed";
      this.#parts.report({ what, toolName: "-", sessionId: id, error });
    });
  }

  /** Resumes a session that is not in memory (WAKE-2), and notifies the server. */
  async #wake(id: string): Promise<void> {
    let session = this.#find(id);
    if (!session && !this.#parts.live.isClosed) session = await this.revive(id, false);
    if (session) this.#parts.server.woken(session);
  }

  async #reviveSetAside(sessionId: string): Promise<boolean> {
    const revived = await promised(this.#parts.scope, () => this.recovery.revive(sessionId));
    if (revived?.isDue) await this.#wake(sessionId);
    return revived !== undefined;
  }
}
