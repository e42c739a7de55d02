/**
 * One run of one tool, and the only owner of its state.
 *
 * The session contains the log, the open questions and the run. It does not depend on HTTP, on eras
 * or on its readers. Other code can read its fields, but changes them only through methods. The
 * registry writes the fields of `RegistryNotes` directly.
 *
 * SESSION-1  The log ends with exactly one final event, which is appended after every `finally` has
 *            run.
 * SESSION-2  When the session has ended, no question is open and no deadline is set.
 * SESSION-3  Suspending a run adds nothing to the log, because the session has not ended.
 * SESSION-4  The phase only moves forward. Whether the session has ended, is closing or has left
 *            memory follows from the phase, and from nothing else.
 */
import { action, type Operation, type Scope } from "effection";
import type { PlacedQuestion, Reply } from "../ask/ask.ts";
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import type { LinkedList } from "../lib/linked-list.ts";
import type { Sealer } from "../lib/sealer.ts";
import type {
  AnswerOutcome,
  AnswerVia,
  ClientAnswer,
  ClientInfo,
  Door,
  EventBody,
  SampleVia,
  ServerChange,
  ToolSessionOutcome,
  ToolSessionRequest,
  ToolSessionStatus,
  TraceContext,
} from "../model/events.ts";
import type { Principal } from "../model/principal.ts";
import type { Fault, RunOutcome, RunPort, SamplingSetup, Site } from "../run/run-port.ts";
import { type Run, runTool } from "../run/run-tool.ts";
import type { Definition } from "../tool/types.ts";
import {
  divergedEnding,
  type Ending,
  endingOf,
  type HaltReason,
  lostEnding,
  noRoomEnding,
  outcomeIn,
  whyLost,
} from "./ending.ts";
import { EventLog } from "./event-log.ts";
import { AskEffect, checkSeals, type QuestionAnswer, Questions } from "./questions.ts";
import { Phase } from "./phase.ts";
import { Recorder } from "./recorder.ts";
import { describeDivergence, type Divergence, Replay, watchReplay } from "./replay.ts";
import {
  type RegistryNotes,
  type SessionHome,
  type SessionHooks,
  type SessionOwner,
  type SessionRecord,
  type Trial,
} from "./session-home.ts";
import { newSessionId } from "./session-id.ts";
import type { ServedSessionOptions } from "./types.ts";

/**
 * The type of `this` in methods that write fields. For other code, these fields are read-only. They
 * are not private, because every call reads them, and getters would make it slower.
 */
type Own = { -readonly [K in keyof LiveToolSession]: LiveToolSession[K] };

const NO_TRACE: TraceContext = {};
const NO_OPTIONS: ServedSessionOptions = {};

export class LiveToolSession implements RunPort, RegistryNotes {
  readonly tool: Definition;
  readonly log: EventLog;
  /** The id of the caller. */
  readonly principal: string;
  /** The caller as it was when the call began. Undefined if only its id is known. */
  readonly caller: Principal | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** True if the tool can be run again from its log. */
  readonly durable: boolean;
  readonly #home: SessionHome;
  #phase = Phase.created;
  #id: string | undefined;
  /** The client, as it last described itself. A modern client does so in every request. */
  readonly client: ClientInfo;
  /** The trace context that the caller sent. */
  readonly trace: TraceContext;
  #owner: SessionOwner | undefined;
  #updatedAt: number;

  // Fields of the run.
  #run: Run | undefined;
  #facts: Recorder | undefined;
  #questions: Questions | undefined;
  /**
   * Answers that came with the call, by name. Each one answers the first question with that name.
   */
  readonly presets: Map<string, ClientAnswer> | undefined;
  /** The record of an earlier run. Undefined in the first run. */
  readonly replay: Replay | undefined;
  #unwatch: (() => void) | undefined;
  #progress = 0;
  #parallel = 0;

