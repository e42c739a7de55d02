/**
 * One run of one tool.
 *
 * It owns the log, the open questions and the run itself, and it is what the
 * runtime talks to. It knows nothing of HTTP, of eras or of who is listening.
 *
 * T1  The log ends with exactly one final event, and only after every `finally` has run.
 * T2  A question is registered before it is announced: a reader may answer at once.
 * T3  An answer, or that there was none in time, is recorded before the tool hears of it.
 * T4  When the session has ended, no question is open and no deadline is set.
 */
import { action, type Operation, type Scope, type Stream } from "effection";
import type { PlacedQuestion, Reply } from "../backchannel/ask.ts";
import { mask } from "../backchannel/mask.ts";
import type { JsonObject } from "../content.ts";
import { SessionHalted } from "../errors.ts";
import type {
  AnswerBody,
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
  WithdrawalReason,
} from "../events.ts";
import type { Deadline, Deadlines } from "../runtime/deadlines.ts";
import type { Fault, RunHost, SamplingSetup } from "../runtime/run-host.ts";
import { type Run, type RunOutcome, runTool } from "../runtime/run-tool.ts";
import type { Definition } from "../tool/types.ts";
import { sameAnswer } from "./answers.ts";
import { EventLog, type LogLimits } from "./event-log.ts";
import { type OpenRequest, Pending } from "./pending.ts";
import { readEvents } from "./reader.ts";
import type { Sealer } from "./sealer.ts";
import type { ToolSession } from "./types.ts";

/** What a session needs from the registry that keeps it. */
export interface SessionHome {
  readonly scope: Scope;
  readonly deadlines: Deadlines;
  readonly logLimits: LogLimits;
  readonly sampling: SamplingSetup;
  /** Seals what is sensitive for a store; absent where nothing is stored. */
  readonly sealer?: Sealer;
  announce(change: ServerChange): void;
  report(fault: Fault): void;
  /** It began or ceased to wait for answers, or ended. */
  changed(session: LiveToolSession): void;
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

/** An answer, and the question that it is for. */
export interface Answer {
  readonly requestId: string;
  readonly response: Response;
}

export class LiveToolSession implements ToolSession, RunHost {
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
  /** Answers that came with the call; each serves the first question with its name. */
  presets: Map<string, Response> | undefined;
  /** How many streams and requests look at this session; the registry counts. */
  holders = 0;
  /** When the registry lets go of it, if nothing happens before. */
  expiry: Deadline | undefined;
  owner: SessionOwner | undefined;
  halting = false;
  readonly #home: SessionHome;
  #pending: Pending | undefined;
  #run: Run | undefined;
  #started = false;
  #progress = 0;
  /** True once the run is over, although its end may not be recorded yet. */
  #ended = false;
  /** True once the store has failed us. */
  #lost = false;
  #outcome: ToolSessionOutcome | undefined;
  /** Why the run is being halted, if it is. */
  #reason: { reason: string; by: "caller" | "server" } = { reason: "", by: "server" };

