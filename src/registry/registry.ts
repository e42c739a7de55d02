/**
 * Holds all sessions of this process. The registry opens and finds sessions, and is notified of
 * every change. Its parts make the decisions: `Admission` limits how many sessions are live,
 * `Retention` decides how long a session stays in memory, `SessionRecords` writes records, and
 * `Durability` resumes sessions from records.
 *
 * REGISTRY-1  Every session that has not ended is in `Admission`, or is the session in `#starting`.
 * REGISTRY-2  No operation iterates over all sessions, except detaching a server, draining and
 *             closing.
 * REGISTRY-3  After `close()` no generator runs, no deadline is set, and nothing starts.
 */
import { all, createScope, type Operation, race, type Scope, until } from "effection";
import { systemClock } from "../lib/clock.ts";
import { Condition } from "../lib/condition.ts";
import { deadline, Deadlines } from "../lib/deadlines.ts";
import { Sealer } from "../lib/sealer.ts";
import { promised } from "../lib/strand.ts";
import { RegistryClosedError, SessionGoneError } from "../model/errors.ts";
import type { ToolResult } from "../model/events.ts";
import type { Fault, SamplingSetup } from "../run/run-port.ts";
import type { LogLimits } from "../session/event-log.ts";
import type { RegisteredSession, SessionHome, SessionOwner } from "../session/session-home.ts";
import { LiveToolSession } from "../session/tool-session.ts";
import type {
  ServedSessionOptions,
  ToolSession,
  ToolSessionOptions,
  ToolSessionRegistry,
} from "../session/types.ts";
import { InMemoryToolSessionStore } from "../store/memory.ts";
import type { ToolSessionStore } from "../store/types.ts";
import type { Definition, FinalizedMcpTool } from "../tool/types.ts";
import { Admission } from "./admission.ts";
import { AttachedServer } from "./attached-server.ts";
import { Budget } from "./budget.ts";
import { RegistryCalls } from "./calls.ts";
import { Durability } from "./durability.ts";
import {
  IN_PROCESS,
  type RegistryLimits,
  registryLimits,
  type RegistryOptions,
  type ServerHooks,
} from "./options.ts";
import type { RegistryParts } from "./parts.ts";
import type { PortableCall, PortableRecord } from "./portable-record.ts";
import { SessionRecords } from "./records.ts";
import { reporter, tellEnded } from "./report.ts";
import { FinishedSessions, Retention } from "./retention.ts";
import { SessionHandle, type Sessions } from "./session-handle.ts";

type Found = LiveToolSession | undefined;

/** The live sessions of this process, and finished sessions whose result clients may request. */
export class LiveToolSessionRegistry implements ToolSessionRegistry, SessionHome, Sessions {
  readonly scope: Scope;
  readonly deadlines: Deadlines;
  readonly logLimits: LogLimits;
  readonly sampling: SamplingSetup;
  readonly sealer: Sealer;
  readonly store: ToolSessionStore | undefined;
  readonly report: (fault: Fault) => void;
  readonly #destroyScope: () => Promise<void>;
  readonly #onCall: RegistryOptions["onCall"];
  /** The calls of this registry, for operators. */
  readonly calls: RegistryCalls;
  readonly server: AttachedServer;
  /** Sessions that the program created with `create`, rather than a server. */
  readonly #created = new WeakSet<LiveToolSession>();
  readonly #handles = new WeakMap<LiveToolSession, SessionHandle>();
  readonly #limits: RegistryLimits;
  readonly #durability: Durability;
  readonly #live: Admission;
  /** The number of bytes that the calls of each caller use, in memory and in the store. */
  readonly budget: Budget;
  readonly #finished: FinishedSessions;
  readonly #retention: Retention;
  readonly #records: SessionRecords;
  /** Signals each change of a session, and each completed operation on the store. */
  readonly #activity = new Condition();
  /**
   * The call that is in its first step, and its arguments. It is not listed until other code looks
   * for it (REGISTRY-1).
   */
  #starting: LiveToolSession | undefined;
  #startingParams: unknown;
  #draining = false;
  #closing: Promise<void> | undefined;

