/**
 * The log of one session: numbered from 1 without gaps, read by anyone at their
 * own pace.
 *
 * L1  An event is visible only once it is recorded; without a journal that is at once.
 * L2  A reader sees events in order, each once, whenever it joined.
 * L3  What is kept is bounded. A reader that is too far behind is told, not fed a gap.
 * L4  Nothing follows the final event.
 */
import { EventsGone } from "../errors.ts";
import {
  type EventBody,
  isFinal,
  type ToolSessionEvent,
  type ToolSessionRequest,
} from "../events.ts";
import type { Journal } from "./journal.ts";
import { weigh } from "./weigh.ts";

export interface LogLimits {
  /** Events that are kept for readers that are behind. */
  readonly maxEvents: number;
  /** Bytes, roughly, that those events may take. */
  readonly maxBytes: number;
}

export class EventLog {
  readonly #session: { readonly id: string } | string;
  readonly #limits: LogLimits;
  #events: ToolSessionEvent[] = [];
  /** How many of `#events`, from the front, are no longer kept. */
  #dropped = 0;
  #bytes = 0;
  /** The final event, as long as nobody has asked how much it weighs. */
  #unweighed: ToolSessionEvent | undefined;
  #last = 0;
  #visible = 0;
  #closed = false;
  #journal: Journal | undefined;
  /** Most logs are never watched by more than one. */
  #watchers: (() => void) | Set<() => void> | undefined;
  #recorded: { lsn: number; then: () => void; lost?: () => void }[] | undefined;

  /** Whose log it is: a session has an id of its own only once somebody asks for it. */
  constructor(session: { readonly id: string } | string, limits: LogLimits) {
    this.#session = session;
    this.#limits = limits;
  }

