/**
 * R1  A session that nobody holds goes away: a finished one after its grace time,
 *     one that waits for answers after its time to live.
 * R2  Nothing here walks all sessions, except closing.
 * R3  After `close()` no generator is running, no deadline is set, and nothing starts.
 */
import { createScope, type Operation, type Scope, until } from "effection";
import { RegistryClosed, SessionGone } from "../errors.ts";
import type { ClientInfo, ServerChange } from "../events.ts";
import { systemClock } from "../runtime/clock.ts";
import { Deadlines } from "../runtime/deadlines.ts";
import type { Fault, SamplingSetup } from "../runtime/run-host.ts";
import { InMemoryToolSessionStore } from "../store/memory.ts";
import type { ToolSessionEntry } from "../store/types.ts";
import type { Definition } from "../tool/types.ts";
import type { CarriedRecord } from "./carried.ts";
import type { LogLimits } from "./event-log.ts";
import { reporter } from "./faults.ts";
import { FinishedSessions } from "./finished.ts";
import { LiveSessions } from "./live.ts";
import { type CarriedCall, Durability } from "./durability.ts";
import type { RegistryOptions } from "./registry-options.ts";
import { Sealer } from "./sealer.ts";
import { tellEnded } from "./ended-call.ts";
import type { SessionHome, SessionOwner } from "./session-home.ts";
import { LiveToolSession } from "./tool-session.ts";
import type { ToolSession, ToolSessionOptions, ToolSessionRegistry } from "./types.ts";

const PASSIVATE_AFTER = 60_000;
/** A record outlasts the state that leads to it: one is written before the other is made. */
const SLACK = 60_000;

/** A caller who says nothing about itself is part of this program, and can answer anything. */
const IN_PROCESS: ClientInfo = {
  capabilities: {
    elicitation: { form: {}, url: {} },
    sampling: { tools: {} },
    roots: {},
  },
};

/** All live sessions of this process, and the finished ones that somebody may still want to read. */
export class LiveToolSessionRegistry implements ToolSessionRegistry, SessionHome {
  readonly scope: Scope;
  readonly deadlines: Deadlines;
  readonly logLimits: LogLimits;
  readonly sampling: SamplingSetup;
  readonly sealer: Sealer;
  readonly report: (fault: Fault) => void;
  readonly announce: (change: ServerChange) => void;
  readonly #destroyScope: () => Promise<void>;
  readonly #options: RegistryOptions;
  readonly #durability: Durability;
  readonly #live: LiveSessions;
  readonly #finished: FinishedSessions;
  #closed = false;
  #draining = false;
  #closing: Promise<void> | undefined;
  /** Called whenever there may be nothing at work any more. */
  #settled: (() => void) | undefined;
  #emptied: (() => void) | undefined;