  constructor(options: RegistryOptions & ServerHooks = {}, parent?: Scope) {
    this.sealer = options.sealer ?? new Sealer();
    this.store = options.store;
    // Check the keys before anything is created, so that an error leaves nothing to clean up.
    this.store?.checkKeys?.(this.sealer.keyIds);
    const [scope, destroy] = parent ? createScope(parent) : createScope();
    this.scope = scope;
    this.#destroyScope = destroy;
    this.#onCall = options.onCall;
    this.deadlines = new Deadlines(options.clock ?? systemClock);
    this.sampling = options.sampling ?? {};
    this.report = reporter(options.report);
    this.server = new AttachedServer(options);
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
    const parts: RegistryParts = {
      scope,
      deadlines: this.deadlines,
      store: options.store ?? new InMemoryToolSessionStore(),
      outlasts: options.store !== undefined,
      limits,
      live: this.#live,
      budget: this.budget,
      activity: this.#activity,
      server: this.server,
      report: this.report,
    };
    this.#finished = new FinishedSessions({
      max: limits.maxFinishedSessions,
      maxBytes: limits.maxFinishedMemory,
    });
    this.#records = new SessionRecords(parts);
    this.#retention = new Retention(parts, this.#records, this.#finished);
    this.#durability = new Durability(parts, this, this.#records, this.#retention);
    this.calls = new RegistryCalls(this, parts, this.#finished.sessions);
  }

  /**
   * Lets a server run its calls in this registry until `detach`. Throws if another server is
   * attached.
   */
  attach(hooks: ServerHooks): void {
    this.server.attach(hooks);
  }

  /** Ends the calls of the attached server, and waits until they have cleaned up. */
  async detach(): Promise<void> {
    this.#draining = true;
    this.#listStarting();
    const served = this.#live.all().filter((session) => !this.#created.has(session));
    const halted = served.filter((session) => !session.replayable);
    // A durable call does not end here: it resumes from its record later.
    for (const session of served) if (session.replayable) this.suspend(session);
    const reason = "the server is shutting down";
    for (const session of halted) session.halt(reason);
    await this.scope.run(() => all(halted.map((session) => session.cancel(reason))));
    this.server.detach();
    this.#draining = false;
  }

  /** Milliseconds until an abandoned durable session expires. */
  get durableTimeToLive(): number {
    return this.#limits.durableTimeToLive;
  }

  /** Returns the number of milliseconds until a `requestState` of this session expires. */
  timeToLiveOf(session: LiveToolSession): number {
    const { durableTimeToLive, waitingTimeToLive } = this.#limits;
    return session.durable ? durableTimeToLive : waitingTimeToLive;
  }

  /** The number of live sessions, of finished sessions in memory, and of deadlines. */
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
    if (this.#live.isClosed) {
      throw new RegistryClosedError(
        "Cannot start a call: the registry is closed, because its scope has ended; use a registry of a scope that is still running",
      );
    }
    if (this.#draining) {
      throw new RegistryClosedError(
        "Cannot start a call: the server that uses this registry is closing; start it after the server has closed",
      );
    }
    const session = this.open(tool, params, { awaited: true, ...options });
    this.#created.add(session);
    // The run checks the result against the tool's output schema.
    return this.handle(session) as ToolSession as ToolSession<ToolResult<TResult>>;
  }

  /** Returns the handle of a session, for the program. */
  handle(session: LiveToolSession): SessionHandle {
    let handle = this.#handles.get(session);
    if (!handle) this.#handles.set(session, handle = new SessionHandle(this, session));
    return handle;
  }

  /** Like `create`, but synchronous, for code that is not an operation. */
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
   * Like `open`, for code that reads the events of a call immediately. Most calls end in their
   * first step. `find` does not return such a call, unless the code calls `keep`.
   */
  openFleeting(
    tool: Definition,
    params: unknown,
    options: ServedSessionOptions = {},
    owner?: SessionOwner,
  ): LiveToolSession {
    if (this.#live.isClosed || this.#draining) throw new RegistryClosedError();
    if (this.#starting) this.#listStarting();
    const { client = IN_PROCESS, principal = "", portable = false } = options;
    const id = typeof principal === "string" ? principal : principal.id;
    this.#live.checkRoom(id, tool.durable !== undefined && !portable);
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
    this.#startingParams = params;
    if (session.durable) {
      this.#listStarting();
      if (!portable) this.#records.begin(session, params);
    }
    session.start(params);
    if (this.#starting === session) this.#starting = undefined;
    this.#startingParams = undefined;
    if (!session.outcome) {
      this.#live.add(session, params);
      if (this.calls.watched) this.calls.tell(session);
    }
    return session;
  }

  /** Keeps a call that ended in its first step, so that clients can request its result. */
  keep(session: LiveToolSession): void {
    this.#retention.keep(session);
  }

  /**
   * Adds the call that is in its first step to the live sessions, before other code looks for it
   * (REGISTRY-1).
   */
  #listStarting(): void {
    const session = this.#starting;
    if (!session) return;
    this.#starting = undefined;
    if (!session.outcome) this.#live.add(session, this.#startingParams);
  }

  /**
   * Finds a session by its id. Resumes the session from its record if it has left memory, or if the
   * record is newer: another server with the same store may have continued the session. `lsn` is
   * the last event that the client knows. `asked` is true if the caller of the session waits for
   * it.
   */
  lookup(id: string, lsn = 0, asked = true): Found | Promise<Found> {
    const here = this.find(id);
    const outdated = here && here.log.lastLSN < lsn && !here.outcome && !here.portable;
    if (here && !outdated) return here;
    if (here?.replayable) this.suspend(here);
    return this.#live.isClosed ? undefined : this.#durability.revive(id, asked);
  }

  /** Returns the principal of a session in memory or in the store. Does not resume the session. */
  async principalOf(id: string): Promise<string | undefined> {
    return this.find(id)?.principal ?? await this.#durability.principalOf(id);
  }

  /**
   * Resumes stored sessions: immediately those that a former server was running, and the others
   * when they are due.
   */
  wake(): void {
    this.#durability.start();
  }

  /** Durable calls that no longer run, because the server crashed each time it ran them. */
  get setAside(): Durability["setAside"] {
    return this.#durability.setAside;
  }

  /** Resumes a session from a record that its client sent. */
  adopt(record: PortableRecord, call: PortableCall): Promise<LiveToolSession> {
    return this.#durability.adopt(record, call);
  }

  /** Removes a durable session from memory until a request needs it, or it is due. */
  suspend(session: LiveToolSession): void {
    session.suspend();
  }

  /** Keeps a session at least until `until`, because its client may request the result until then. */
  promise(session: LiveToolSession, until: number): void {
    if (!session.promiseUntil(until)) return;
    if (session.durable) this.#records.extend(session);
    if (session.outcome) this.#retention.reschedule(session);
  }

  /** Stores changes of a session that are not events. */
  noteChange(session: LiveToolSession): void {
    if (session.durable) this.#records.update(session);
  }

  /** Resolves to true if a session is completely stored. Undefined if nothing is being written. */
  secured(session: LiveToolSession): Promise<boolean> | undefined {
    return session.durable ? this.#records.written(session) : undefined;
  }

  /** Returns a session that is in memory, unless it is leaving memory. */
  find(id: string): LiveToolSession | undefined {
    if (this.#starting) this.#listStarting();
    const session = this.#live.sessions.get(id) ?? this.#finished.sessions.get(id);
    return session?.suspending ? undefined : session;
  }

  *get(id: string): Operation<ToolSession | null> {
    const found = this.lookup(id);
    const session = found instanceof Promise ? yield* until(found) : found;
    return session ? this.handle(session) : null;
  }

  *acquire(id: string): Operation<ToolSession> {
    const found = this.lookup(id);
    const session = found instanceof Promise ? yield* until(found) : found;
    if (!session) throw new SessionGoneError(id);
    this.hold(session);
    return this.handle(session);
  }

  *release(id: string): Operation<void> {
    const session = this.find(id);
    if (session) this.letGo(session);
  }

  hold(session: RegisteredSession): void {
    session.holders++;
    this.#retention.reschedule(session);
  }

  letGo(session: RegisteredSession): void {
    if (session.holders === 0) return;
    session.holders--;
    this.#retention.reschedule(session);
  }

  /** Removes a session whose result its caller has received. */
  forget(session: LiveToolSession): void {
    session.markDelivered();
    // Keep the session: the client has a ticket, with which it can continue the session.
    if (session.deferred) return;
    // A call that ended in its first step is not registered, unless it was kept.
    if (session.registered && session.outcome && session.holders === 0) {
      this.#retention.remove(session);
    }
  }

  /** Called by a session that began to wait, stopped waiting, or ended. */
  changed(session: LiveToolSession): void {
    if (session.outcome && session === this.#starting) {
      // The code that opened the call decides whether to keep it.
      this.#starting = undefined;
      if (this.#onCall) tellEnded(session, this.deadlines.now(), this.#onCall, this.report);
      return;
    }
    if (this.calls.watched) this.calls.tell(session);
    if (session.registered) this.#live.changed(session);
    if (session.outcome && this.#live.delete(session)) {
      // The session can no longer write its record. Do not keep the session, because later requests
      // must use the record.
      if (session.lost !== undefined) {
        this.#durability.lost(session);
        session.tellGone();
      } else {
        this.#retention.finish(session);
        if (session.durable) this.#durability.ended(session);
      }
      if (this.#onCall) tellEnded(session, this.deadlines.now(), this.#onCall, this.report);
      this.server.hooks.ended?.(session);
    }
    this.#activity.changed();
    this.#retention.reschedule(session);
    if (session.trial) this.#durability.recovery.changed(session);
  }

  /** Called by a session that is about to leave memory. */
  suspending(session: LiveToolSession): void {
    this.#durability.leaving(session);
  }

  /** Called by a session that has left memory, and can resume from its log. */
  suspended(session: RegisteredSession): void {
    session.expiry?.cancel();
    session.expiry = undefined;
    this.#durability.left(session);
  }

  /**
   * Refuses new calls, and waits at most `ms` until no call is running. Calls that wait for an
   * answer do not count as running: clients can still answer them.
   */
  async drain(ms: number): Promise<void> {
    this.#draining = true;
    this.#listStarting();
    const atWork = () => this.#live.all().some((one) => !one.waiting && !this.#created.has(one));
    await this.scope.run(() =>
      race([
        this.#activity.until(() => !atWork()),
        deadline(this.deadlines, ms),
      ])
    );
  }

  /** Halts all calls, and waits until they have cleaned up (REGISTRY-3). */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    this.#live.close();
    this.calls.close();
    this.#listStarting();
    // Wait for sessions that are being resumed, because the loop below would miss them.
    await this.#durability.stop();
    for (const session of this.#live.all()) {
      // A session that can resume later is suspended, not ended.
      if (session.replayable) session.suspend();
      else session.halt("the server is shutting down");
    }
    const isEmpty = () => this.#live.size === 0 && this.#durability.isIdle;
    await promised(this.scope, () => this.#activity.until(isEmpty));
    this.#finished.clear();
    this.deadlines.clear();
    await this.#destroyScope();
  }
}
