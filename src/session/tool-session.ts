/**
 * One run of one tool.
 *
 * It owns the log, the open questions and the run itself, and it is what the
 * runtime talks to. It knows nothing of HTTP, of eras or of who is listening.
 *
 * T1  The log ends with exactly one final event, and only after every `finally` has run.
 * T2  A question is registered before it is announced: a reader may answer at once.
 * T3  An answer is recorded before the tool gets it.
 * T4  When the session has ended, no question is open and no deadline is set.
 */
import { action, type Operation, type Scope, type Stream } from "effection";
import type { PlacedQuestion, Reply } from "../backchannel/ask.ts";
import { mask } from "../backchannel/mask.ts";
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
  WithdrawalReason,
} from "../events.ts";
import type { Deadline, Deadlines } from "../runtime/deadlines.ts";
import type { Fault, RunHost } from "../runtime/run-host.ts";
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

export class LiveToolSession implements ToolSession, RunHost {
  readonly id: string;
  readonly tool: Definition;
  readonly client: ClientInfo;
  readonly log: EventLog;
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

  constructor(home: SessionHome, id: string, tool: Definition, client: ClientInfo) {
    this.#home = home;
    this.id = id;
    this.tool = tool;
    this.client = client;
    this.log = new EventLog(id, home.logLimits);
  }

  get toolName(): string {
    return this.tool.name;
  }

  get deadlines(): Deadlines {
    return this.#home.deadlines;
  }

  get outcome(): ToolSessionOutcome | undefined {
    return this.#outcome;
  }

  /** True while it waits for at least one answer. */
  get waiting(): boolean {
    return this.#outcome === undefined && this.#pending !== undefined &&
      this.#pending.open.size > 0;
  }

  /** The questions that wait for an answer, oldest first. */
  openRequests(): ToolSessionRequest[] {
    if (!this.#pending) return [];
    return [...this.#pending.open.values()]
      .filter((open) => !open.answered)
      .map((open) => open.request);
  }

  /** Runs the tool up to its first wait. */
  start(args: unknown): void {
    this.#started = true;
    const run = runTool(this.tool, args, this, this.#home.scope, (outcome) => this.#end(outcome));
    if (this.#ended) return;
    this.#run = run;
    // Somebody who saw its first event may have cancelled it meanwhile.
    if (this.halting) run.halt();
  }

  currentStatus(): ToolSessionStatus {
    if (this.#outcome) return this.#outcome.status;
    if (!this.#started) return "initializing";
    let sampling = false;
    for (const { request, answered } of this.#pending?.open.values() ?? []) {
      if (answered) continue;
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
    const open = this.#pending?.open.get(requestId);
    if (!open || open.answered) return this.#tooLate(requestId, response);
    open.answered = true;
    open.deadline?.cancel();
    this.log.append(this.#answerBody(open.request, response), () => {
      if (!this.#pending!.open.delete(requestId)) return;
      this.#home.changed(this);
      open.resolve({ type: "answered", requestId, response });
    });
    return "accepted";
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
    if (!sensitive || !("action" in response) || !response.content) return { ...base, response };
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
      const open: OpenRequest = { request, resolve };
      pending.open.set(request.id, open);
      if (timeout !== undefined) {
        open.deadline = this.deadlines.add(timeout, () => {
          this.#withdraw(request.id, "timeout");
          resolve({ type: "timeout" });
        });
      }
      this.log.append(request);
      this.#home.changed(this);
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

  #withdraw(requestId: string, reason: WithdrawalReason): void {
    const open = this.#pending!.open.get(requestId);
    if (!open) return;
    this.#pending!.open.delete(requestId);
    open.deadline?.cancel();
    // One whose answer is on its way into the log is answered, only too late for the tool.
    if (!open.answered) this.log.append({ type: "withdrawn", requestId, reason });
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
      this.#home.changed(this);
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