  // Fields for the end of the session.
  /** How the session ended. Undefined until the final event is recorded. */
  readonly outcome: ToolSessionOutcome | undefined;
  #outcomeDelivered = false;
  /** Why the run is being halted. Undefined if it is not. */
  #why: HaltReason | undefined;
  /** The divergence, in words, if the replay of the tool differs from its record. */
  #diverged: string | undefined;
  /** Why the store refused an event, if it did. This object can no longer write the record. */
  readonly lost: string | undefined;
  /** Why the session may not wait for an answer. Undefined if it may. */
  #noRoom: string | undefined;

  // Settings for resuming the session, and for keeping it.
  /** True if the session runs only while a request waits for it, as in the modern era. */
  readonly needsCaller: boolean;
  /** True if the client keeps the record instead of the store. */
  readonly portable: boolean;
  /** True if the session may leave memory, because it can resume from its record. */
  readonly replayable: boolean;
  #seed: string | undefined;
  /** The earliest time at which the ended session may be removed. Milliseconds since the epoch. */
  readonly keepUntil: number = 0;
  /** True if a request has ended with a ticket for this session. */
  readonly deferred: boolean = false;
  /** When the session became a task, if it is a task. Milliseconds since the epoch. */
  readonly taskSince: number | undefined;

  // The registry's data; see `RegistryNotes`.
  readonly registered: boolean = false;
  readonly holders: number = 0;
  readonly expiry: Deadline | undefined;
  readonly baggage: number = 0;
  readonly charged: number = 0;
  readonly stored: number = 0;
  readonly settled: number = 1;
  readonly trial: Trial | undefined;
  readonly leftAt: number = 0;
  list: LinkedList<LiveToolSession> | undefined;
  prev: LiveToolSession | undefined;
  next: LiveToolSession | undefined;

  constructor(
    home: SessionHome,
    id: string | undefined,
    tool: Definition,
    client: ClientInfo,
    principal: string | Principal,
    createdAt: number = home.deadlines.now(),
    options: ServedSessionOptions = NO_OPTIONS,
    owner?: SessionOwner,
  ) {
    const { answers, trace = NO_TRACE, needsCaller = false, portable = false } = options;
    this.#home = home;
    this.#id = id;
    this.tool = tool;
    this.client = client;
    this.principal = typeof principal === "string" ? principal : principal.id;
    this.caller = typeof principal === "string" ? undefined : principal;
    this.createdAt = this.#updatedAt = createdAt;
    this.durable = this.replayable = tool.durable !== undefined;
    this.log = new EventLog(this, home.logLimits, options.awaited);
    this.trace = trace;
    this.#owner = owner;
    this.needsCaller = needsCaller;
    this.portable = portable;
    if (portable) this.#seed = newSessionId();
    this.taskSince = options.taskSince;
    this.presets = answers && new Map(answers);
  }

  /** The time of the last question, answer or final event. Milliseconds since the epoch. */
  get updatedAt(): number {
    return this.#updatedAt;
  }

  /**
   * The number of concurrent parts of the tool, apart from the first, that run without a task of
   * their own.
   */
  get parallel(): number {
    return this.#parallel;
  }

  /** True if a caller has received the outcome. */
  get outcomeDelivered(): boolean {
    return this.#outcomeDelivered;
  }

  /** The seed of random values in a portable session. */
  get seed(): string | undefined {
    return this.#seed;
  }

  /** The id of the session. It is generated on first access, because most calls never need it. */
  get id(): string {
    return this.#id ??= newSessionId();
  }

  get toolName(): string {
    return this.tool.name;
  }

  /** Updates the client data from a new request for this session. */
  hearFrom(this: Own, client: ClientInfo, trace: TraceContext): void {
    this.client = client;
    this.trace = trace;
  }

  /** Sets the owner, which is notified of the end of this session. Returns the former owner. */
  belongTo(owner: SessionOwner): SessionOwner | undefined {
    const former = this.#owner;
    this.#owner = owner;
    return former;
  }

  /** Tells the owner that the session has left memory. */
  tellLeft(): void {
    this.#owner?.left?.(this);
  }

  /** Tells the owner that the registry has removed the session. */
  tellGone(): void {
    this.#owner?.gone?.(this);
  }

