/**
 * Keeps durable sessions where they outlast their run, and takes them up again.
 *
 * D1  One run of a session at a time: whoever takes one up fences off whoever had
 *     it before, and waits for a run that is on its way out here.
 * D2  A session is taken up only by the version of the tool that began it.
 */
import type { Operation } from "effection";
import { promised } from "../lib/strand.ts";
import { type ClientInfo, isFinal, type ToolSessionEvent } from "../model/events.ts";
import { Journal } from "../session/journal.ts";
import type { RegisteredSession } from "../session/session-home.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { ToolSessionEntry } from "../store/types.ts";
import type { Definition } from "../tool/types.ts";
import type { DurabilityHome } from "./durability-home.ts";
import { FinalEvents } from "./final-events.ts";
import { hasComeAsFar, type PortableCall, type PortableRecord } from "./portable-record.ts";
import { isNever, Recovery } from "./recovery.ts";
import { Resting } from "./resting.ts";
import { StoreUsage } from "./store-usage.ts";
import { Sweeper } from "./sweeper.ts";
import { Waker } from "./waker.ts";

/** A record outlasts the state that leads to it: one is written before the other is made. */
const SLACK = 60_000;

export class Durability {
  readonly recovery: Recovery;
  readonly #home: DurabilityHome;
  readonly #journals = new Map<string, Journal>();
  /** Sessions that are being taken up, so that two who come at once get the same one. */
  readonly #revivals = new Map<string, Promise<LiveToolSession | undefined>>();
  /** Sessions on their way out of memory. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #left = new Map<string, () => void>();
  readonly #waker: Waker;
  readonly #sweeper: Sweeper;
  readonly #renewals = new LeaseRenewals();
  readonly #finalEvents: FinalEvents;
  /** Sessions that the store is about to forget. */
  #deletions = 0;
  readonly #usage: StoreUsage;
  readonly #resting: Resting | undefined;

