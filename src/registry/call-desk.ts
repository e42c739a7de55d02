/**
 * The actions of operators on the calls of a registry: those in memory, and those that only the
 * store has. Loaded on first use.
 */
import { type Operation, until } from "effection";
import type {
  CallDetail,
  CallEvents,
  CallEventWindow,
  CallFilter,
  CallPage,
  CallSummary,
  DryReplay,
  OperatorAnswer,
} from "../model/calls.ts";
import { CallActionError, SessionSetAsideError } from "../model/errors.ts";
import type { AnswerOutcome, ToolSessionEvent } from "../model/events.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import { liveKey, liveSummary, maskedEvent, timesOf } from "./call-view.ts";
import { checkAnswer, findQuestion } from "./operator-answers.ts";
import type { RegistryParts } from "./parts.ts";
import { checkedWindow, recordView, StoredCalls } from "./stored-calls.ts";
import type { LiveToolSessionRegistry } from "./registry.ts";

export class CallDesk {
  readonly #registry: LiveToolSessionRegistry;
  readonly #parts: RegistryParts;
  readonly #finished: ReadonlyMap<string, LiveToolSession>;
  readonly #stored: StoredCalls;

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
      sealer: registry.sealer,
    });
  }

  *list(filter: CallFilter): Operation<CallPage> {
    // CALLS-1: reading the counts makes a call in its first step visible.
    void this.#registry.counts;
    const live = [...this.#parts.live.sessions.values(), ...this.#finished.values()].map(liveKey);
    return yield* this.#stored.list(filter, live, (id) => this.#summary(id));
  }

  *#summary(id: string): Operation<CallSummary | undefined> {
    const session = this.#registry.find(id);
    return session ? liveSummary(session) : yield* this.#stored.summary(id);
  }

  *get(id: string): Operation<CallDetail | undefined> {
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

  *events(id: string, window: CallEventWindow): Operation<CallEvents | undefined> {
    const { from, limit } = checkedWindow(window);
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

  *answer(id: string, question: string, answer: OperatorAnswer): Operation<AnswerOutcome> {
    const session = yield* this.#load(id, "answer");
    if (session.outcome) return "ended";
    const open = session.openRequests();
    const request = findQuestion(id, open, question);
    checkAnswer(id, session.tool, request, answer);
    const outcome = session.respond(request.id, { ...answer }, "operator");
    const secured = this.#registry.secured(session);
    if (secured) yield* until(secured);
    if (session.lost !== undefined) {
      throw new CallActionError(id, "answer", "not_here", "it could not be stored", "try again");
    }
    return outcome;
  }

  *cancel(id: string, reason: string): Operation<boolean> {
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

  *replay(id: string): Operation<DryReplay> {
    const session = this.#registry.find(id);
    if (session && (!session.durable || session.portable)) {
      const problem = "only calls of durable tools have a record in the store";
      return { verdict: "refused", problem, steps: [], next: [] };
    }
    return yield* this.#stored.replay(id);
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
