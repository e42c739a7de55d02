/**
 * Sends, answers and withdraws the questions of one session.
 *
 * QUESTION-1  A question is registered before it is appended to the log, because a reader may
 *             answer immediately.
 * QUESTION-2  An answer or a timeout is recorded before the tool receives it.
 * QUESTION-3  The first answer counts. Later answers change nothing, and the outcome tells their
 *             senders.
 * QUESTION-4  A replay does not send a recorded question again.
 */
import { howOf, type PlacedQuestion, type Reply } from "../ask/ask.ts";
import { MASK, mask } from "../ask/mask.ts";
import type { Deadline } from "../lib/deadlines.ts";
import type { JsonObject } from "../model/content.ts";
import { SessionHaltedError, SessionSealedError } from "../model/errors.ts";
import type {
  AnswerBody,
  AnswerOutcome,
  AnswerVia,
  ClientAnswer,
  ElicitRequest,
  ElicitResponse,
  SampleVia,
  ToolSessionEvent,
  ToolSessionRequest,
  WithdrawalReason,
} from "../model/events.ts";
import type { Recorded, Step } from "./replay.ts";
import type { LiveToolSession } from "./tool-session.ts";

/**
 * A type whose fields can be set one by one. Spreading optional fields is slow on Bun, and every
 * question is built here.
 */
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** An answer, and the id of its question. */
export interface QuestionAnswer {
  readonly requestId: string;
  readonly response: ClientAnswer;
  /** How the answer reached the server. Default: from the client. */
  readonly via?: AnswerVia | SampleVia | undefined;
  /** The id of the person who signed in to answer. Undefined for other answers. */
  readonly by?: string | undefined;
  /** Present if the question could not be shown to a person. */
  readonly closed?: true;
}

export class Questions {
  readonly #session: LiveToolSession;
  #pending: Pending | undefined;

  constructor(session: LiveToolSession) {
    this.#session = session;
  }