  constructor(home: DurabilityHome) {
    this.#home = home;
    const { scope, deadlines, store } = home;
    this.#usage = new StoreUsage({
      usage: home.outlasts && store.usage ? () => this.#run(() => store.usage!()) : undefined,
      budget: home.budget,
      failed: (error) => this.#fault("the bytes in the store could not be counted", error),
    });
    if (!home.outlasts) this.#resting = new Resting(home.mostResting, home.budget.memory);
    this.#waker = new Waker({
      deadlines,
      hasRoom: () => home.hasRoom(),
      wakes: async (limit, after) => {
        const wakes = await this.#run(() => store.wakes(limit, after));
        return wakes.filter((wake) => !isNever(wake));
      },
      wake: async (id) => {
        if (!this.#finalEvents.has(id)) await this.recovery.wake(id);
      },
      failed: (error) => this.#fault("sessions could not be woken", error),
    });
    this.#finalEvents = new FinalEvents({
      store,
      most: home.mostResting,
      run: (operation) => this.#run(operation),
      settled: () => home.settled(),
      failed: (error) => this.#fault("the end of failed sessions could not be stored", error),
    });
    this.recovery = new Recovery({
      store,
      deadlines,
      run: (operation) => this.#run(operation),
      wake: (id) => home.wake(id),
      survived: (session) => this.#survived(session),
      keepUntil: () => deadlines.now() + home.timeToLive() + SLACK,
      report: (fault) => home.report(fault),
    });
    this.#sweeper = new Sweeper({
      scope,
      deadlines,
      isWorthwhile: () => home.outlasts || this.#resting!.size > 0,
      prepare: async (now) => {
        await this.#renew(now);
        await this.#finalEvents.retry();
      },
      swept: (now) => {
        this.#resting?.expire(now);
        this.#usage.count();
      },
      failed: (error) => this.#fault("old sessions could not be forgotten", error),
    }, [store, ...home.sweep]);
  }

  /** Nothing is being written, read, left or forgotten. */
  get idle(): boolean {
    return this.#journals.size === 0 && this.#revivals.size === 0 && this.#leaving.size === 0 &&
      this.#deletions === 0 && !this.#finalEvents.busy;
  }

  /** Runs what was at work, or slept, when a server died over this store; later, what is due. */
  wake(): void {
    this.#usage.count();
    this.#waker.look();
    this.#sweeper.start();
  }

  /** Takes nothing up any more, and resolves once nothing is being taken up. */
  async stop(): Promise<void> {
    this.recovery.stop();
    await Promise.all([this.#waker.stop(), this.#sweeper.stop()]);
    await this.#usage.counted;
    while (this.#revivals.size > 0) await Promise.allSettled(this.#revivals.values());
    await this.#finalEvents.stop();
  }

  /** The attempt to go on with a session has not ended the server. */
  #survived(session: RegisteredSession): void {
    const journal = this.#journals.get(session.id);
    if (journal) session.settled = journal.epoch;
    const turnOver = this.recovery.over(session);
    this.update(session);
    if (turnOver) this.#whenWritten(session.id, turnOver);
  }

  /** Records a session from its beginning. */
  keep(session: LiveToolSession, params: unknown): void {
    this.#attach(session, entryOf(session, params, this.#expiresAt(session)));
  }

  /** Writes down what has changed about a session besides its events. */
  update(session: LiveToolSession): void {
    const journal = this.#journals.get(session.id);
    journal?.update({
      expiresAt: this.#expiresAt(session),
      meta: entryMetaOf(session) as never,
    });
  }

  /** Somebody was told to come back until then; its record must be there that long. */
  promised(session: LiveToolSession): void {
    const journal = this.#journals.get(session.id);
    if (journal && session.keepUntil > journal.expiresAt) this.update(session);
  }

  /** Writes down that sessions are kept on, where half of their term is over. */
  async #renew(now: number): Promise<void> {
    const then = now - this.#home.timeToLive() / 2;
    for (let one = this.#renewals.nextBefore(then); one; one = this.#renewals.nextBefore(then)) {
      this.#renewals.renewed(one, now);
      this.update(one);
      await this.secured(one);
    }
  }

  /** Waits until everything about a session is written, or cannot be; undefined if it is. */
  secured(session: LiveToolSession): Promise<boolean> | undefined {
    const journal = this.#journals.get(session.id);
    if (!journal) return undefined;
    return new Promise((tell) => journal.whenWritten(() => tell(session.lost === undefined)));
  }

  /** Takes back that a session is kept here: its record is not ours to write any more. */
  drop(session: LiveToolSession): void {
    const { id, log, needsCaller, taskSince } = session;
    this.recovery.over(session)?.();
    const journal = this.#journals.get(id);
    this.#release(id);
    // Whoever comes back for such a one goes on with it; any other was told that it is over.
    if (!journal || needsCaller || taskSince !== undefined) return;
    const event = log.findLast(isFinal);
    if (event) this.#finalEvents.record({ id, epoch: journal.epoch, event });
  }

  /** Puts a session out of memory, once everything about it is written. */
  leave(session: LiveToolSession): void {
    // One that has ended has nothing to leave behind, and would never be out.
    if (this.#leaving.has(session.id) || session.outcome) return;
    const { wakeAt } = session;
    this.#leaving.set(
      session.id,
      new Promise<void>((resolve) => this.#left.set(session.id, resolve)),
    );
    session.suspend();
    // What is due already is due once it has left.
    if (wakeAt !== null) this.#waker.expect(Math.max(wakeAt, this.#home.deadlines.now() + 1));
  }

  /** It has left: its run is over, and nothing is lost. */
  left(session: LiveToolSession, then: () => void): void {
    const { id } = session;
    if (session.trial) this.#survived(session);
    this.#whenWritten(id, () => {
      const { expiresAt = Infinity } = this.#journals.get(id) ?? {};
      this.#release(id);
      this.#rest(session, expiresAt);
      then();
      this.#home.settled();
    });
  }

  #rest(session: LiveToolSession, expiresAt: number): void {
    const resting = this.#resting;
    if (!resting || session.portable) return;
    const going = resting.add(session, expiresAt);
    this.#sweeper.start();
    if (going !== undefined) this.#delete(going, session.toolName);
  }

  /** It has ended for good; its journal is not needed any more once all is written. */
  ended(session: LiveToolSession): void {
    this.#whenWritten(session.id, () => {
      // One that was to leave may have come to its end instead.
      this.#release(session.id);
      this.#home.settled();
    });
  }

  /** Nobody will come back for it. */
  forget(session: LiveToolSession): void {
    this.#home.budget.forget(session);
    this.#delete(session.id, session.toolName);
  }

  #delete(id: string, toolName: string): void {
    this.#deletions++;
    this.#run(() => this.#home.store.delete(id))
      .catch((error) => {
        this.#home.report({ what: "it could not be deleted", toolName, sessionId: id, error });
      })
      .then(() => {
        this.#deletions--;
        this.#home.settled();
      });
  }

  #whenWritten(id: string, then: () => void): void {
    const journal = this.#journals.get(id);
    if (journal) journal.whenWritten(then);
    else then();
  }

  #release(id: string): void {
    this.#journals.delete(id);
    this.#renewals.end(id);
    this.#leaving.delete(id);
    this.#left.get(id)?.();
    this.#left.delete(id);
  }

  /** Whose a session on record is. */
  async principalOf(id: string): Promise<string | undefined> {
    await this.#leaving.get(id);
    const entry = await this.#run(() => this.#home.store.get(id));
    return (entry?.meta as EntryMeta | undefined)?.principal;
  }

  /**
   * Takes a session up again, if there is one and this server has what it is a run of.
   * Where somebody asks for it, that counts as theirs.
   */
  revive(id: string, asked: boolean): Promise<LiveToolSession | undefined> {
    let revival = this.#revivals.get(id);
    if (!revival) {
      revival = this.#revive(id, asked).finally(() => this.#takenUp(id, revival));
      this.#revivals.set(id, revival);
    }
    return revival;
  }

  /**
   * Takes a session up from a record that its client has carried. What is here of it
   * counts only if it has come as far: another server may have gone on with it.
   */
  adopt(record: PortableRecord, call: PortableCall): Promise<LiveToolSession> {
    const { sessionId } = call;
    const before = this.#revivals.get(sessionId) ?? Promise.resolve();
    const adoption = before.then(() => this.#adopt(record, call))
      .finally(() => this.#takenUp(sessionId, adoption));
    this.#revivals.set(sessionId, adoption);
    return adoption;
  }

  #takenUp(id: string, revival: Promise<unknown> | undefined): void {
    if (this.#revivals.get(id) === revival) this.#revivals.delete(id);
    this.#home.settled();
  }

  async #adopt(record: PortableRecord, call: PortableCall): Promise<LiveToolSession> {
    const { sessionId } = call;
    const here = this.#home.find(sessionId);
    if (here && hasComeAsFar(here.log, record)) return here;
    // One that is at work or waits makes room for what it is to be.
    if (!here || here.outcome) this.#home.admit(call.principal);
    if (here?.outcome) this.#home.dismiss(here);
    else if (here) this.leave(here);
    await this.#leaving.get(sessionId);
    this.#home.admit();
    const { createdAt, version, events } = record;
    const { definition, params, client, principal } = call;
    const entry = { id: sessionId, toolName: definition.name, params, createdAt, epoch: 1 };
    const session = this.#home.make(entry, definition, client, principal);
    session.takeOver({ events, needsCaller: true, portable: true, seed: record.seed });
    this.#home.enter(session, params, mismatch(definition, version));
    return session;
  }

  async #revive(id: string, asked: boolean): Promise<LiveToolSession | undefined> {
    await this.#leaving.get(id);
    return await this.#run(() => this.#take(id, asked));
  }

  *#take(id: string, asked: boolean): Operation<LiveToolSession | undefined> {
    const { store, definitionOf, budget, outlasts } = this.#home;
    const entry = yield* store.get(id);
    this.#resting?.delete(id);
    if (!entry) return undefined;
    const { kind, principal } = entry.meta as unknown as EntryMeta;
    const definition = definitionOf(kind, entry.toolName);
    if (!definition?.durable) return undefined;
    if (asked && outlasts) budget.checkTakenUp(principal);
    const takeOver = () => this.#takeOver(id, definition);
    return outlasts ? yield* this.recovery.admit(entry, takeOver) : yield* takeOver();
  }

  *#takeOver(id: string, definition: Definition): Operation<LiveToolSession | undefined> {
    const { store, outlasts } = this.#home;
    // Fence first, then read: nobody writes behind what we read.
    const taken = yield* store.take(id);
    if (!taken) return undefined;
    const mine = outlasts ? yield* this.recovery.taken(taken) : taken;
    try {
      return this.#restore(mine, definition, yield* store.read(id));
    } catch (error) {
      if (outlasts) yield* this.recovery.notRun(mine);
      throw error;
    }
  }

  #restore(
    entry: ToolSessionEntry,
    definition: Definition,
    events: readonly ToolSessionEvent[],
  ): LiveToolSession {
    const { client, principal, keepUntil, taskSince, attended = false, settled } = entry
      .meta as unknown as EntryMeta;
    // It may have been closed meanwhile: nothing is begun then that would be stopped at once.
    this.#home.admit();
    const session = this.#home.make(entry, definition, client, principal);
    session.takeOver({
      events,
      keepUntil,
      taskSince,
      needsCaller: attended,
      settled: settled ?? entry.epoch,
    });
    this.#home.budget.restored(session, entry.params);
    if (!session.outcome) {
      if (this.#home.outlasts) this.recovery.begin(session, entry);
      this.#attach(session, entry, true);
    }
    this.#home.enter(session, entry.params, mismatch(definition, entry.toolVersion));
    return session;
  }

  #attach(session: RegisteredSession, entry: ToolSessionEntry, written = false): void {
    const { scope, store, deadlines, timeToLive } = this.#home;
    const journal = new Journal(scope, store, entry, {
      recorded: (lsn) => {
        const turnOver = session.trial && this.recovery.over(session);
        session.log.recorded(lsn);
        turnOver?.();
      },
      failed: (error) => session.storeFailed(error),
      standing: () => {
        const { wakeAt, trial } = session;
        const expiresAt = this.#expiresAt(session);
        if (!trial) return { expiresAt, wakeAt };
        // A session that records an event has survived; its record says so from here on.
        session.settled = entry.epoch;
        return { expiresAt, wakeAt, meta: entryMetaOf(session) as never };
      },
    }, written);
    this.#journals.set(session.id, journal);
    const now = deadlines.now();
    this.#renewals.renewed(session, now);
    // One that was taken up may have been left alone for long.
    if (written && journal.expiresAt < now + timeToLive() / 2 + 2 * SLACK) this.update(session);
    session.log.keepIn(journal);
  }

  /** One that is to wake later is left alone only from then on. */
  #expiresAt({ keepUntil, wakeAt }: LiveToolSession): number {
    const { deadlines, timeToLive } = this.#home;
    const alone = Math.max(deadlines.now(), wakeAt ?? 0);
    return Math.max(keepUntil, alone + timeToLive() + SLACK);
  }

  #run<T>(operation: () => Operation<T>): Promise<T> {
    return promised(this.#home.scope, operation);
  }

  #fault(what: string, error: unknown): void {
    this.#home.report({ what, toolName: "-", sessionId: "-", error });
  }
}

