/**
 * One run of one tool.
 *
 * It owns the log, the open questions and the run itself, and it is what the
 * runtime talks to. It knows nothing of HTTP, of eras or of who is listening.
 *
 * T1  The log ends with exactly one final event, and only after every `finally` has run.
 * T2  When the session has ended, no question is open and no deadline is set.
 * T3  A run that is suspended leaves nothing in the log: it has not ended.
 */
import { action, type Operation, type Scope, type Stream } from "effection";
import type { PlacedQuestion, Reply } from "../ask/ask.ts";
import type { Deadlines } from "../lib/deadlines.ts";
import type { Sealer } from "../lib/sealer.ts";
import { SessionSealedError } from "../model/errors.ts";
import type {
  AnswerOutcome,
  ClientAnswer,
  ClientInfo,
  ElicitResponse,
  EventBody,
  Place,
  RequestFailure,
  SampleResponse,
  ServerChange,
  ToolSessionEvent,
  ToolSessionOutcome,
  ToolSessionRequest,
  ToolSessionStatus,
} from "../model/events.ts";
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
import { type QuestionAnswer, Questions, type QuestionsHome } from "./questions.ts";
import { readEvents } from "./event-log.ts";
import { Recorder, type RecorderHome } from "./recorder.ts";
import { describeDivergence, type Divergence, Replay, watchReplay } from "./replay.ts";
import type { SessionHome } from "./session-home.ts";
import { SessionState } from "./session-state.ts";
import type { ToolSession } from "./types.ts";