  /** True while at least one question waits for an answer. */
  get unsettled(): boolean {
    if (this.#pending !== undefined && this.#pending.open.size > 0) return true;
    return (this.#session.replay?.unasked().length ?? 0) > 0;
  }

  /**
   * When the next open question times out. Infinity if no open question has a timeout, undefined if
   * none is open.
   */
  get nextExpiry(): number | undefined {
    let next: number | undefined;
    const wait = ({ expiresAt = Infinity }: ToolSessionRequest) => {
      next = Math.min(next ?? Infinity, expiresAt);
    };
    for (const { request, answered } of this.#pending?.open.values() ?? []) {
      if (!answered) wait(request);
    }
    this.#session.replay?.unasked().forEach(wait);
    return next;
  }

  /**
   * Returns the open questions, oldest first, including those that a replay has not reached yet.
   */
  open(): ToolSessionRequest[] {
    const requests = this.#session.replay?.unasked() ?? [];
    for (const open of this.#pending?.open.values() ?? []) {
      if (open.put && !open.answered) requests.push(open.request);
    }
    return requests;
  }

  /** Returns when an open question was asked, in milliseconds since the epoch, if it is known. */
  askedAt(requestId: string): number | undefined {
    return this.#pending?.open.get(requestId)?.askedAt;
  }

  /**
   * False while a question is still being recorded, so that no client has received it. True
   * otherwise.
   */
  isSent(requestId: string): boolean {
    return this.#pending?.open.get(requestId)?.put ?? true;
  }

  /** Returns the question that was sent with this name, whether or not it is open. */
  named(name: string): ToolSessionRequest | undefined {
    for (const { request } of this.#pending?.open.values() ?? []) {
      if (request.name === name) return request;
    }
    return this.#session.log.findLast((event) => "name" in event && event.name === name) as
      | ToolSessionRequest
      | undefined;
  }

  /** Sends the question, or finds its recorded outcome. Only `AskEffect` calls this. */
  enter(asking: AskEffect): () => void {
    const session = this.#session;
    const { question } = asking;
    if (session.halting) {
      asking.reject(new SessionHaltedError(session.id, `ask "${question.key}"`));
      return nothing;
    }
    const before = session.replay?.take(question.place);
    if (before && "asked" in before) {
      session.diverged(before);
      return nothing;
    }
    if (before?.outcome) {
      const { lsn, recorded } = before.outcome;
      return session.replay!.await({ lsn }, () => {
        try {
          asking.resolve(this.#replyOf(before, recorded));
        } catch (error) {
          asking.reject(error);
        }
      });
    }
    if (before?.withdrawn) return nothing;
    return this.#put(asking, before);
  }

  /**
   * Records several answers, and delivers none of them before all are recorded (QUESTION-2).
   * If one contradicts a recorded answer, none is accepted (QUESTION-3).
   */
  respond(answers: readonly QuestionAnswer[], ended: boolean): AnswerOutcome[] {
    const outcomes: AnswerOutcome[] = [];
    const taken: QuestionAnswer[] = [];
    for (const answer of answers) {
      const outcome = this.#outcomeOf(answer, ended);
      outcomes.push(outcome);
      if (outcome === "accepted") taken.push(answer);
    }
    if (outcomes.includes("conflicting")) return outcomes;
    // Do this before anything changes: if it throws, because an answer cannot be serialised, all
    // questions stay open.
    const bodies: AnswerBody[] = [];
    for (const answer of taken) {
      const open = this.#pending?.open.get(answer.requestId);
      const request = open?.request ?? this.#session.replay!.unaskedRequest(answer.requestId)!;
      bodies.push(this.#answerBody(request, answer, open?.askedAt));
    }
    const { answered } = this.#session.hooks;
    if (answered) {
      for (const body of bodies) {
        const request = this.#pending?.open.get(body.requestId)?.request ??
          this.#session.replay!.unaskedRequest(body.requestId)!;
        answered(this.#session, request, body);
      }
    }
    for (const { requestId } of taken) {
      const open = this.#pending?.open.get(requestId);
      if (open) {
        open.answered = true;
        open.deadline?.cancel();
      } else this.#session.replay!.expectAnswer(requestId);
    }
    const last = bodies.at(-1);
    for (const body of bodies) {
      const then = body === last ? () => this.#deliver(taken, bodies) : undefined;
      this.#session.log.append(body, then);
    }
    return outcomes;
  }

  /** Withdraws all open questions, because the run is over. */
  withdrawAll(): void {
    for (const id of this.#pending?.open.keys() ?? []) this.#withdraw(id, "halted");
  }

  /** Sends a question, or continues to wait for a recorded question (QUESTION-4). */
  #put(asking: AskEffect, before: Step | undefined): () => void {
    const { id, durable, log, deadlines, replay } = this.#session;
    const { question, timeout } = asking;
    const pending = this.#pending ??= new Pending(replay?.lastSeq, replay?.names);
    const expiresAt = before?.request
      ? before.request.expiresAt
      : timeout === undefined
      ? undefined
      : deadlines.now() + timeout;
    asking.askedAt = deadlines.now();
    const request = asking.request = before?.request ??
      pending.number(id, question, expiresAt, durable ? asking.askedAt : undefined);
    let preset = before ? undefined : this.#session.presets?.get(request.name);
    if (preset !== undefined && !isForClient(request)) preset = undefined;
    // Set this before the event is appended. Otherwise a reader would treat an answered question as
    // open.
    asking.answered = preset !== undefined || before?.answering === true;
    if (expiresAt !== undefined && !asking.answered) {
      asking.deadline = deadlines.add(Math.max(0, expiresAt - deadlines.now()), () => {
        this.#withdraw(request.id, "timeout", () => asking.resolve({ type: "timeout" }));
      });
    }
    // QUESTION-1: register the question first.
    pending.open.set(request.id, asking);
    if (before) {
      asking.put = true;
      // There is no event for a question that is open again, so wake the readers.
      log.stir();
    } else {
      log.append(request, () => asking.put = true);
      this.#session.hooks.asked?.(this.#session, request, false);
    }
    this.#session.changed();
    if (preset !== undefined) {
      this.#session.presets!.delete(request.name);
      asking.answered = false;
      this.respond([{ requestId: request.id, response: preset }], false);
    }
    return () => this.#withdraw(request.id, "halted");
  }

  #deliver(answers: readonly QuestionAnswer[], bodies: readonly AnswerBody[]): void {
    for (let i = 0; i < answers.length; i++) {
      const { requestId, response } = answers[i]!;
      const body = bodies[i]!;
      // The tool may have withdrawn this question after it received the previous answer.
      const open = this.#pending?.open.get(requestId);
      if (!open) {
        this.#session.replay?.answered(requestId, response, howOf(body));
        continue;
      }
      this.#pending!.open.delete(requestId);
      this.#session.changed();
      const reply: Writable<Extract<Reply, { type: "answered" }>> = {
        type: "answered",
        requestId,
        response,
      };
      if (body.via !== undefined) reply.via = body.via;
      if (body.elapsed !== undefined) reply.elapsed = body.elapsed;
      if (body.closed) reply.closed = body.closed;
      open.resolve(reply);
    }
  }

  #outcomeOf({ requestId, response }: QuestionAnswer, ended: boolean): AnswerOutcome {
    const open = this.#pending?.open.get(requestId);
    if (open && !open.answered) return "accepted";
    const { id, log, replay } = this.#session;
    if (!open && !ended && replay?.unaskedRequest(requestId)) return "accepted";
    const closing = log.findLast((event) =>
      (event.type === "answer" || event.type === "withdrawn") && event.requestId === requestId
    );
    if (closing?.type === "withdrawn") return ended ? "ended" : "withdrawn";
    if (closing?.type === "answer") {
      return sameAnswer(closing, response) ? "repeated" : "conflicting";
    }
    // The log no longer contains the first answer, so assume that this one is the same.
    if (this.#pending?.wasAsked(id, requestId)) return "repeated";
    return ended ? "ended" : "unknown";
  }

  #answerBody(
    request: ToolSessionRequest,
    { response, via, by, closed }: QuestionAnswer,
    askedAt: number | undefined,
  ): AnswerBody {
    const body: Writable<AnswerBody> = { type: "answer", requestId: request.id, response };
    this.#addHow(body, request, via, askedAt);
    if (by !== undefined) body.by = by;
    if (closed) body.closed = closed;
    const sensitive = request.type === "elicit_request" ? request.sensitive : undefined;
    if (!sensitive || !isAccepted(response)) return body;
    const { sealer } = this.#session;
    body.response = { ...response, content: mask(response.content, sensitive) };
    if (sealer) body.sealed = sealer.seal(JSON.stringify(response.content), request.id);
    return body;
  }

  /**
   * Adds how an answer reached the server, how long it took, and whether the client showed the
   * question to a person.
   */
  #addHow(
    body: Writable<AnswerBody>,
    request: ToolSessionRequest,
    given: QuestionAnswer["via"],
    since: number | undefined,
  ): void {
    if (request.type === "roots_request") return;
    const via = body.via = given ?? (request.type === "sample_request" ? "client" : "form");
    const askedAt = ("askedAt" in request ? request.askedAt : undefined) ?? since;
    if (askedAt === undefined) return;
    const elapsed = body.elapsed = Math.max(0, this.#session.deadlines.now() - askedAt);
    const isUnseen = via === "form" && request.type === "elicit_request" &&
      request.params.mode === "form" &&
      this.#session.site.doors.isUnseen(this.#session, request, body.response, elapsed);
    if (isUnseen) body.closed = true;
  }

  /** Returns the recorded reply, with sealed answers decrypted. */
  #replyOf({ request }: Step, recorded: Recorded): Reply {
    if (recorded.type !== "answered") return { type: "timeout" };
    const { response, sealed } = recorded;
    const requestId = request!.id;
    const how = howOf(recorded);
    if (sealed === undefined) return { type: "answered", requestId, response, ...how };
    const content = this.#session.sealer?.open(sealed, requestId);
    if (content === undefined) {
      throw new Error(
        `Cannot read the answer to "${
          request!.name
        }" from the record: it is sealed with another key; add the former key to the server`,
      );
    }
    return {
      type: "answered",
      requestId,
      response: { ...response as ElicitResponse, content: JSON.parse(content) },
      ...how,
    };
  }

  #withdraw(requestId: string, reason: WithdrawalReason, then?: () => void): void {
    const open = this.#pending!.open.get(requestId);
    if (!open) return;
    this.#pending!.open.delete(requestId);
    open.deadline?.cancel();
    const { suspending, lost, log } = this.#session;
    if (suspending) return;
    // If an answer is being recorded, the question counts as answered, and the tool no longer needs
    // the answer. If the journal has failed, the question was never sent.
    if (!open.answered && lost === undefined) {
      log.append({ type: "withdrawn", requestId, reason }, then);
      if (reason === "timeout") this.#session.hooks.asked?.(this.#session, open.request, true);
    }
    this.#session.changed();
  }
}

type Settle = (result: { ok: true; value: Reply } | { ok: false; error: unknown }) => void;

/**
 * One question: the operation that asks it, the effect of that operation, and the entry in the list
 * of open questions. They are one object to save memory, because every parked call keeps one. An
 * `action` would need a dozen objects.
 */
export class AskEffect implements OpenRequest {
  request!: ToolSessionRequest;
  deadline?: Deadline;
  put = false;
  answered = false;
  askedAt = 0;
  #settle: Settle | undefined;
  #stage: "fresh" | "begun" | "entered" = "fresh";

