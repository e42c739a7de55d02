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
import type { PlacedQuestion, Reply } from "../backchannel/ask.ts";
import type {
  AnswerOutcome,
  ClientInfo,
  ElicitResponse,
  EventBody,
  RequestFailure,
  Response,
  SampleResponse,
  ServerChange,
  ToolSessionEvent,
  ToolSessionOutcome,
  ToolSessionRequest,
  ToolSessionStatus,
  TraceContext,
} from "../events.ts";
import type { Deadline, Deadlines } from "../runtime/deadlines.ts";
import type { Fault, RunHost, SamplingSetup, Site } from "../runtime/run-host.ts";
import { type Run, type RunOutcome, runTool } from "../runtime/run-tool.ts";
import type { Definition } from "../tool/types.ts";
import { EventLog, type LogLimits } from "./event-log.ts";
import { type Answer, Questions, type QuestionsHome } from "./questions.ts";
import { readEvents } from "./reader.ts";
import { Recorder, type RecorderHome } from "./recorder.ts";
import { describeDivergence, type Divergence, Replay } from "./replay.ts";
import type { Sealer } from "./sealer.ts";
import type { ToolSession } from "./types.ts";

/** What a session needs from the registry that keeps it. */
export interface SessionHome {
  readonly scope: Scope;
  readonly deadlines: Deadlines;
  readonly logLimits: LogLimits;
  readonly sampling: SamplingSetup;
  readonly sealer: Sealer;
  readonly site: Site;
  announce(change: ServerChange): void;
  report(fault: Fault): void;
  /** It began or ceased to wait for answers, or ended. */
  changed(session: LiveToolSession): void;
  /** It has left memory, and can be run again from its log. */
  suspended(session: LiveToolSession): void;
  /** Ends one that has left memory. */
  cancelSuspended(id: string, reason: string): Operation<void>;
}

/** Who opened a session, where that is more than a caller. */
export interface SessionOwner {
  /** It has ended, and that is recorded. */
  ended?(session: LiveToolSession): void;
  /** The registry has forgotten it. */
  gone?(session: LiveToolSession): void;
  /** The tool asks to let the client go and come back for the rest. */
  hangUp?(session: LiveToolSession): void;
}

export class LiveToolSession implements ToolSession, RunHost, QuestionsHome, RecorderHome {
  readonly id: string;
  readonly tool: Definition;
  /** As it described itself last; one without sessions does so with every request. */
  client: ClientInfo;
  /** Where the caller stands in a trace of its own. */
  trace: TraceContext = {};
  readonly log: EventLog;
  /** On whose behalf it runs. */
  readonly principal: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** When something last changed: a question, an answer, the end. */
  updatedAt: number;
  /** Until when it is kept after its end at least, because somebody was told so. */
  keepUntil = 0;
  /** Since when it is a task, if it is one. Milliseconds since the epoch. */
  taskSince: number | undefined;
  /** How many streams and requests look at this session; the registry counts. */
  holders = 0;
  /** When the registry lets go of it, if nothing happens before. */
  expiry: Deadline | undefined;
  owner: SessionOwner | undefined;
  halting = false;
  suspending = false;
  /** True once the store has failed us. */
  lost = false;
  /** True if it can be run again from its log. */
  readonly durable: boolean;
  replay: Replay | undefined;
  readonly facts: Recorder;
  readonly questions: Questions;
  readonly #home: SessionHome;
  #run: Run | undefined;
  #started = false;
  #progress = 0;
  /** True once the run is over, although its end may not be recorded yet. */
  #ended = false;
  #diverged: string | undefined;
  #outcome: ToolSessionOutcome | undefined;
  /** Why the run is being halted, if it is. */
  #reason: { reason: string; by: "caller" | "server" } = { reason: "", by: "server" };

  constructor(
    home: SessionHome,
    id: string,
    tool: Definition,
    client: ClientInfo,
    principal: string,
    createdAt = home.deadlines.now(),
  ) {
    this.#home = home;
    this.id = id;
    this.tool = tool;
    this.client = client;
    this.principal = principal;
    this.createdAt = this.updatedAt = createdAt;
    this.durable = tool.durable !== undefined;
    this.log = new EventLog(id, home.logLimits);
    this.facts = new Recorder(this);
    this.questions = new Questions(this);
  }

