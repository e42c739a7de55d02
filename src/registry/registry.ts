/**
 * R1  A session that nobody holds goes away: a finished one after its grace time,
 *     one that waits for answers after its time to live.
 * R2  Nothing here walks all sessions, except closing.
 * R3  After `close()` no generator is running, no deadline is set, and nothing starts.
 */
import { all, createScope, type Operation, type Scope, until } from "effection";
import { systemClock } from "../lib/clock.ts";
import { Deadlines } from "../lib/deadlines.ts";
import { Sealer } from "../lib/sealer.ts";
import { type ShareLimits, Shares } from "../lib/shares.ts";
import { RegistryClosedError, SessionGoneError, SessionLimitError } from "../model/errors.ts";
import type { ServerChange, ToolResult } from "../model/events.ts";
import type { Fault, SamplingSetup, Site } from "../run/run-port.ts";
import type { LogLimits } from "../session/event-log.ts";
import type { RegisteredSession, SessionHome, SessionOwner } from "../session/session-home.ts";
import { LiveToolSession } from "../session/tool-session.ts";
import type {
  ServedSessionOptions,
  SetAsideCalls,
  ToolSession,
  ToolSessionOptions,
  ToolSessionRegistry,
} from "../session/types.ts";
import { InMemoryToolSessionStore } from "../store/memory.ts";
import type { ToolSessionStore } from "../store/types.ts";
import type { Definition, FinalizedMcpTool } from "../tool/types.ts";
import { Budget } from "./budget.ts";
import { Durability } from "./durability.ts";
import {
  IN_PROCESS,
  inProcess,
  type RegistryLimits,
  registryLimits,
  type RegistryOptions,
  type ServerHooks,
} from "./options.ts";
import type { PortableCall, PortableRecord } from "./portable-record.ts";
import { reporter, tellEnded } from "./report.ts";
import { Expiry, FinishedSessions } from "./retention.ts";

type Found = LiveToolSession | undefined;

/** All live sessions of this process, and the finished ones that somebody may still want to read. */
export class LiveToolSessionRegistry implements ToolSessionRegistry, SessionHome {
  readonly scope: Scope;
  readonly deadlines: Deadlines;
  readonly logLimits: LogLimits;
  readonly sampling: SamplingSetup;
  readonly sealer: Sealer;
  readonly store: ToolSessionStore | undefined;
  readonly report: (fault: Fault) => void;
  readonly #destroyScope: () => Promise<void>;
  readonly #onCall: RegistryOptions["onCall"];
  readonly #ownHooks: ServerHooks;
  /** Those of the server that is attached, or the registry's own. */
  #hooks: ServerHooks;
  /** The sessions that this program created, and no server. */
  readonly #created = new WeakSet<LiveToolSession>();
  readonly #limits: RegistryLimits;
  readonly #durability: Durability;
  readonly #live: Admission;
  /** What calls take, of memory and of the store. */
  readonly budget: Budget;
  readonly #finished: FinishedSessions;
  readonly #expiry: Expiry;
  /** The call that is in its first step, until anybody looks for it, and what it was given. */
  #starting: LiveToolSession | undefined;
  #given: unknown;
  #closed = false;
  #draining = false;
  #closing: Promise<void> | undefined;
  readonly #quiet: Quiet;
  #emptied: (() => void) | undefined;

