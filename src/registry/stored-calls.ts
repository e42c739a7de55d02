/**
 * The calls in a store, as operators see them. A server uses this for calls that are not in memory.
 * Without a server, an operator can also answer, cancel and revive them: the change is written to
 * the record, and the next server that opens the store continues the call.
 */
import { action, type Operation, until } from "effection";
import { mask } from "../ask/mask.ts";
import type { Sealer } from "../lib/sealer.ts";
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
import { CallActionError } from "../model/errors.ts";
import type { AnswerBody, AnswerOutcome, EventBody, ToolSessionEvent } from "../model/events.ts";
import { outcomeIn } from "../session/ending.ts";
import type { StoredSession, ToolSessionEntry, ToolSessionStore } from "../store/types.ts";
import type { Definition } from "../tool/types.ts";
import {
  type CallKey,
  type LogState,
  logState,
  maskedEvent,
  storedKey,
  storedSummary,
  timesOf,
} from "./call-view.ts";
import { CallList } from "./call-list.ts";
import { checkAnswer, findQuestion } from "./operator-answers.ts";
import { metaOf } from "./records.ts";
import { reviveRecord } from "./recovery.ts";

/** How many sessions one query of the store returns. Other work runs between two queries. */
const PAGE = 500;
/** The number of events at the end of a log that are read for a list. */
const TAIL = 200;
/** How many events one query returns while a long log is read. */
const EVENTS = 1_000;
/** Milliseconds for which the record of a changed call is kept at least. */
const KEPT = 7 * 24 * 60 * 60_000;

export interface StoredCallsOptions {
  readonly store: ToolSessionStore;
  /** Finds the definition of a stored call. */
  readonly find: (kind: Definition["kind"], name: string) => Definition | undefined;
  readonly now: () => number;
  /** Seals sensitive answers. Undefined if the key is not known: such answers are refused. */
  readonly sealer?: Sealer | undefined;
}

export class StoredCalls {
  readonly #options: StoredCallsOptions;

  constructor(options: StoredCallsOptions) {
    this.#options = options;
  }

  /**
   * Returns a page of calls. `live` are the calls in memory, and `summary` returns the summary of one
   * call of the page. Other work can run in between.
   */
  *list(
    filter: CallFilter,
    live: readonly CallKey[] = [],
    summary: (id: string) => Operation<CallSummary | undefined> = (id) => this.summary(id),
  ): Operation<CallPage> {
    const { store, now } = this.#options;
    const list = new CallList(filter, now());
    const seen = new Set<string>();
    for (const key of live) {
      seen.add(key.id);
      list.consider(key);
    }
    let after: number | undefined;
    for (;;) {
      const page = store.list ? yield* store.list(PAGE, after) : [];
      if (page.length === 0) break;
      for (const stored of page) {
        if (!seen.has(stored.entry.id)) list.consider(yield* this.#key(stored));
      }
      after = page.at(-1)!.position;
      yield* breath();
    }
    const calls: CallSummary[] = [];
    for (const { id } of list.page) {
      const call = yield* summary(id);
      // The call may have been removed since.
      if (call) calls.push(call);
    }
    const { next, total } = list;
    return { calls, ...(next !== undefined && { next }), total };
  }

  *#key({ entry, last }: StoredSession): Operation<CallKey> {
    if (!last || tellsAll(last)) return storedKey(entry, logState(last ? [last] : []));
    // The end of a long log is enough for a list: if the last question is not in it, the call is
    // running.
    const tail = yield* this.#options.store.read(entry.id, Math.max(0, last.lsn - TAIL));
    return storedKey(entry, logState(tail));
  }