  constructor(
    home: SessionHome,
    id: string,
    tool: Definition,
    client: ClientInfo,
    principal: string,
  ) {
    this.#home = home;
    this.id = id;
    this.tool = tool;
    this.client = client;
    this.principal = principal;
    this.createdAt = this.updatedAt = home.deadlines.now();
    this.log = new EventLog(id, home.logLimits);
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

  get outcome(): ToolSessionOutcome | undefined {
    return this.#outcome;
  }

  /** True while it waits for at least one answer. */
  get waiting(): boolean {
    return this.#outcome === undefined && this.#pending !== undefined &&
      this.#pending.open.size > 0;
  }

  /** True while more than one part of the tool is at work, so that more questions may follow. */
  get concurrent(): boolean {
    return this.#run !== undefined && !this.#run.light;
  }

  /** The question that went out under a name, open or not. */
  requestNamed(name: string): ToolSessionRequest | undefined {
    for (const { request } of this.#pending?.open.values() ?? []) {
      if (request.name === name) return request;
    }
    return this.log.findLast((event) => "name" in event && event.name === name) as
      | ToolSessionRequest
      | undefined;
  }

  /** The questions that wait for an answer, oldest first. */
  openRequests(): ToolSessionRequest[] {
    if (!this.#pending) return [];
    return [...this.#pending.open.values()]
      .filter((open) => open.put && !open.answered)
      .map((open) => open.request);
  }

  /** Runs the tool up to its first wait. */
  start(args: unknown): void {
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
    let sampling = false;
    for (const { request, put, answered } of this.#pending?.open.values() ?? []) {
      if (!put || answered) continue;
      if (request.type !== "sample_request") return "awaiting_elicit";
      sampling = true;
    }
    return sampling ? "awaiting_sample" : "running";
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

  /**
   * Records several answers, and hands none of them to the tool before all are
   * recorded. If one contradicts an answer on record, none is taken.
   */
  respondAll(answers: readonly Answer[]): AnswerOutcome[] {
    const outcomes = answers.map((answer) => this.#outcomeOf(answer));
    if (outcomes.includes("conflicting")) return outcomes;
    const taken = answers.filter((_, i) => outcomes[i] === "accepted");
    // Before anything changes: an answer that cannot even be written down leaves all open.
    const bodies = taken.map(({ requestId, response }) =>
      this.#answerBody(this.#pending!.open.get(requestId)!.request, response)
    );
    for (const { requestId } of taken) {
      const open = this.#pending!.open.get(requestId)!;
      open.answered = true;
      open.deadline?.cancel();
    }
    bodies.forEach((body, i) =>
      this.log.append(body, i === bodies.length - 1 ? () => this.#deliver(taken) : undefined)
    );
    return outcomes;
  }

  #deliver(answers: readonly Answer[]): void {
    for (const { requestId, response } of answers) {
      // What the tool did with the one before may have made this one pointless.
      const open = this.#pending!.open.get(requestId);
      if (!open) continue;
      this.#pending!.open.delete(requestId);
      this.#changed();
      open.resolve({ type: "answered", requestId, response });
    }
  }

  #outcomeOf({ requestId, response }: Answer): AnswerOutcome {
    const open = this.#pending?.open.get(requestId);
    return open && !open.answered ? "accepted" : this.#tooLate(requestId, response);
  }

  #tooLate(requestId: string, response: Response): AnswerOutcome {
    if (!this.#pending?.wasAsked(this.id, requestId)) return this.#outcome ? "ended" : "unknown";
    const closing = this.log.findLast((event) =>
      (event.type === "answer" || event.type === "withdrawn") && event.requestId === requestId
    );
    if (closing?.type === "withdrawn") return this.#outcome ? "ended" : "withdrawn";
    // Too long ago to be compared, it counts as the same.
    if (closing?.type !== "answer") return "repeated";
    return sameAnswer(closing, response) ? "repeated" : "conflicting";
  }

  #answerBody(request: ToolSessionRequest, response: Response): AnswerBody {
    const base = { type: "answer", requestId: request.id } as const;
    const sensitive = request.type === "elicit_request" ? request.sensitive : undefined;
    if (!sensitive || !isAccepted(response)) return { ...base, response };
    const { sealer } = this.#home;
    return {
      ...base,
      response: { ...response, content: mask(response.content, sensitive) },
      ...(sealer && { sealed: sealer.seal(JSON.stringify(response.content), request.id) }),
    };
  }

  // -------------------------------------------------------- for the runtime

  emit(body: EventBody): void {
    if (!this.halting) this.log.append(body);
  }

  notify(message: string, progress: number = this.#progress + 1, total?: number): void {
    this.#progress = progress;
    this.emit({ type: "progress", progress, message, ...(total !== undefined && { total }) });
  }

  ask(question: PlacedQuestion, timeout?: number): Operation<Reply> {
    return action<Reply>((resolve, reject) => {
      if (this.halting) {
        reject(new SessionHalted(this.id, `ask "${question.key}"`));
        return () => {};
      }
      const pending = this.#pending ??= new Pending();
      const request = pending.number(this.id, question);
      const preset = this.presets?.get(request.name);
      // Whoever hears of the question must not think that it waits.
      const open: OpenRequest = { request, resolve, answered: preset !== undefined };
      if (timeout !== undefined) {
        open.deadline = this.deadlines.add(timeout, () => {
          this.#withdraw(request.id, "timeout", () => resolve({ type: "timeout" }));
        });
      }
      pending.open.set(request.id, open);
      this.log.append(request, () => open.put = true);
      this.#changed();
      if (preset !== undefined) {
        this.presets!.delete(request.name);
        open.answered = false;
        this.respond(request.id, preset);
      }
      return () => this.#withdraw(request.id, "halted");
    });
  }

  hangUp(): void {
    this.owner?.hangUp?.(this);
  }

  announce(change: ServerChange): void {
    if (!this.halting) this.#home.announce(change);
  }

  report(fault: Fault): void {
    this.#home.report(fault);
  }

  #withdraw(requestId: string, reason: WithdrawalReason, then?: () => void): void {
    const open = this.#pending!.open.get(requestId);
    if (!open) return;
    this.#pending!.open.delete(requestId);
    open.deadline?.cancel();
    // One whose answer is on its way into the log is answered, only too late for the tool;
    // one that a lost journal has taken back was never put.
    if (!open.answered && !this.#lost) {
      this.log.append({ type: "withdrawn", requestId, reason }, then);
    }
    this.#changed();
  }

  #changed(): void {
    this.updatedAt = this.deadlines.now();
    this.#home.changed(this);
  }

  // --------------------------------------------------------------------- ends

  *cancel(reason = "cancelled by the caller"): Operation<void> {
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

  /** The store refused an event. The call cannot be promised any longer, so it ends here. */
  storeFailed(error: unknown): void {
    this.report({
      what: "its events could not be stored",
      toolName: this.toolName,
      sessionId: this.id,
      error,
    });
    this.log.abandonJournal();
    this.#lost = true;
    if (this.#ended) this.#end({ type: "halted" });
    else this.halt("its events could not be stored");
  }

  #end(outcome: RunOutcome): void {
    this.#ended = true;
    this.#run = undefined;
    for (const id of this.#pending?.open.keys() ?? []) this.#withdraw(id, "halted");
    const ending = this.#ending(outcome);
    this.log.append(ending.event, () => {
      this.#outcome = ending.outcome;
      this.#changed();
      this.owner?.ended?.(this);
    });
  }

  #ending(outcome: RunOutcome): { event: EventBody; outcome: ToolSessionOutcome } {
    if (this.#lost) {
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

function isAccepted(response: Response): response is ElicitResponse & { content: JsonObject } {
  return typeof response === "object" && response !== null && "content" in response &&
    "action" in response && response.content !== undefined;
}
