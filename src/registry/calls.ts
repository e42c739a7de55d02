/**
 * The calls of a registry, for operators: those in memory, and those that only the store has.
 *
 * CALLS-1  There is no second copy of state. Each answer is made from the sessions in memory and from
 *          the store when it is asked for.
 * CALLS-2  While nobody watches, a call costs nothing more: `tell` is called only if `watched` is
 *          true.
 */
import { type Operation, until } from "effection";
import { promised } from "../lib/strand.ts";
import type {
  CallChange,
  CallDetail,
  CallEvents,
  CallEventWindow,
  CallFilter,
  CallPage,
  CallSummary,
  OperatorAnswer,
} from "../model/calls.ts";
import { CallActionError, SessionSetAsideError } from "../model/errors.ts";
import type { AnswerOutcome, ToolSessionEvent } from "../model/events.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { OperatorCalls } from "../session/types.ts";
import { liveKey, liveState, liveSummary, maskedEvent, timesOf } from "./call-view.ts";
import { checkAnswer, findQuestion } from "./operator-answers.ts";
import type { RegistryParts } from "./parts.ts";
import { checkedWindow, recordView, StoredCalls } from "./stored-calls.ts";
import type { LiveToolSessionRegistry } from "./registry.ts";

type Watcher = (session: LiveToolSession) => void;

export class RegistryCalls implements OperatorCalls {
  readonly #registry: LiveToolSessionRegistry;
  readonly #parts: RegistryParts;
  readonly #finished: ReadonlyMap<string, LiveToolSession>;
  readonly #stored: StoredCalls;
  readonly #watchers = new Set<Watcher>();
  /** The functions that end the watches when the registry closes. */
  readonly #ends = new Set<() => void>();
  /** True if somebody watches (CALLS-2). */
  readonly watched: boolean = false;

  constructor(
    registry: LiveToolSessionRegistry,
    parts: RegistryParts,
    finished: ReadonlyMap<string, LiveToolSession>,
  ) {
    this.#registry = registry;
    this.#parts = parts;
    this.#finished = finished;
    this.#stored = new StoredCalls({
      store: parts.store,
      find: (kind, name) => parts.server.find(kind, name),
      now: () => parts.deadlines.now(),
    });
  }

  list(filter: CallFilter = {}): Promise<CallPage> {
    return this.#run(() => this.#list(filter));
  }

  get(id: string): Promise<CallDetail | undefined> {
    return this.#run(() => this.#get(id));
  }

  events(id: string, window: CallEventWindow = {}): Promise<CallEvents | undefined> {
    const { from, limit } = checkedWindow(window);
    return this.#run(() => this.#events(id, from, limit));
  }

  answer(id: string, question: string, answer: OperatorAnswer): Promise<AnswerOutcome> {
    return this.#run(() => this.#answer(id, question, answer));
  }

  cancel(id: string, reason = "cancelled by the operator"): Promise<boolean> {
    return this.#run(() => this.#cancel(id, reason));
  }

  revive(id: string): Promise<boolean> {
    return this.#registry.setAside.revive(id);
  }

  watch(id?: string): AsyncIterableIterator<CallChange, undefined> {
    return new Watch(this, id);
  }

  /** Tells the watchers that a session has changed. Called only if `watched` is true. */
  tell(session: LiveToolSession): void {
    for (const watcher of [...this.#watchers]) watcher(session);
  }

  /** Adds a watcher. Returns a function that removes it. `end` is called when the registry closes. */
  addWatcher(watcher: Watcher, end: () => void): () => void {
    const own: { watched: boolean } = this;
    if (this.#parts.live.isClosed) {
      end();
      return () => {};
    }
    this.#watchers.add(watcher);
    this.#ends.add(end);
    own.watched = true;
    return () => {
      this.#watchers.delete(watcher);
      this.#ends.delete(end);
      own.watched = this.#watchers.size > 0;
    };
  }

  /** Returns a session in memory, also while it leaves memory. */
  find(id: string): LiveToolSession | undefined {
    return this.#registry.find(id);
  }

  /** Ends all watches. */
  close(): void {
    for (const end of [...this.#ends]) end();
  }

  async #run<T>(operation: () => Operation<T>): Promise<T> {
    this.#parts.live.checkOpen();
    return await promised(this.#parts.scope, operation);
  }

  *#list(filter: CallFilter): Operation<CallPage> {
    // CALLS-1. Reading the counts makes a call in its first step visible.
    void this.#registry.counts;
    const live = [...this.#parts.live.sessions.values(), ...this.#finished.values()].map(liveKey);
    return yield* this.#stored.list(filter, live, (id) => this.#summary(id));
  }

  *#summary(id: string): Operation<CallSummary | undefined> {
    const session = this.#registry.find(id);
    return session ? liveSummary(session) : yield* this.#stored.summary(id);
  }

  *#get(id: string): Operation<CallDetail | undefined> {
    const session = this.#registry.find(id);
    if (!session) return yield* this.#stored.get(id);
    const entry = session.durable ? yield* this.#parts.store.get(id) : null;
    const summary = liveSummary(session);
    const { log, outcome, createdAt } = session;
    const events = log.after(log.firstLSN - 1);
    const end = outcome ? session.updatedAt : this.#parts.deadlines.now();
    return {
      ...summary,
      ...(entry && recordView(entry)),
      firstLSN: log.firstLSN,
      ...timesOf(events, summary.questions, createdAt, end),
      ...(outcome && { outcome }),
    };
  }

  *#events(id: string, from: number, limit: number): Operation<CallEvents | undefined> {
    const session = this.#registry.find(id);
    if (!session) return yield* this.#stored.events(id, { from, limit });
    const { log } = session;
    if (from < log.firstLSN && session.durable && !session.portable) {
      // The log in memory keeps only the last events. The record has all of them.
      const window = yield* this.#parts.store.read(id, from - 1, limit);
      if (window.length > 0) return windowOf(window.slice(0, limit), 1, log.lastLSN);
    }
    const first = Math.max(from, log.firstLSN);
    return windowOf(log.after(first - 1).slice(0, limit), log.firstLSN, log.lastLSN);
  }

  *#answer(id: string, question: string, answer: OperatorAnswer): Operation<AnswerOutcome> {
    const session = yield* this.#load(id, "answer");
    if (session.outcome) return "ended";
    const open = session.openRequests();
    const request = findQuestion(id, open, question);
    checkAnswer(id, session.tool, request, answer);
    const outcome = session.respond(request.id, { ...answer }, "operator");
    const secured = this.#registry.secured(session);
    if (secured && !(yield* until(secured))) {
      throw new CallActionError(id, "answer", "not_here", "it could not be stored", "try again");
    }
    return outcome;
  }

  *#cancel(id: string, reason: string): Operation<boolean> {
    let session: LiveToolSession;
    try {
      session = yield* this.#load(id, "cancel");
    } catch (error) {
      // Nothing runs that would have to clean up, so the record can end here.
      const isStored = error instanceof SessionSetAsideError ||
        error instanceof CallActionError && error.reason === "not_here";
      if (isStored) return yield* this.#stored.cancel(id, reason);
      throw error;
    }
    if (session.outcome) return false;
    session.halt(reason);
    yield* session.cancel(reason);
    return true;
  }

  /** Returns a session, and resumes it if only the store has it. */
  *#load(id: string, verb: string): Operation<LiveToolSession> {
    const found = this.#registry.lookup(id, 0, false);
    const session = found instanceof Promise ? yield* until(found) : found;
    if (session) return session;
    const entry = yield* this.#parts.store.get(id);
    throw entry
      ? new CallActionError(
        id,
        verb,
        "not_here",
        `this server does not have ${entry.toolName}`,
        "start a server that has it",
      )
      : new CallActionError(id, verb, "not_found", "there is no such call", "list the calls");
  }
}