  *summary(id: string): Operation<CallSummary | undefined> {
    const entry = yield* this.#options.store.get(id);
    if (!entry) return undefined;
    let lastLSN = 0;
    const log = yield* this.#state(id, (event) => lastLSN = event.lsn);
    return storedSummary(entry, log, lastLSN, this.#find(entry));
  }

  *get(id: string): Operation<CallDetail | undefined> {
    const entry = yield* this.#options.store.get(id);
    if (!entry) return undefined;
    const events: ToolSessionEvent[] = [];
    const log = yield* this.#state(id, (event) => events.push(event));
    const summary = storedSummary(entry, log, events.length, this.#find(entry));
    const outcome = log.final && outcomeIn(log.final);
    const { createdAt } = entry;
    const until = outcome ? undefined : this.#options.now();
    return {
      ...summary,
      ...recordView(entry),
      firstLSN: 1,
      ...timesOf(events, summary.questions, createdAt, until),
      ...(outcome && { outcome }),
    };
  }

  /** Returns a window of the log, or undefined if the store does not have the call. */
  *events(
    id: string,
    window: CallEventWindow,
  ): Operation<CallEvents | undefined> {
    const { store } = this.#options;
    const { from, limit } = checkedWindow(window);
    if (!(yield* store.get(id))) return undefined;
    const events = (yield* store.read(id, from - 1, limit)).slice(0, limit);
    const lastLSN = yield* this.lastLSN(id, events.at(-1)?.lsn ?? 0);
    return { events: events.map(maskedEvent), firstLSN: 1, lastLSN };
  }

  /** Returns the LSN of the last event, which is at least `known`. */
  *lastLSN(id: string, known: number): Operation<number> {
    const { store } = this.#options;
    let step = 1;
    let last = known;
    // Double the step while there are events, then search back, so that a long log is not read.
    while ((yield* store.read(id, last + step - 1, 1)).length > 0) {
      last += step;
      step *= 2;
    }
    while (step > 1) {
      step /= 2;
      if ((yield* store.read(id, last + step - 1, 1)).length > 0) last += step;
    }
    return last;
  }

  /** Records the answer of an operator. The next server that opens the store continues the call. */
  *answer(id: string, question: string, answer: OperatorAnswer): Operation<AnswerOutcome> {
    const entry = yield* this.#entry(id, "answer");
    let lastLSN = 0;
    const log = yield* this.#state(id, (event) => lastLSN = event.lsn);
    if (log.final) return "ended";
    const tool = this.#find(entry);
    const request = findQuestion(id, log.open, question);
    checkAnswer(id, tool, request, answer);
    const { now, sealer } = this.#options;
    const sensitive = request.sensitive ?? [];
    const { content } = answer;
    const isSealed = sensitive.length > 0 && content !== undefined;
    if (isSealed && !sealer) {
      throw new CallActionError(
        id,
        "answer",
        "not_here",
        "the answer is sensitive, and the key of the store is not known",
        "set PARLEY_KEY or restore the key file",
      );
    }
    const body: AnswerBody = {
      type: "answer",
      requestId: request.id,
      response: isSealed ? { ...answer, content: mask(content, sensitive) } : answer,
      ...(isSealed && { sealed: sealer!.seal(JSON.stringify(content), request.id) }),
      via: "operator",
      ...(request.askedAt !== undefined && { elapsed: Math.max(0, now() - request.askedAt) }),
    };
    // A call that is set aside stays set aside.
    const wakeAt = metaOf(entry).setAside ? undefined : 0;
    yield* this.#append(entry, lastLSN, body, wakeAt);
    return "accepted";
  }

  /** Ends a call that does not run. Returns false if it has ended already. */
  *cancel(id: string, reason: string): Operation<boolean> {
    const entry = yield* this.#entry(id, "cancel");
    let lastLSN = 0;
    const log = yield* this.#state(id, (event) => lastLSN = event.lsn);
    if (log.final) return false;
    yield* this.#append(entry, lastLSN, { type: "cancelled", reason, by: "server" }, null);
    return true;
  }

  /** Lets a call that is set aside run again. Returns false if no such call is set aside. */
  *revive(id: string): Operation<boolean> {
    const { store, now } = this.#options;
    const expiresAt = now() + KEPT;
    return (yield* reviveRecord(store, id, now(), expiresAt)) !== undefined;
  }

  /** Runs a call again with the loaded code, without effects. */
  *replay(id: string): Operation<DryReplay> {
    const { store, sealer } = this.#options;
    const entry = yield* this.#entry(id, "replay");
    const definition = this.#find(entry);
    if (!definition) {
      const problem = `this server does not have ${entry.toolName}`;
      return { verdict: "refused", problem, steps: [], next: [] };
    }
    const { client = { capabilities: {} }, principal = "", caller } = metaOf(entry);
    const { dryReplay } = yield* until(import("../session/dry-replay.ts"));
    return yield* dryReplay({
      id,
      definition,
      params: entry.params,
      client,
      principal: caller ?? principal,
      createdAt: entry.createdAt,
      version: entry.toolVersion,
      events: yield* store.read(id),
    }, { sealer });
  }

  *#entry(id: string, verb: string): Operation<ToolSessionEntry> {
    const entry = yield* this.#options.store.get(id);
    if (entry) return entry;
    throw new CallActionError(id, verb, "not_found", "there is no such call", "list the calls");
  }

  *#append(
    entry: ToolSessionEntry,
    afterLSN: number,
    body: EventBody,
    wakeAt: number | null | undefined,
  ): Operation<void> {
    const { store, now } = this.#options;
    const event = { ...body, lsn: afterLSN + 1 } as ToolSessionEvent;
    yield* store.append(entry.id, [event], {
      afterLSN,
      epoch: entry.epoch,
      expiresAt: Math.max(entry.expiresAt ?? 0, now() + KEPT),
      ...(wakeAt !== undefined && { wakeAt }),
    });
  }