  constructor(
    readonly questions: Questions,
    readonly question: PlacedQuestion,
    readonly timeout: number | undefined,
  ) {}

  get description(): string {
    return `ask "${this.question.key}"`;
  }

  [Symbol.iterator](): AskEffect {
    if (this.#stage !== "fresh") {
      return new AskEffect(this.questions, this.question, this.timeout)[Symbol.iterator]();
    }
    this.#stage = "begun";
    return this;
  }

  next(reply?: Reply): IteratorResult<AskEffect, Reply> {
    if (this.#stage === "entered") return { done: true, value: reply! };
    this.#stage = "entered";
    return { done: false, value: this };
  }

  throw(error: unknown): never {
    throw error;
  }

  /** Effection calls this to enter the effect, and calls the returned function to leave it. */
  enter(settle: Settle): (left: (result: { ok: boolean; error?: unknown }) => void) => void {
    this.#settle = settle;
    const leave = this.questions.enter(this);
    return (left) => {
      try {
        leave();
      } catch (error) {
        return left({ ok: false, error });
      }
      left({ ok: true });
    };
  }

  resolve(reply: Reply): void {
    this.#settle!({ ok: true, value: reply });
  }

  reject(error: unknown): void {
    this.#settle!({ ok: false, error });
  }
}

const nothing = () => {};

/**
 * True if the client may answer a question. False if the question is asked at another door than the
 * client's form, or if the model that called the tool is asked.
 */
function isForClient(request: ToolSessionRequest): boolean {
  switch (request.type) {
    case "elicit_request":
      return request.door === undefined || request.door === "form";
    case "sample_request":
      return request.by !== "caller";
    case "roots_request":
      return true;
  }
}

function isAccepted(response: ClientAnswer): response is ElicitResponse & { content: JsonObject } {
  return typeof response === "object" && response !== null && "content" in response &&
    "action" in response && response.content !== undefined;
}

/**
 * Returns true if an answer equals the recorded answer. A field that is masked in the record counts
 * as equal.
 */
export function sameAnswer(recorded: AnswerBody, response: ClientAnswer): boolean {
  return same(recorded.response, response);
}

function same(recorded: unknown, given: unknown): boolean {
  if (Object.is(recorded, given) || recorded === MASK) return true;
  if (typeof recorded !== "object" || typeof given !== "object") return false;
  if (recorded === null || given === null) return false;
  if (Array.isArray(recorded) !== Array.isArray(given)) return false;
  const keys = Object.keys(recorded);
  if (keys.length !== Object.keys(given).length) return false;
  return keys.every((key) =>
    Object.hasOwn(given, key) &&
    same((recorded as Record<string, unknown>)[key], (given as Record<string, unknown>)[key])
  );
}

export interface OpenRequest {
  readonly request: ToolSessionRequest;
  resolve(reply: Reply): void;
  deadline?: Deadline;
  /** True if the question is recorded, and may be shown to the client. */
  put?: boolean;
  /** True if an answer is being recorded. A second answer is not accepted. */
  answered?: boolean;
  /** Milliseconds since the epoch. */
  askedAt: number;
}

/**
 * On Bun, a copy of this object has room for six fields. An object with five needs a second block
 * of memory for a sixth, such as its LSN, for as long as the call waits.
 */
const ROOMY = {};

export class Pending {
  readonly open = new Map<string, OpenRequest>();
  #asked: number;
  #names: Set<string> | undefined;
  #firstName: string | undefined;