export class LiveToolSession extends SessionState
  implements ToolSession, RunPort, QuestionsHome, RecorderHome {
  #facts: Recorder | undefined;
  #questions: Questions | undefined;
  readonly #home: SessionHome;
  #run: Run | undefined;
  #unwatch: (() => void) | undefined;
  #started = false;
  #progress = 0;
  /** True once the run is over, although its end may not be recorded yet. */
  #ended = false;
  #diverged: string | undefined;
  /** Why there is no room for it to wait, once that is so. */
  #noRoom: string | undefined;
  #outcome: ToolSessionOutcome | undefined;
  /** Why the run is being halted, if it is. */
  #why: HaltReason | undefined;

  constructor(
    home: SessionHome,
    id: string | undefined,
    tool: Definition,
    client: ClientInfo,
    principal: string,
    createdAt = home.deadlines.now(),
  ) {
    super(home.logLimits, id, tool, client, principal, createdAt);
    this.#home = home;
  }

  // Most calls do without these, so they are made when they are first needed.

  get facts(): Recorder {
    return this.#facts ??= new Recorder(this);
  }

  get questions(): Questions {
    return this.#questions ??= new Questions(this);
  }

  /** Answers that came with the call, and wait for their questions. */
  get presets(): ReadonlyMap<string, ClientAnswer> | undefined {
    return this.#questions?.presets;
  }

  get deadlines(): Deadlines {
    return this.#home.deadlines;
  }

  get sampling(): SamplingSetup {
    return this.#home.sampling;
  }

  get site(): Site {
    return this.#home.site;
  }

  get outcome(): ToolSessionOutcome | undefined {
    return this.#outcome;
  }

  /** Seals what is sensitive in a record; where there is none, nothing needs it. */
  get sealer(): Sealer | undefined {
    return this.durable ? this.#home.sealer : undefined;
  }

  /** True while it waits for an answer or, where it can leave memory, for time to pass, and does no step beside. */
  get waiting(): boolean {
    return this.#outcome === undefined && !this.#facts?.working &&
      (this.#questions !== undefined && this.#questions.unsettled || this.#sleeps);
  }

  /** True while it does nothing but sleep, in a way that outlasts a restart. */
  get #sleeps(): boolean {
    return this.#facts !== undefined && this.#facts.nextWake !== undefined && !this.concurrent;
  }

  /** When it is to be run although nobody asks for it, from how it stands now; null for never. */
  get wakeAt(): number | null {
    if (this.needsCaller || this.log.closed) return null;
    const { questions: { nextExpiry }, facts: { nextWake, working } } = this;
    if (working || nextExpiry === undefined && nextWake === undefined) return 0;
    const next = Math.min(nextExpiry ?? Infinity, nextWake ?? Infinity);
    return next === Infinity ? null : next;
  }

  /** True while more than one part of the tool is at work, so that more questions may follow. */
  get concurrent(): boolean {
    return this.parallel > 0 || this.#run !== undefined && !this.#run.light;
  }

  get scope(): Scope {
    return this.#home.scope;
  }

  /** The question that went out under a name, open or not. */
  requestNamed(name: string): ToolSessionRequest | undefined {
    return this.questions.named(name);
  }

  /** The questions that wait for an answer, oldest first. */
  openRequests(): ToolSessionRequest[] {
    return this.#questions?.open() ?? [];
  }

  /**
   * Takes up a log that an earlier run has left. One that has ended is only there
   * to be read; any other is to be started, and will find its place again.
   */
  restore(events: readonly ToolSessionEvent[]): void {
    this.log.restore(events);
    const last = events.at(-1);
    this.#outcome = last && outcomeIn(last);
    if (this.#outcome) return void (this.#ended = true);
    checkSeals(this, events);
    this.replay = new Replay(events);
    // What waited on record waits again at once, whenever the tool comes to it.
    this.#questions = new Questions(this);
  }

  /** Runs the tool up to its first wait. */
  start(args: unknown): void {
    if (this.#ended) return;
    this.#why = this.replay?.cancelling;
    if (this.#why) return this.runEnded({ type: "halted" });
    this.#started = true;
    const run = runTool(this.tool, args, this, this.#home.scope);
    if (this.#ended) return;
    // Before it starts: somebody who sees its first event may cancel it.
    this.#run = run;
    run.start();
    if (this.replay && !this.#ended) {
      this.#unwatch = watchReplay(this.replay, this.deadlines, (stuck) => this.diverged(stuck));
    }
  }

  currentStatus(): ToolSessionStatus {
    if (this.#outcome) return this.#outcome.status;
    if (!this.#started) return "initializing";
    // One that has left memory left because it waited.
    const open = this.suspending ? this.log.unanswered() : this.questions.open();
    if (open.length === 0) return "running";
    const onlySamples = open.every(({ type }) => type === "sample_request");
    return onlySamples ? "awaiting_sample" : "awaiting_elicit";
  }

  *status(): Operation<ToolSessionStatus> {
    return this.currentStatus();
  }

  getEvents(afterLSN = 0): Stream<ToolSessionEvent, ToolSessionOutcome> {
    return readEvents(() => locate(this, this.#home), afterLSN);
  }

  // ------------------------------------------------------------------ answers

  *respondToElicit(
    id: string,
    response: ElicitResponse | RequestFailure,
  ): Operation<AnswerOutcome> {
    return (yield* locateAsking(id, this, this.#home)).respond(id, response);
  }

  *respondToSample(
    id: string,
    response: SampleResponse | RequestFailure,
  ): Operation<AnswerOutcome> {
    return (yield* locateAsking(id, this, this.#home)).respond(id, response);
  }

  /** Records an answer and, once it is recorded, hands it to the tool. */
  respond(requestId: string, response: ClientAnswer): AnswerOutcome {
    return this.respondAll([{ requestId, response }])[0]!;
  }

  /** All of the answers, or none if one contradicts an answer on record. */
  respondAll(answers: readonly QuestionAnswer[]): AnswerOutcome[] {
    return this.questions.respond(answers, this.#outcome !== undefined);
  }

  // -------------------------------------------------------- for the runtime

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
    // What is run again is not told again.
    if (!this.log.isFull || this.halting || this.replay && !this.replay.done) return undefined;
    return action<void>((resolve) => this.log.whenRoom(this.deadlines, resolve));
  }

  ask(question: PlacedQuestion, timeout?: number): Operation<Reply> {
    this.facts.refuseInside(`ask "${question.key}"`);
    return this.questions.ask(question, timeout);
  }

  wasAsked(branch: string, kind: Place["kind"], key: string): boolean {
    return this.replay?.expects(branch, kind, key) ?? false;
  }

  hangUp(): void {
    this.owner?.hangUp?.(this);
  }

  announce(change: ServerChange): void {
    // What is run again was announced the first time.
    if (!this.halting && (this.replay?.done ?? true)) this.#home.announce(change);
  }

  report(fault: Fault): void {
    this.#home.report(fault);
  }

  /** Ends a run that cannot be taken up, before it has started. */
  refuse(problem: string): void {
    this.#diverged = problem;
    this.runEnded({ type: "halted" });
  }

  /** The tool does something else than it did before. It ends here, before it does more. */
  diverged(divergence: Divergence): void {
    this.#diverged = describeDivergence(divergence);
    this.halt("it does something else than it did before");
  }

  /** Ends it, because there is no room for what it would wait with. */
  endForRoom(problem: string): void {
    if (this.#ended || this.halting) return;
    this.#noRoom = problem;
    this.halt(problem);
  }

  changed(): void {
    this.updatedAt = this.deadlines.now();
    this.#home.changed(this);
    // Somebody may wait for it to find its place again.
    if (this.replay) this.log.stir();
  }

  // --------------------------------------------------------------------- ends

  *cancel(reason = "cancelled by the caller"): Operation<void> {
    if (this.suspending) return yield* this.#home.cancelSuspended(this.id, reason);
    this.halt(reason, "caller");
    while (!this.#outcome) yield* action<void>((resolve) => this.log.watch(resolve));
  }

  /** Begins to halt the tool; the log closes when it has cleaned up. */
  halt(reason: string, by: "caller" | "server" = "server"): void {
    if (this.#ended || this.halting) return;
    this.#why = { reason, by };
    // Before anything is taken back: after a crash it must not go on.
    if (this.durable && this.lost === undefined && this.#diverged === undefined) {
      this.log.append({ type: "cancelling", reason, by });
    }
    this.halting = true;
    this.#run?.halt();
  }

  /** Puts it out of memory. It will be run again from its log. */
  suspend(): void {
    if (this.#ended || this.halting) return;
    this.halting = true;
    this.suspending = true;
    this.#run?.halt();
  }

  /** The store refused an event. The call cannot be promised any longer, so it ends here. */
  storeFailed(error: unknown): void {
    this.lost = whyLost(error);
    this.report({
      what: "its events could not be stored",
      toolName: this.toolName,
      sessionId: this.id,
      error,
    });
    this.log.abandonJournal();
    if (this.#ended) this.runEnded({ type: "halted" });
    else this.halt("its events could not be stored");
  }

  /** For the runtime: the run is over. */
  runEnded(outcome: RunOutcome): void {
    this.#ended = true;
    this.#unwatch?.();
    this.#run = undefined;
    this.#questions?.withdrawAll();
    if (this.suspending && this.lost === undefined) {
      this.owner?.left?.(this);
      this.#home.suspended(this);
      return this.log.stir();
    }
    const ending = this.#ending(outcome);
    this.log.append(ending.event, () => {
      this.#outcome = ending.outcome;
      this.changed();
      this.owner?.ended?.(this);
      // Many that have ended are kept, and none of them needs what one at work does.
      this.#questions = this.#facts = undefined;
      this.client = NOBODY;
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

/** Who stands behind a session that has ended: nobody whom anything could be asked. */
const NOBODY: ClientInfo = Object.freeze({ capabilities: Object.freeze({}) });

/** The session as it is in memory, taken up again if it has left. */
export function* locate(session: LiveToolSession, home: SessionHome): Operation<LiveToolSession> {
  if (!session.suspending || session.outcome) return session;
  return (yield* home.takenUp(session.id)) ?? session;
}

/** The same, once a question of it that waits on record waits here too. */
export function* locateAsking(
  requestId: string,
  session: LiveToolSession,
  home: SessionHome,
): Operation<LiveToolSession> {
  const found = yield* locate(session, home);
  if (found === session) return session;
  const named = ({ id }: { readonly id: string }) => id === requestId;
  while (
    !found.outcome && !found.suspending && found.log.unanswered().some(named) &&
    !found.openRequests().some(named)
  ) yield* action<void>((resolve) => found.log.watch(resolve));
  return found;
}

/**
 * Throws before a session is run whose answers this server cannot open: run, it would fail for
 * good, and with the key that it had it would not.
 */
export function checkSeals(session: LiveToolSession, events: readonly ToolSessionEvent[]): void {
  for (const event of events) {
    if (event.type !== "answer" || event.sealed === undefined) continue;
    if (session.sealer?.openBytes(event.sealed, event.requestId) === undefined) {
      throw new SessionSealedError(session.id, session.toolName);
    }
  }
}