  #find(entry: ToolSessionEntry): Definition | undefined {
    return this.#options.find(metaOf(entry).kind ?? "tool", entry.toolName);
  }

  /** Reads a whole log, and calls `see` with each event. Other work can run in between. */
  *#state(id: string, see: (event: ToolSessionEvent) => void = () => {}): Operation<LogState> {
    const events: ToolSessionEvent[] = [];
    for (let last = 0;;) {
      const page = yield* this.#options.store.read(id, last, EVENTS);
      for (const event of page) {
        see(event);
        if (matters(event)) events.push(event);
      }
      if (page.length < EVENTS) return logState(events);
      last = page.at(-1)!.lsn;
      yield* breath();
    }
  }
}

/** Returns a window whose numbers are within the limits. */
export function checkedWindow(
  { from = 1, limit = 100 }: CallEventWindow,
): Required<CallEventWindow> {
  return {
    from: Math.max(1, Math.floor(from)),
    limit: Math.min(EVENTS, Math.max(1, Math.floor(limit))),
  };
}

/** The data in a record that is not in the summary of its call. */
export function recordView(
  entry: ToolSessionEntry,
): Pick<CallDetail, "params" | "toolVersion" | "expiresAt" | "takeovers"> {
  const { params, toolVersion, expiresAt, epoch } = entry;
  return {
    params,
    ...(toolVersion !== undefined && { toolVersion }),
    ...(expiresAt !== undefined && { expiresAt }),
    takeovers: epoch - 1,
  };
}

/** Returns true if the last event alone shows the state of a call. */
function tellsAll(last: ToolSessionEvent): boolean {
  switch (last.type) {
    case "result":
    case "error":
    case "cancelled":
      return true;
    case "elicit_request":
    case "sample_request":
    case "roots_request":
      // If a branch asks, other branches may have open questions too.
      return last.place.branch === "";
    case "begun":
      return last.place.branch === "" && last.place.kind !== "phase";
    default:
      return false;
  }
}

/** Returns true for an event that changes the state of a call. */
function matters({ type }: ToolSessionEvent): boolean {
  return type !== "progress" && type !== "log";
}

/** Lets other work run. */
function breath(): Operation<void> {
  return action<void>((resolve) => {
    const turn = setImmediate(resolve);
    return () => clearImmediate(turn);
  });
}