  constructor(options: RegistryOptions = {}, parent?: Scope) {
    const [scope, destroy] = parent ? createScope(parent) : createScope();
    this.scope = scope;
    this.#destroyScope = destroy;
    this.#options = options;
    this.deadlines = new Deadlines(options.clock ?? systemClock);
    this.sampling = options.sampling ?? {};
    this.logLimits = {
      maxEvents: options.maxEvents ?? 1_000,
      maxBytes: options.maxBytes ?? 4 * 1024 * 1024,
    };
    const max = options.maxSessions ?? 10_000;
    this.#live = new LiveSessions({
      max,
      maxPerPrincipal: options.maxSessionsPerPrincipal ?? Math.ceil(max / 10),
    });
    this.#finished = new FinishedSessions({
      max: options.maxFinished ?? max,
      maxBytes: options.maxFinishedBytes ?? 64 * 1024 * 1024,
    });
    this.sealer = options.sealer ?? new Sealer();
    this.#durability = new Durability({
      scope,
      deadlines: this.deadlines,
      store: options.store ?? new InMemoryToolSessionStore(),
      sweep: options.sweep ?? [],
      definitionOf: options.find ?? (() => undefined),
      find: (id) => this.find(id),
      hasRoom: () => this.#live.size < max,
      make: (...parts) => this.#revived(...parts),
      enter: (...parts) => this.#enter(...parts),
      wake: async (id) => {
        const session = await this.lookup(id);
        if (session) options.woken?.(session);
      },
      settled: () => this.#empty && this.#emptied?.(),
      report: (fault) => this.report(fault),
      expiresAt: (session) =>
        Math.max(session.keepUntil, this.deadlines.now() + this.durableTimeToLive + SLACK),
    });
    this.report = reporter(options.report);
    this.announce = options.announce ?? (() => {});
  }

  /** How long a question may wait with nobody there. */
  get timeToLive(): number {
    return this.#options.timeToLive ?? 3_600_000;
  }

  /** How long a durable session that nobody comes back to is kept. */
  get durableTimeToLive(): number {
    return this.#options.durableTimeToLive ?? 7 * 24 * 3_600_000;
  }

  /** How long the state that is handed to a client is good for. */
  timeToLiveOf(session: LiveToolSession): number {
    return session.durable ? this.durableTimeToLive : this.timeToLive;
  }

  /** How many calls are alive, and how many finished ones are kept. */
  get counts(): { live: number; finished: number; deadlines: number } {
    return {
      live: this.#live.size,
      finished: this.#finished.size,
      deadlines: this.deadlines.size,
    };
  }

  *create(
    tool: Definition,
    params: unknown,
    options: ToolSessionOptions = {},
  ): Operation<ToolSession> {
    return this.open(tool, params, options);
  }

  /** `create`, for callers that are no operations. */
  open(
    tool: Definition,
    params: unknown,
    options: ToolSessionOptions = {},
    owner?: SessionOwner,
  ): LiveToolSession {
    if (this.#closed || this.#draining) throw new RegistryClosed();
    const { client = IN_PROCESS, principal = "", answers, trace } = options;
    const { attended = false, carried = false, taskSince } = options;
    this.#live.checkRoom(principal);
    const session = new LiveToolSession(this, crypto.randomUUID(), tool, client, principal);
    if (answers) session.questions.presets = new Map(answers);
    if (trace) session.trace = trace;
    session.attended = attended;
    session.carried = carried;
    session.taskSince = taskSince;
    session.owner = owner;
    this.#live.add(session);
    if (session.durable && !carried) this.#durability.keep(session, params);
    session.start(params);
    return session;
  }

  /**
   * A session by its id, taken up again from its record if it has left memory, or if
   * that has come further: another server may have gone on with it over the same store.
   */
  lookup(id: string, lsn = 0): LiveToolSession | undefined | Promise<LiveToolSession | undefined> {
    const here = this.find(id);
    const outdated = here && here.log.lastLSN < lsn && !here.outcome && !here.carried;
    if (here && !outdated) return here;
    if (here?.replayable) this.suspend(here);
    return this.#closed ? undefined : this.#durability.revive(id);
  }

  /** Runs what was at work, or slept, when a server died over this store; later, what is due. */
  wake(): void {
    this.#durability.wake();
  }

  /** Takes a session up from a record that its client has carried. */
  adopt(record: CarriedRecord, call: CarriedCall): Promise<LiveToolSession> {
    this.#live.checkRoom(call.principal);
    return this.#durability.adopt(record, call);
  }

  /** Puts a durable session out of memory until somebody comes back to it, or its time has come. */
  suspend(session: LiveToolSession): void {
    this.#durability.leave(session);
  }

  /** Whoever has been told to come back until then finds it, whatever becomes of it. */
  promise(session: LiveToolSession, until: number): void {
    session.keepUntil = Math.max(session.keepUntil, until);
  }

  /** Writes down what has changed about a session besides its events. */
  noteChange(session: LiveToolSession): void {
    if (session.durable) this.#durability.update(session);
  }

  /** Waits until it is known whether all there is to know of a session is stored; undefined if it is. */
  secured(session: LiveToolSession): Promise<boolean> | undefined {
    return session.durable ? this.#durability.secured(session) : undefined;
  }

  /** Ends a session that has left memory. */
  *cancelSuspended(id: string, reason: string): Operation<void> {
    const session = yield* this.#lookup(id);
    if (session) yield* session.cancel(reason);
  }

  #revived(
    entry: ToolSessionEntry,
    definition: Definition,
    client: ClientInfo,
    principal: string,
  ): LiveToolSession {
    const { id, createdAt } = entry;
    return new LiveToolSession(this, id, definition, client, principal, createdAt);
  }

  /** Takes a session in that has its record, and lets it find its place again. */
  #enter(session: LiveToolSession, params: unknown, refusal?: string): void {
    if (session.outcome) {
      this.#finish(session);
      this.#reschedule(session);
    } else {
      this.#live.add(session);
      if (refusal !== undefined) session.refuse(refusal);
      else session.start(params);
    }
  }

  /** A session in memory; one that is on its way out is not there any more. */
  find(id: string): LiveToolSession | undefined {
    const session = this.#live.get(id) ?? this.#finished.get(id);
    return session?.suspending && !session.outcome ? undefined : session;
  }

  *get(id: string): Operation<ToolSession | null> {
    return (yield* this.#lookup(id)) ?? null;
  }

  *#lookup(id: string): Operation<LiveToolSession | undefined> {
    const found = this.lookup(id);
    return found instanceof Promise ? yield* until(found) : found;
  }

  *acquire(id: string): Operation<ToolSession> {
    const session = yield* this.#lookup(id);
    if (!session) throw new SessionGone(id);
    this.hold(session);
    return session;
  }

  *release(id: string): Operation<void> {
    const session = this.find(id);
    if (session) this.letGo(session);
  }

  hold(session: LiveToolSession): void {
    session.holders++;
    this.#reschedule(session);
  }

  letGo(session: LiveToolSession): void {
    if (session.holders === 0) return;
    session.holders--;
    this.#reschedule(session);
  }

  /** Forgets a session that has ended and that nobody will come back to. */
  forget(session: LiveToolSession): void {
    session.told = true;
    if (session.outcome && session.holders === 0) this.#remove(session);
  }

  /** For sessions: one began or ceased to wait, or ended. */
  changed(session: LiveToolSession): void {
    if (session.outcome && this.#live.delete(session)) {
      // What could not be recorded has not happened: whoever comes back finds the record.
      if (session.lost !== undefined) {
        this.#durability.drop(session);
        session.owner?.gone?.(session);
      } else {
        this.#finish(session);
        if (session.durable) this.#durability.ended(session);
      }
      if (this.#empty) this.#emptied?.();
      tellEnded(session, this.deadlines.now(), this.#options.onCall, this.report);
    }
    this.#settled?.();
    this.#reschedule(session);
  }

  /** For sessions: one has left memory, and can be run again from its log. */
  suspended(session: LiveToolSession): void {
    session.expiry?.cancel();
    session.expiry = undefined;
    this.#durability.left(session, () => this.#live.delete(session));
  }

  /**
   * Starts no calls any more, and waits until none is at work, but not longer than
   * that. Calls that wait for an answer are not at work; they can still be answered.
   */
  async drain(ms: number): Promise<void> {
    this.#draining = true;
    if (!this.#atWork) return;
    await new Promise<void>((resolve) => {
      const deadline = this.deadlines.add(ms, resolve);
      this.#settled = () => {
        if (this.#atWork) return;
        deadline.cancel();
        resolve();
      };
    });
    this.#settled = undefined;
  }

  get #atWork(): boolean {
    for (const session of this.#live.all()) if (!session.waiting) return true;
    return false;
  }

  /** Halts every call, waits until all have cleaned up, and starts none any more. */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    this.#closed = true;
    await this.#durability.stop();
    if (!this.#empty) {
      const emptied = new Promise<void>((resolve) => this.#emptied = resolve);
      for (const session of this.#live.all()) {
        // What can be taken up again has not come to its end.
        if (session.replayable) this.#durability.leave(session);
        else session.halt("the server is shutting down");
      }
      await emptied;
    }
    this.#finished.clear();
    this.deadlines.clear();
    await this.#destroyScope();
  }

  get #empty(): boolean {
    return this.#live.size === 0 && this.#durability.idle;
  }

  #reschedule(session: LiveToolSession): void {
    session.expiry?.cancel();
    session.expiry = undefined;
    if (session.holders > 0 || this.#closed) return;
    if (session.outcome) {
      if (!this.#finished.has(session)) return;
      const grace = this.#options.graceTime ?? 60_000;
      const promised = session.keepUntil - this.deadlines.now();
      this.#expire(session, Math.max(grace, promised), () => this.#remove(session));
    } else if (session.waiting) {
      const { passivateAfter = PASSIVATE_AFTER } = this.#options;
      if (session.replayable) this.#expire(session, passivateAfter, () => this.#passivate(session));
      else this.#expire(session, this.timeToLive, () => session.halt("nobody answered in time"));
    }
  }

  #passivate(session: LiveToolSession): void {
    // Somebody reads along without holding it, and would hear nothing any more.
    if (session.log.watched) this.#reschedule(session);
    else this.suspend(session);
  }

  #expire(session: LiveToolSession, ms: number, expire: () => void): void {
    session.expiry = this.deadlines.add(ms, () => {
      session.expiry = undefined;
      expire();
    });
  }

  #finish(session: LiveToolSession): void {
    for (const going of this.#finished.add(session, this.deadlines.now())) this.#remove(going);
  }

  #remove(session: LiveToolSession): void {
    session.expiry?.cancel();
    session.expiry = undefined;
    if (!this.#finished.delete(session)) return;
    // One whose end is still of interest to somebody stays on record until that expires.
    const wanted = !session.told || session.keepUntil > this.deadlines.now();
    const stored = session.durable && !session.carried;
    if (stored && wanted) return session.owner?.left?.(session);
    session.owner?.gone?.(session);
    if (stored) this.#durability.forget(session);
  }
}