  /** True if the run is being stopped or is over (SESSION-4). The tool must not do more. */
  get halting(): boolean {
    return this.#phase >= Phase.halting;
  }

  /** True if the session is leaving memory or has left it, and has not ended (SESSION-4). */
  get suspending(): boolean {
    return this.#phase === Phase.suspending || this.#phase === Phase.suspended;
  }

  /** Notes that a caller has received the outcome of the session. */
  markDelivered(): void {
    this.#outcomeDelivered = true;
  }

  /**
   * Makes the session stay in memory until it ends: its record has become too large to send to the
   * client, or no request can refer to the session.
   */
  stayHere(this: Own): void {
    this.replayable = false;
  }

  /** Promises a client to keep the session until `time`. Returns false if that changes nothing. */
  promiseUntil(this: Own, time: number): boolean {
    if (time <= this.keepUntil) return false;
    this.keepUntil = time;
    return true;
  }

  /** Makes the session a task, if it is not one yet. Returns the time at which it became a task. */
  becomeTask(this: Own): number {
    return this.taskSince ??= this.deadlines.now();
  }

  /** Lets the session run without a request that waits for it, like a task. */
  goOnAlone(this: Own): void {
    this.needsCaller = false;
  }

  /**
   * Lets the session outlive its request and its client session, because the request has ended with
   * a ticket. The session stays on this server, even if the client has a record of it.
   */
  defer(this: Own): void {
    this.deferred = true;
    this.needsCaller = false;
    if (this.portable) this.replayable = false;
  }

  // `facts` and `questions` are created on first access, because most calls need neither.

  get facts(): Recorder {
    return this.#facts ??= new Recorder(this);
  }

  get questions(): Questions {
    return this.#questions ??= new Questions(this);
  }

  get deadlines(): Deadlines {
    return this.#home.deadlines;
  }

  get sampling(): SamplingSetup {
    return this.#home.sampling;
  }

  get hooks(): SessionHooks {
    return this.#home.server.hooks;
  }

  get replayed(): boolean {
    return this.replay !== undefined;
  }

  get site(): Site {
    return this.#home.server.site;
  }

  /** Seals sensitive answers in a record. Undefined if the session has no record. */
  get sealer(): Sealer | undefined {
    return this.durable ? this.#home.sealer : undefined;
  }