  get toolName(): string {
    return this.tool.name;
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

  /** True while it waits for at least one answer. */
  get waiting(): boolean {
    return this.#outcome === undefined && this.questions.unsettled;
  }

  /** True while more than one part of the tool is at work, so that more questions may follow. */
  get concurrent(): boolean {
    return this.#run !== undefined && !this.#run.light;
  }

  /** The question that went out under a name, open or not. */
  requestNamed(name: string): ToolSessionRequest | undefined {
    return this.questions.named(name);
  }

  /** The questions that wait for an answer, oldest first. */
  openRequests(): ToolSessionRequest[] {
    return this.questions.open();
  }

  /**
   * Takes up a log that an earlier run has left. One that has ended is only there
   * to be read; any other is to be started, and will find its place again.
   */
  restore(events: readonly ToolSessionEvent[]): void {
    this.log.restore(events);
    const last = events.at(-1);
    if (last?.type === "result") this.#outcome = { status: "completed", result: last.result };
    else if (last?.type === "error") this.#outcome = { status: "failed", error: last.error };
    else if (last?.type === "cancelled") {
      this.#outcome = { status: "cancelled", reason: last.reason };
    } else this.replay = new Replay(events);
    this.#ended = this.#outcome !== undefined;
  }

  /** Runs the tool up to its first wait. */
  start(args: unknown): void {
    if (this.#ended) return;
    this.#started = true;
    const run = runTool(this.tool, args, this, this.#home.scope, (outcome) => this.#end(outcome));
    if (this.#ended) return;
    // Before it starts: somebody who sees its first event may cancel it.
    this.#run = run;
    run.start();
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
    return readEvents(this, afterLSN);
  }

  // ------------------------------------------------------------------ answers

  *respondToElicit(
    id: string,
    response: ElicitResponse | RequestFailure,
  ): Operation<AnswerOutcome> {
    return this.respond(id, response);
  }

  *respondToSample(
    id: string,
    response: SampleResponse | RequestFailure,
  ): Operation<AnswerOutcome> {
    return this.respond(id, response);
  }

  /** Records an answer and, once it is recorded, hands it to the tool. */
  respond(requestId: string, response: Response): AnswerOutcome {
    return this.respondAll([{ requestId, response }])[0]!;
  }

  /** All of the answers, or none if one contradicts an answer on record. */
  respondAll(answers: readonly Answer[]): AnswerOutcome[] {
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

  ask(question: PlacedQuestion, timeout?: number): Operation<Reply> {
    return this.questions.ask(question, timeout);
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
    this.#end({ type: "halted" });
  }

  /** The tool does something else than it did before. It ends here, before it does more. */
  diverged(divergence: Divergence): void {
    this.#diverged = describeDivergence(divergence);
    this.halt("it does something else than it did before");
  }

  changed(): void {
    this.updatedAt = this.deadlines.now();
    this.#home.changed(this);
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
    this.halting = true;
    this.#reason = { reason, by };
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
    this.report({
      what: "its events could not be stored",
      toolName: this.toolName,
      sessionId: this.id,
      error,
    });
    this.log.abandonJournal();
    this.lost = true;
    if (this.#ended) this.#end({ type: "halted" });
    else this.halt("its events could not be stored");
  }

  #end(outcome: RunOutcome): void {
    this.#ended = true;
    this.#run = undefined;
    this.questions.withdrawAll();
    if (this.suspending && !this.lost) return this.#home.suspended(this);
    const ending = this.#ending(outcome);
    this.log.append(ending.event, () => {
      this.#outcome = ending.outcome;
      this.changed();
      this.owner?.ended?.(this);
    });
  }

  #ending(outcome: RunOutcome): { event: EventBody; outcome: ToolSessionOutcome } {
    const leftOut = outcome.type === "halted" ? undefined : this.replay?.leftOut();
    if (leftOut) this.#diverged = describeDivergence(leftOut);
    if (this.#diverged !== undefined) {
      const message =
        `Cannot run ${this.tool.kind} "${this.toolName}" again from its record: ${this.#diverged}; call it anew`;
      const error = { code: -32603, message };
      return { event: { type: "error", error }, outcome: { status: "failed", error } };
    }
    if (this.lost) {
      const error = { code: -32603, message: "Cannot go on: the server could not store this call" };
      return { event: { type: "error", error }, outcome: { status: "failed", error } };
    }
    switch (outcome.type) {
      case "result": {
        const { result } = outcome;
        return { event: { type: "result", result }, outcome: { status: "completed", result } };
      }
      case "error": {
        const { error } = outcome;
        return { event: { type: "error", error }, outcome: { status: "failed", error } };
      }
      case "halted": {
        const { reason, by } = this.#reason;
        return {
          event: { type: "cancelled", reason, by },
          outcome: { status: "cancelled", reason },
        };
      }
    }
  }
}

export type { Answer } from "./questions.ts";