function windowOf(
  events: readonly ToolSessionEvent[],
  firstLSN: number,
  lastLSN: number,
): CallEvents {
  return { events: events.map(maskedEvent), firstLSN, lastLSN };
}

/**
 * The changes of one call, or of all. A reader that is slow gets only the last change of each call.
 * The watch ends with `return`, or when the registry closes.
 */
class Watch implements AsyncIterableIterator<CallChange, undefined> {
  readonly #calls: RegistryCalls;
  readonly #id: string | undefined;
  /** The sessions that have changed since the last `next`, by id. */
  readonly #changed = new Map<string, LiveToolSession>();
  readonly #stop: (() => void) | undefined;
  /** The session whose log is watched. Only for a watch of one call. */
  #session: LiveToolSession | undefined;
  #unwatch: (() => void) | undefined;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(calls: RegistryCalls, id: string | undefined) {
    this.#calls = calls;
    this.#id = id;
    this.#stop = calls.addWatcher((session) => this.#see(session), () => this.#end());
    const session = id === undefined ? undefined : calls.find(id);
    if (session) this.#follow(session);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<CallChange, undefined>> {
    while (!this.#isOver && this.#changed.size === 0) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    const [first] = this.#changed.values();
    if (this.#isOver || !first) return { done: true, value: undefined };
    this.#changed.delete(first.id);
    const { id, toolName: tool, log: { lastLSN } } = first;
    return { done: false, value: { id, tool, state: liveState(first), lastLSN } };
  }

  return(): Promise<IteratorResult<CallChange, undefined>> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  #see(session: LiveToolSession): void {
    if (this.#id !== undefined && session.id !== this.#id) return;
    if (this.#id !== undefined) this.#follow(session);
    this.#note(session);
  }

  /** Also watches the log of the call, because some events change nothing but the log. */
  #follow(session: LiveToolSession): void {
    if (this.#session === session) return;
    this.#unwatch?.();
    this.#session = session;
    this.#unwatch = session.log.watch(() => this.#note(session));
  }

  #note(session: LiveToolSession): void {
    this.#changed.set(session.id, session);
    this.#wake?.();
    this.#wake = undefined;
  }

  #end(): void {
    this.#isOver = true;
    this.#stop?.();
    this.#unwatch?.();
    this.#session = undefined;
    this.#changed.clear();
    this.#wake?.();
  }
}