/** What is kept besides what every store knows. */
export interface EntryMeta {
  readonly kind: Definition["kind"];
  readonly principal: string;
  readonly client: ClientInfo;
  readonly keepUntil: number;
  readonly taskSince?: number;
  readonly attended?: boolean;
  /** The epoch at which it was last alive; records of earlier versions have none. */
  readonly settled?: number;
  /** It is not run any more. */
  readonly setAside?: { readonly at: number; readonly attempts: number };
}

/** Why a call cannot be taken up that another version of its tool began. */
export function mismatch({ durable }: Definition, began: string | undefined): string | undefined {
  const { version } = durable!;
  if (began === version) return undefined;
  return `version ${began} of it began this call, and this is version ${version}`;
}

/** How a session is put on record that begins now. */
export function entryOf(
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

export function entryMetaOf(session: LiveToolSession): EntryMeta {
  const { tool: { kind }, principal, client, keepUntil, taskSince, needsCaller, settled } = session;
  return {
    kind,
    principal,
    client,
    keepUntil,
    settled,
    ...(taskSince !== undefined && { taskSince }),
    ...(needsCaller && { attended: true }),
  };
}

interface Renewal {
  readonly session: LiveToolSession;
  readonly at: number;
}

export class LeaseRenewals {
  /** By id; whose record was renewed longest ago stands first. */
  readonly #renewals = new Map<string, Renewal>();

  /** The record of a session is as good as new. */
  renewed(session: LiveToolSession, at: number): void {
    this.#renewals.delete(session.id);
    this.#renewals.set(session.id, { session, at });
  }

  /** It is not alive any more. */
  end(id: string): void {
    this.#renewals.delete(id);
  }

  /** The next one that was not renewed since then. Looks at no other. */
  nextBefore(then: number): LiveToolSession | undefined {
    for (const { session, at } of this.#renewals.values()) return at <= then ? session : undefined;
    return undefined;
  }
}