  constructor(options: RegistryOptions & ServerHooks = {}, parent?: Scope) {
    const [scope, destroy] = parent ? createScope(parent) : createScope();
    this.scope = scope;
    this.#destroyScope = destroy;
    this.#onCall = options.onCall;
    this.deadlines = new Deadlines(options.clock ?? systemClock);
    this.sampling = options.sampling ?? {};
    const limits = this.#limits = registryLimits(options);
    this.budget = new Budget({
      memory: { max: limits.maxMemory, maxPerPrincipal: limits.maxMemoryPerPrincipal },
      store: { max: limits.maxStore, maxPerPrincipal: limits.maxStorePerPrincipal },
    });
    this.logLimits = {
      maxEvents: limits.maxEventsPerSession,
      maxBytes: limits.maxEventBytesPerSession,
    };
    this.#live = new Admission({
      max: limits.maxSessions,
      maxPerPrincipal: limits.maxSessionsPerPrincipal,
    }, this.budget);
    this.#finished = new FinishedSessions({
      max: limits.maxFinishedSessions,
      maxBytes: limits.maxFinishedMemory,
    });
    this.#quiet = new Quiet(
      this.deadlines,
      () => this.#live.all().some((one) => !one.waiting && !this.#created.has(one)),
    );
    this.sealer = options.sealer ?? new Sealer();
    this.store = options.store;
    this.#ownHooks = this.#hooks = options;
    this.#durability = new Durability({
      scope,
      deadlines: this.deadlines,
      store: options.store ?? new InMemoryToolSessionStore(),
      outlasts: options.store !== undefined,
      mostResting: limits.maxSessions,
      budget: this.budget,
      sweep: [{ sweep: (now) => this.#sweepOthers(now) }],
      definitionOf: (kind, name) =>
        this.#hooks.find?.(kind, name) ?? this.#ownHooks.find?.(kind, name),
      find: (id) => this.find(id),
      hasRoom: () => this.#live.hasRoom,
      admit: (principal) => {
        if (this.#closed) throw new RegistryClosedError();
        if (principal !== undefined) this.#live.checkRoom(principal, false);
      },
      make: ({ id, createdAt }, ...parts) => new LiveToolSession(this, id, ...parts, createdAt),
      enter: (...parts) => this.#enter(...parts),
      dismiss: (session) => this.#expiry.remove(session),
      wake: async (id) => {
        const session = await this.lookup(id, 0, false);
        if (session) this.#hooks.woken?.(session);
      },
      settled: () => this.#empty && this.#emptied?.(),
      report: (fault) => this.report(fault),
      timeToLive: () => this.durableTimeToLive,
    });
    this.#expiry = new Expiry({
      deadlines: this.deadlines,
      finished: this.#finished,
      limits,
      outlasts: options.store !== undefined,
      isClosed: () => this.#closed,
      suspend: (session) => this.suspend(session),
      forget: (session) => this.#durability.forget(session),
    });
    this.report = reporter(options.report);
  }

  /** The server as tools see it. */
  get site(): Site {
    return this.#hooks.site ?? inProcess;
  }

  /** Tells all clients of the server that something has changed. */
  announce(change: ServerChange): void {
    this.#hooks.announce?.(change);
  }

  *#sweepOthers(now: number): Operation<number> {
    let swept = 0;
    for (const store of this.#hooks.sweep ?? []) swept += yield* store.sweep(now);
    return swept;
  }

  /** Lets a server run its calls in this registry until `detach`. One server can do so at a time. */
  attach(hooks: ServerHooks): void {
    if (this.#hooks !== this.#ownHooks) {
      throw new TypeError(
        "Cannot use the registry: another server uses it; give each server a registry of its own",
      );
    }
    this.#hooks = hooks;
  }

  /** Ends the calls of the attached server, and waits until they have cleaned up. */
  async detach(): Promise<void> {
    this.#draining = true;
    this.#listStarting();
    const served = this.#live.all().filter((session) => !this.#created.has(session));
    const halted = served.filter((session) => !session.replayable);
    // A durable call that can be replayed has not ended: it continues from its record.
    for (const session of served) if (session.replayable) this.suspend(session);
    const reason = "the server is shutting down";
    for (const session of halted) session.halt(reason);
    await this.scope.run(() => all(halted.map((session) => session.cancel(reason))));
    this.#hooks = this.#ownHooks;
    this.#draining = false;
  }

  /** How long a durable session that nobody comes back to is kept. */
  get durableTimeToLive(): number {
    return this.#limits.durableTimeToLive;
  }

  /** How long the state that is handed to a client is good for. */
  timeToLiveOf(session: LiveToolSession): number {
    const { durableTimeToLive, waitingTimeToLive } = this.#limits;
    return session.durable ? durableTimeToLive : waitingTimeToLive;
  }

  /** How many calls are alive, and how many finished ones are kept. */
  get counts(): { live: number; finished: number; deadlines: number } {
    this.#listStarting();
    return {
      live: this.#live.size,
      finished: this.#finished.size,
      deadlines: this.deadlines.size,
    };
  }

  *create<TInput, TResult>(
    tool: FinalizedMcpTool<string, TInput, TResult>,
    params: TInput,
    options: ToolSessionOptions = {},
  ): Operation<ToolSession<ToolResult<TResult>>> {
    const session = this.open(tool, params, { awaited: true, ...options });
    this.#created.add(session);
    // The run checks the result against the tool's output schema.
    return session as ToolSession as ToolSession<ToolResult<TResult>>;
  }

  /** `create`, for callers that are no operations. */
  open(
    tool: Definition,
    params: unknown,
    options: ServedSessionOptions = {},
    owner?: SessionOwner,
  ): LiveToolSession {
    const session = this.openFleeting(tool, params, options, owner);
    this.keep(session);
    return session;
  }

  /**
   * `open`, for callers that read at once what a call has to say that ends at once,
   * as most do. Nobody else will find such a call, unless they `keep` it.
   */
  openFleeting(
    tool: Definition,
    params: unknown,
    options: ServedSessionOptions = {},
    owner?: SessionOwner,
  ): LiveToolSession {
    if (this.#closed || this.#draining) throw new RegistryClosedError();
    this.#listStarting();
    const { client = IN_PROCESS, principal = "", portable = false } = options;
    this.#live.checkRoom(principal, tool.durable !== undefined && !portable);
    const now = this.deadlines.now();
    const session = new LiveToolSession(
      this,
      undefined,
      tool,
      client,
      principal,
      now,
      options,
      owner,
    );
    this.#starting = session;
    this.#given = params;
    if (session.durable) {
      this.#listStarting();
      if (!portable) this.#durability.keep(session, params);
    }
    session.start(params);
    if (this.#starting === session) this.#starting = undefined;
    this.#given = undefined;
    if (!session.outcome) this.#list(session, params);
    return session;
  }

  /** Keeps a call that has ended at once for those who come back to it. */
  keep(session: RegisteredSession): void {
    if (!session.outcome || session.registered) return;
    session.registered = true;
    this.#expiry.finish(session);
    this.#expiry.reschedule(session);
  }

  #list(session: RegisteredSession, params: unknown): void {
    if (session.registered) return;
    session.registered = true;
    this.#live.add(session, params);
  }

  /** The call that is in its first step becomes one like any other, for whoever looks for it. */
  #listStarting(): void {
    const session = this.#starting;
    if (!session) return;
    this.#starting = undefined;
    if (!session.outcome) this.#list(session, this.#given);
  }

  /**
   * A session by its id, taken up again from its record if it has left memory, or if
   * that has come further: another server may have gone on with it over the same store.
   */
  lookup(id: string, lsn = 0, asked = true): Found | Promise<Found> {
    const here = this.find(id);
    const outdated = here && here.log.lastLSN < lsn && !here.outcome && !here.portable;
    if (here && !outdated) return here;
    if (here?.replayable) this.suspend(here);
    return this.#closed ? undefined : this.#durability.revive(id, asked);
  }

  /** Whose a session is, in memory or on record; undefined if there is none. Takes nothing up. */
  async principalOf(id: string): Promise<string | undefined> {
    return this.find(id)?.principal ?? await this.#durability.principalOf(id);
  }

  /** Runs what was at work, or slept, when a server died over this store; later, what is due. */
  wake(): void {
    this.#durability.wake();
  }

  /** Durable calls that the server did not survive, and that are not run any more. */
  get setAside(): SetAsideCalls {
    return this.#durability.recovery;
  }

  /** Takes a session up from a record that its client has carried. */
  adopt(record: PortableRecord, call: PortableCall): Promise<LiveToolSession> {
    return this.#durability.adopt(record, call);
  }

  /** Puts a durable session out of memory until somebody comes back to it, or its time has come. */
  suspend(session: LiveToolSession): void {
    this.#durability.leave(session);
  }

  /** Whoever has been told to come back until then finds it, whatever becomes of it. */
  promise(session: LiveToolSession, until: number): void {
    if (!session.promiseUntil(until)) return;
    if (session.durable) this.#durability.promised(session);
    if (session.outcome) this.#expiry.reschedule(session);
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
    const session = yield* this.takenUp(id);
    if (session) yield* session.cancel(reason);
  }

  /** Takes a session in that has its record, and lets it find its place again. */
  #enter(session: LiveToolSession, params: unknown, refusal?: string): void {
    if (session.outcome) this.keep(session);
    else {
      this.#list(session, params);
      if (refusal !== undefined) session.refuse(refusal);
      else session.start(params);
    }
  }

  /** A session in memory; one that is on its way out is not there any more. */
  find(id: string): LiveToolSession | undefined {
    this.#listStarting();
    const session = this.#live.get(id) ?? this.#finished.get(id);
    return session?.suspending ? undefined : session;
  }

  *get(id: string): Operation<ToolSession | null> {
    return (yield* this.takenUp(id)) ?? null;
  }

  /** `lookup`, for operations. */
  *takenUp(id: string): Operation<LiveToolSession | undefined> {
    const found = this.lookup(id);
    return found instanceof Promise ? yield* until(found) : found;
  }

  *acquire(id: string): Operation<ToolSession> {
    const session = yield* this.takenUp(id);
    if (!session) throw new SessionGoneError(id);
    this.hold(session);
    return session;
  }

  *release(id: string): Operation<void> {
    const session = this.find(id);
    if (session) this.letGo(session);
  }

  hold(session: RegisteredSession): void {
    session.holders++;
    this.#expiry.reschedule(session);
  }

  letGo(session: RegisteredSession): void {
    if (session.holders === 0) return;
    session.holders--;
    this.#expiry.reschedule(session);
  }

  /** Forgets a session that has ended and that nobody will come back to. */
  forget(session: LiveToolSession): void {
    session.markDelivered();
    if (session.outcome && session.holders === 0) this.#expiry.remove(session);
  }

  /** For sessions: one began or ceased to wait, or ended. */
  changed(session: LiveToolSession): void {
    if (session.outcome && session === this.#starting) {
      // Whoever opened it says whether it is kept.
      this.#starting = undefined;
      tellEnded(session, this.deadlines.now(), this.#onCall, this.report);
      return;
    }
    if (session.registered) this.#live.changed(session);
    if (session.outcome && this.#live.delete(session)) {
      // What could not be recorded has not happened: whoever comes back finds the record.
      if (session.lost !== undefined) {
        this.#durability.drop(session);
        session.owner?.gone?.(session);
      } else {
        this.#expiry.finish(session);
        if (session.durable) this.#durability.ended(session);
      }
      if (this.#empty) this.#emptied?.();
      tellEnded(session, this.deadlines.now(), this.#onCall, this.report);
    }
    this.#quiet.look();
    this.#expiry.reschedule(session);
    if (session.trial) this.#durability.recovery.looked(session);
  }

  /** For sessions: one has left memory, and can be run again from its log. */
  suspended(session: RegisteredSession): void {
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
    this.#listStarting();
    await this.#quiet.within(ms);
  }

  /** Halts every call, waits until all have cleaned up, and starts none any more. */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    this.#closed = true;
    this.#listStarting();
    // Until nothing is being taken up: whatever came in after the walk below would stay.
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
}

export class Quiet {
  readonly #deadlines: Deadlines;
  readonly #atWork: () => boolean;
  #look: (() => void) | undefined;

  constructor(deadlines: Deadlines, atWork: () => boolean) {
    this.#deadlines = deadlines;
    this.#atWork = atWork;
  }

  /** There may be nothing at work any more. */
  look(): void {
    this.#look?.();
  }

  /** Resolves once nothing is at work, or when that time has passed. */
  async within(ms: number): Promise<void> {
    if (!this.#atWork()) return;
    await new Promise<void>((resolve) => {
      const deadline = this.#deadlines.add(ms, resolve);
      this.#look = () => {
        if (this.#atWork()) return;
        deadline.cancel();
        resolve();
      };
    });
    this.#look = undefined;
  }
}

export class Admission {
  readonly #sessions = new Map<string, LiveToolSession>();
  readonly #shares: Shares;
  readonly #budget: Budget;

  constructor(limits: ShareLimits, budget: Budget) {
    this.#shares = new Shares(limits);
    this.#budget = budget;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Whether there is room for anybody. */
  get hasRoom(): boolean {
    const { memory } = this.#budget;
    return this.size < this.#shares.limits.max && memory.total < memory.limits.max;
  }

  get(id: string): LiveToolSession | undefined {
    return this.#sessions.get(id);
  }

  /** A copy, because sessions come and go meanwhile. */
  all(): LiveToolSession[] {
    return [...this.#sessions.values()];
  }

  /** Throws if there is no room for another one of this caller's; `stored` for one with a record. */
  checkRoom(principal: string, stored: boolean): void {
    const { max } = this.#shares.limits;
    if (this.#sessions.size >= max) throw new SessionLimitError(max);
    if (this.#shares.reached(principal) === "share") {
      const share = this.#shares.limitOf(principal);
      throw new SessionLimitError(share, `the caller has ${share} alive, which is its share`);
    }
    this.#budget.check(principal, stored);
  }

  add(session: LiveToolSession, params: unknown): void {
    this.#sessions.set(session.id, session);
    this.#shares.take(session.principal);
    const problem = this.#budget.enter(session, params);
    if (problem !== undefined && session.waiting) session.endForRoom(problem);
  }

  /** Something has changed: if it waits now, and has no room for that, it ends. */
  changed(session: LiveToolSession): void {
    if (!session.waiting || session.halting) return;
    const problem = this.#budget.measure(session);
    if (problem !== undefined) session.endForRoom(problem);
  }

  /** Whether it was there. */
  delete(session: LiveToolSession): boolean {
    if (this.#sessions.get(session.id) !== session) return false;
    this.#shares.give(session.principal);
    this.#budget.leave(session);
    return this.#sessions.delete(session.id);
  }
}