  get #sessionId(): string {
    return typeof this.#session === "string" ? this.#session : this.#session.id;
  }

  /** Goes on after events that an earlier run has left. */
  restore(events: readonly ToolSessionEvent[]): void {
    this.#events = [...events];
    this.#bytes = weigh(events);
    this.#last = this.#visible = events.at(-1)?.lsn ?? 0;
    this.#closed = events.length > 0 && isFinal(events.at(-1)!);
  }

  /** From here on, events become visible when the journal says so. */
  keepIn(journal: Journal): void {
    this.#journal = journal;
  }

  /** Roughly how much memory the kept events take. */
  get bytes(): number {
    if (this.#unweighed) {
      this.#bytes += weigh(this.#unweighed);
      this.#unweighed = undefined;
    }
    return this.#bytes;
  }

  /** The LSN of the last event that readers can see. */
  get lastLSN(): number {
    return this.#visible;
  }

  /** The LSN of the first event that is still kept. */
  get firstLSN(): number {
    return this.#last - (this.#events.length - this.#dropped) + 1;
  }

  /** True once the final event has been appended. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Numbers an event. `then` is called when it is recorded, before any reader wakes. */
  append(body: EventBody, then?: () => void): void {
    if (this.#closed) return;
    const event = { ...body, lsn: this.#last + 1 } as ToolSessionEvent;
    const final = isFinal(body);
    // Most logs hold nothing else, and then nobody ever asks.
    if (final) this.#unweighed = event;
    else this.#bytes += weigh(event);
    this.#last++;
    this.#closed = final;
    this.#events.push(event);
    if (this.#journal) {
      if (then) (this.#recorded ??= []).push({ lsn: event.lsn, then });
      this.#journal.write(event);
    } else {
      this.#visible = event.lsn;
      then?.();
      this.#show();
    }
  }

  /** For the journal: everything up to this LSN is recorded. */
  recorded(lsn: number): void {
    this.#visible = lsn;
    const waiting = this.#recorded;
    while (waiting && waiting.length > 0 && waiting[0]!.lsn <= lsn) waiting.shift()!.then();
    this.#show();
  }

  /** Waits until it is known whether everything so far is recorded; undefined if it is. */
  whenRecorded(): Promise<boolean> | undefined {
    if (this.#visible >= this.#last || !this.#journal) return undefined;
    const lsn = this.#last;
    return new Promise((tell) => {
      (this.#recorded ??= []).push({ lsn, then: () => tell(true), lost: () => tell(false) });
    });
  }

  /**
   * The journal is lost. What it did not record has never happened, and whatever
   * is appended from now on is told to those who listen, and kept nowhere.
   */
  abandonJournal(): void {
    const waiting = this.#recorded;
    this.#journal = undefined;
    this.#recorded = undefined;
    this.#closed = false;
    for (const { lost } of waiting ?? []) lost?.();
    while (this.#last > this.#visible) {
      this.#bytes = this.bytes - weigh(this.#events.pop());
      this.#last--;
    }
  }

  /** The visible events after an LSN, in order. */
  after(lsn: number): readonly ToolSessionEvent[] {
    if (lsn >= this.#visible) return NONE;
    const first = this.firstLSN;
    if (lsn + 1 < first) throw new EventsGone(this.#sessionId, lsn, first);
    const start = this.#dropped + (lsn + 1 - first);
    return this.#events.slice(start, start + this.#visible - lsn);
  }

  /** The visible event after an LSN, if there is one. */
  next(lsn: number): ToolSessionEvent | undefined {
    if (lsn >= this.#visible) return undefined;
    const first = this.firstLSN;
    if (lsn + 1 < first) throw new EventsGone(this.#sessionId, lsn, first);
    return this.#events[this.#dropped + (lsn + 1 - first)];
  }

  /** The newest event that is still kept and fits, whether it is recorded yet or not. */
  findLast(fits: (event: ToolSessionEvent) => boolean): ToolSessionEvent | undefined {
    for (let i = this.#events.length - 1; i >= this.#dropped; i--) {
      const event = this.#events[i]!;
      if (fits(event)) return event;
    }
    return undefined;
  }

  /** The questions on record that were neither answered nor withdrawn. */
  unanswered(): ToolSessionRequest[] {
    const open = new Map<string, ToolSessionRequest>();
    for (const event of this.after(this.firstLSN - 1)) {
      if (event.type === "answer" || event.type === "withdrawn") open.delete(event.requestId);
      else if ("params" in event || event.type === "roots_request") open.set(event.id, event);
    }
    return [...open.values()];
  }

  /** Calls `wake` whenever there is something new, until the function that comes back is called. */
  watch(wake: () => void): () => void {
    // A function of its own for each watch: the same one may watch twice.
    const watcher = () => wake();
    const watchers = this.#watchers;
    if (watchers === undefined) this.#watchers = watcher;
    else if (typeof watchers === "function") this.#watchers = new Set([watchers, watcher]);
    else watchers.add(watcher);
    return () => {
      if (this.#watchers === watcher) this.#watchers = undefined;
      else if (typeof this.#watchers === "object") this.#watchers.delete(watcher);
    };
  }

  /** Whether anybody waits for what comes. */
  get watched(): boolean {
    const watchers = this.#watchers;
    return typeof watchers === "object" ? watchers.size > 0 : watchers !== undefined;
  }

  /** Wakes whoever watches: there is news of the session, though nothing was appended. */
  stir(): void {
    this.#wake();
  }

  #show(): void {
    // Readers first: one that keeps up must not lose the front of a large batch.
    this.#wake();
    this.#trim();
  }

  #wake(): void {
    const watchers = this.#watchers;
    if (!watchers) return;
    if (typeof watchers === "function") return watchers();
    // Over a copy, because watchers come and go meanwhile; those that went stay asleep.
    for (const watcher of [...watchers]) if (watchers.has(watcher)) watcher();
  }

  #trim(): void {
    const { maxEvents, maxBytes } = this.#limits;
    let kept = this.#events.length - this.#dropped;
    // The last event always stays: it may be the result.
    while (kept > 1 && (kept > maxEvents || this.bytes > maxBytes)) {
      const event = this.#events[this.#dropped]!;
      if (event.lsn >= this.#visible) break;
      this.#bytes -= weigh(event);
      this.#dropped++;
      kept--;
    }
    // Moving the array at every drop would make a long stream quadratic.
    if (this.#dropped > 64 && this.#dropped > kept) {
      this.#events = this.#events.slice(this.#dropped);
      this.#dropped = 0;
    }
  }
}

const NONE: readonly ToolSessionEvent[] = [];