  /**
   * `asked` and `names` come from an earlier run of the session, so that numbers and names are not
   * reused.
   */
  constructor(asked = 0, names?: ReadonlySet<string>) {
    this.#asked = asked;
    if (names && names.size > 0) {
      this.#names = new Set(names);
      [this.#firstName] = names;
    }
  }

  /** Assigns an id and a name to a question. */
  number(
    sessionId: string,
    question: PlacedQuestion,
    expiresAt?: number,
    askedAt?: number,
  ): ToolSessionRequest {
    const { kind, key, place } = question;
    const seq = ++this.#asked;
    const name = this.#name(key);
    switch (kind) {
      case "elicit":
      case "elicit_url": {
        const request: Writable<ElicitRequest> = {
          ...ROOMY,
          type: "elicit_request",
          id: `elicit_${sessionId}_${seq}`,
          name,
          place,
          params: question.params,
        };
        if (kind === "elicit") {
          const { sensitive, door, moved } = question;
          if (sensitive) request.sensitive = sensitive;
          if (door) request.door = door;
          if (moved) request.moved = moved;
        }
        if (askedAt !== undefined) request.askedAt = askedAt;
        if (expiresAt !== undefined) request.expiresAt = expiresAt;
        return request;
      }
      case "sample":
        return {
          type: "sample_request",
          id: `sample_${sessionId}_${seq}`,
          name,
          place,
          params: question.params,
          ...(question.by && { by: question.by }),
          ...(expiresAt !== undefined && { expiresAt }),
        };
      case "roots":
        return {
          type: "roots_request",
          id: `roots_${sessionId}_${seq}`,
          name,
          place,
          ...(expiresAt !== undefined && { expiresAt }),
        };
    }
  }

  /** Returns true if a question with this id was ever sent. */
  wasAsked(sessionId: string, requestId: string): boolean {
    const [, seq] = requestId.match(/^(?:elicit|sample|roots)_.*_([1-9]\d*)$/) ?? [];
    return seq !== undefined && Number(seq) <= this.#asked &&
      requestId.slice(requestId.indexOf("_") + 1) === `${sessionId}_${seq}`;
  }

  /** Returns a unique name: the key itself for the first question, then the key with a number. */
  #name(key: string): string {
    // Most runs ask only one question, and need no set.
    if (this.#firstName === undefined) return this.#firstName = key;
    const names = this.#names ??= new Set([this.#firstName]);
    let name = key;
    for (let n = 2; names.has(name); n++) name = `${key}_${n}`;
    names.add(name);
    return name;
  }
}

/**
 * Throws if this server cannot decrypt a recorded answer. This is checked before the run starts:
 * the run would fail for good, although a server with the former key could resume it.
 */
export function checkSeals(session: LiveToolSession, events: readonly ToolSessionEvent[]): void {
  for (const event of events) {
    if (event.type !== "answer" || event.sealed === undefined) continue;
    if (session.sealer?.openBytes(event.sealed, event.requestId) === undefined) {
      throw new SessionSealedError(session.id, session.toolName);
    }
  }
}