  /** True while the session is parked: it waits for answers or for time, and runs no step. */
  get waiting(): boolean {
    return this.outcome === undefined && !this.#facts?.working &&
      (this.#questions !== undefined && this.#questions.unsettled ||
        // The tool does nothing but sleep, and the record contains the end of the sleep.
        this.#facts !== undefined && this.#facts.nextWake !== undefined && !this.concurrent);
  }

  /**
   * The time at which the session must resume if it leaves memory now. Null if it resumes only when
   * a request needs it.
   */
  get wakeAt(): number | null {
    if (this.needsCaller || this.log.closed) return null;
    const nextExpiry = this.#questions?.nextExpiry;
    const nextWake = this.#facts?.nextWake;
    if (this.#facts?.working || nextExpiry === undefined && nextWake === undefined) return 0;
    const next = Math.min(nextExpiry ?? Infinity, nextWake ?? Infinity);
    return next === Infinity ? null : next;
  }

  addParallel(parts: number): void {
    this.#parallel += parts;
  }

  /** True while more than one part of the tool runs, so that more questions may follow. */
  get concurrent(): boolean {
    return this.#parallel > 0 || this.#run !== undefined && !this.#run.light;
  }

  get scope(): Scope {
    return this.#home.scope;
  }

  /** Returns the questions that wait for an answer, oldest first. */
  openRequests(): ToolSessionRequest[] {
    return this.#questions?.open() ?? [];
  }

  /**
   * Loads the record of an earlier run. A session that has ended can only be read. Any other
   * session must be started, and replays its record.
   */
  takeOver(record: SessionRecord): void {
    const { events, keepUntil = 0, portable = false } = record;
    const own: Own = this;
    own.needsCaller = record.needsCaller;
    own.portable = portable;
    this.#seed = record.seed;
    own.keepUntil = keepUntil;
    own.taskSince = record.taskSince;
    this.log.restore(events);
    const last = events.at(-1);
    own.outcome = last && outcomeIn(last);
    if (this.outcome) {
      this.#phase = Phase.ended;
      return;
    }
    checkSeals(this, events);
    own.replay = new Replay(events);
    // Open questions in the record can be answered before the tool asks them again.
    this.#questions = new Questions(this);
  }

  /** Runs the tool up to its first wait. */
  start(args: unknown): void {
    if (this.#phase >= Phase.ending) return;
    this.#why = this.replay?.cancelling;
    if (this.#why) return this.runEnded({ type: "halted" });
    if (this.#phase === Phase.created) this.#phase = Phase.running;
    const run = runTool(this.tool, args, this, this.#home.scope);
    if (this.#phase >= Phase.suspended) return;
    // Set this before the run starts, because a reader of its first event may cancel the run.
    this.#run = run;
    run.start();
    if (this.replay && !this.replay.done && this.#phase < Phase.suspended) {
      this.#unwatch = watchReplay(this.replay, this.deadlines, (stuck) => this.diverged(stuck));
    }
  }

  currentStatus(): ToolSessionStatus {
    if (this.outcome) return this.outcome.status;
    if (this.#phase === Phase.created) return "initializing";
    // A session that leaves memory is waiting, so its log contains the open questions.
    const open = this.suspending ? this.log.unanswered() : this.questions.open();
    if (open.length === 0) return "running";
    const onlySamples = open.every(({ type }) => type === "sample_request");
    return onlySamples ? "awaiting_sample" : "awaiting_elicit";
  }

  // Methods for answers.

  /** Records an answer, and then delivers it to the tool. */
  respond(
    requestId: string,
    response: ClientAnswer,
    via?: AnswerVia | SampleVia,
  ): AnswerOutcome {
    return this.respondAll([{ requestId, response, via }])[0]!;
  }

  /** Accepts all answers, or none if one of them contradicts a recorded answer. */
  respondAll(answers: readonly QuestionAnswer[]): AnswerOutcome[] {
    return this.questions.respond(answers, this.outcome !== undefined);
  }

  // Methods that the run calls.

  emit(body: EventBody): void {
    if (this.halting) return;
    const branch = "branch" in body ? body.branch : undefined;
    if (this.replay?.alreadyTold(branch ?? "")) return;
    this.log.append(body);
  }

  notify(
    message: string,
    progress: number = this.#progress + 1,
    total?: number,
    branch?: string,
  ): void {
    this.#progress = progress;
    this.emit({
      type: "progress",
      progress,
      message,
      ...(total !== undefined && { total }),
      ...(branch && { branch }),
    });
  }

  room(): Operation<void> | undefined {
    // A replay does not emit recorded events again, so it does not wait.
    if (!this.log.isFull || this.halting || this.replay && !this.replay.done) return undefined;
    return action<void>((resolve) => this.log.whenRoom(this.deadlines, resolve));
  }

  ask(question: PlacedQuestion, timeout?: number): Operation<Reply> {
    this.#facts?.refuseInside(`ask "${question.key}"`);
    return new AskEffect(this.questions, question, timeout) as unknown as Operation<Reply>;
  }

  recordedDoor(branch: string, key: string, moved: boolean): Door | null | undefined {
    return this.replay?.doorOf(branch, key, moved);
  }

  hangUp(): void {
    this.#owner?.hangUp?.(this);
  }

  announce(change: ServerChange): void {
    // A replay does not announce the same change again.
    if (!this.halting && (this.replay?.done ?? true)) this.#home.server.announce(change);
  }

  report(fault: Fault): void {
    this.#home.report(fault);
  }

  /** Ends a session that cannot resume, before it starts. */
  refuse(problem: string): void {
    this.#diverged = problem;
    this.runEnded({ type: "halted" });
  }

  /** Ends the session, because the replay of the tool differs from its record. */
  diverged(divergence: Divergence): void {
    this.#diverged = describeDivergence(divergence);
    this.halt("its replay differs from its record");
  }

  /** Ends the session, because it would exceed a limit while it waits. */
  endForRoom(problem: string): void {
    if (this.halting) return;
    this.#noRoom = problem;
    this.halt(problem);
  }

  changed(): void {
    this.#updatedAt = this.#home.deadlines.now();
    this.#home.changed(this);
    // Wake the readers: one of them may wait until the replay reaches a question.
    if (this.replay) this.log.stir();
  }

  // Methods that end the session.

  /** Cancels the session, which must be in memory, and waits until the tool has cleaned up. */
  *cancel(reason = "cancelled by the caller"): Operation<void> {
    this.halt(reason, "caller");
    while (!this.outcome) yield* action<void>((resolve) => this.log.watch(resolve));
  }

  /** Starts to halt the tool. The log closes when the tool has cleaned up (SESSION-1). */
  halt(reason: string, by: "caller" | "server" = "server"): void {
    if (this.halting) return;
    this.#why = { reason, by };
    // Record this before the tool cleans up. If the server crashes during the cleanup, the tool
    // must not continue.
    if (this.durable && this.lost === undefined && this.#diverged === undefined) {
      this.log.append({ type: "cancelling", reason, by });
    }
    this.#phase = Phase.halting;
    this.#run?.halt();
  }

  /** Called by the run when it stops itself, because its timeout has passed. */
  runHalting(): void {
    if (this.#phase < Phase.halting) this.#phase = Phase.halting;
  }

  /** Removes the session from memory (SESSION-3). It can resume from its log. */
  suspend(): void {
    if (this.halting) return;
    this.#home.suspending(this);
    this.#phase = Phase.suspending;
    this.#run?.halt();
  }

  /** Ends the session, because the store refused an event. */
  storeFailed(error: unknown): void {
    (this as Own).lost = whyLost(error);
    this.report({
      what: "the events of the call could not be stored",
      toolName: this.toolName,
      sessionId: this.id,
      error,
    });
    // SESSION-1: a recorded end stays valid, even if a later change of the record failed.
    if (this.outcome) return;
    this.log.abandonJournal();
    if (this.#phase >= Phase.suspended) this.runEnded({ type: "halted" });
    else this.halt("the events of the call could not be stored");
  }

  /** Called by the run when it is over, and every `finally` has run (SESSION-1). */
  runEnded(outcome: RunOutcome): void {
    this.#unwatch?.();
    this.#run = undefined;
    if (this.suspending && this.lost === undefined) {
      this.#phase = Phase.suspended;
      this.#questions?.withdrawAll();
      this.#owner?.left?.(this);
      this.#home.suspended(this);
      return this.log.stir();
    }
    this.#phase = Phase.ending;
    // SESSION-2: withdraw all open questions.
    this.#questions?.withdrawAll();
    const own: Own = this;
    const ending = this.#ending(outcome);
    this.log.append(ending.event, () => {
      this.#phase = Phase.ended;
      own.outcome = ending.outcome;
      this.changed();
      this.#owner?.ended?.(this);
      // Release the objects that a finished session does not need, because the registry keeps many
      // sessions.
      this.#questions = this.#facts = own.presets = undefined;
      own.client = NOBODY;
    });
  }

  #ending(outcome: RunOutcome): Ending {
    const leftOut = outcome.type === "halted" ? undefined : this.replay?.leftOut();
    if (leftOut) this.#diverged = describeDivergence(leftOut);
    if (this.#diverged !== undefined) return divergedEnding(this.tool, this.#diverged);
    if (this.lost !== undefined) return lostEnding(this.lost);
    if (this.#noRoom !== undefined) return noRoomEnding(this.tool, this.#noRoom);
    return endingOf(outcome, this.#why);
  }
}

/** The client of a session that has ended. It has no capabilities, so no tool can ask it. */
const NOBODY: ClientInfo = Object.freeze({ capabilities: Object.freeze({}) });
