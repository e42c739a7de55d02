/**
 * The log of one session. Events are numbered from 1 without gaps, and each reader reads at its
 * own pace.
 *
 * LOG-1  An event is visible only after it is recorded. Without a journal, it is visible immediately.
 * LOG-2  A reader sees events in order, each once, whenever it joined.
 * LOG-3  The log keeps a bounded number of events. A reader that is too far behind gets an error
 *        instead of a gap. An attached reader that keeps up never falls behind; see pace.ts.
 * LOG-4  Nothing follows the final event.
 */
import { action, ensure, type Operation, type Stream, type Subscription } from "effection";
import type { Deadlines } from "../lib/deadlines.ts";
import { EventsGoneError } from "../model/errors.ts";
import {
  type EventBody,
  isFinal,
  type ToolSessionEvent,
  type ToolSessionOutcome,
  type ToolSessionRequest,
} from "../model/events.ts";
import { estimateSize } from "./estimate-size.ts";
import type { Journal } from "./journal.ts";
import { LogReader, Pace } from "./pace.ts";

export interface LogLimits {
  /** How many events are kept for readers that are behind. */
  readonly maxEvents: number;
  /** How many bytes, roughly, those events may take. */
  readonly maxBytes: number;
}

export class EventLog {
  readonly #session: { readonly id: string } | string;
  readonly #limits: LogLimits;
  #events: ToolSessionEvent[] = [];
  /** How many of `#events`, from the front, are no longer kept. */
  #dropped = 0;
  #bytes = 0;
  /** Bytes of all events that were ever appended, except the final one. */
  #appendedBytes = 0;
  /** The final event, until its size is needed. */
  #unweighed: ToolSessionEvent | undefined;
  #last = 0;
  #visible = 0;
  #closed = false;
  #journal: Journal | undefined;
  /** One watcher, or a set of several: most logs have one at most. */
  #watchers: (() => void) | Set<() => void> | undefined;
  #readers: LogReader[] | undefined;
  /** The LSN after which an expected reader will begin; -1 if none is expected. */
  #awaitedAt = -1;
  #awaitedBytes = 0;
  /** Created when a run first has to wait. */
  #pace: Pace | undefined;
  #recorded: { lsn: number; then: () => void; lost?: () => void }[] | undefined;

  /** Takes the session rather than its id, which is generated on first access. */
  constructor(session: { readonly id: string } | string, limits: LogLimits) {
    this.#session = session;
    this.#limits = limits;
  }

  get #sessionId(): string {
    return typeof this.#session === "string" ? this.#session : this.#session.id;
  }

  /** Continues after the events of an earlier run. */
  restore(events: readonly ToolSessionEvent[]): void {
    this.#events = [...events];
    this.#bytes = this.#appendedBytes = estimateSize(events);
    this.#last = this.#visible = events.at(-1)?.lsn ?? 0;
    this.#closed = events.length > 0 && isFinal(events.at(-1)!);
  }

  /** Attaches a journal. The journal then decides when events become visible (LOG-1). */
  keepIn(journal: Journal): void {
    this.#journal = journal;
  }

  /** The approximate number of bytes of the events in memory. */
  get bytes(): number {
    if (this.#unweighed) {
      this.#bytes += estimateSize(this.#unweighed);
      this.#unweighed = undefined;
    }
    return this.#bytes;
  }

  /** How many bytes, roughly, all events took, including those that are no longer kept. */
  get totalBytes(): number {
    return Math.max(this.bytes, this.#appendedBytes);
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

  /** Appends an event. Calls `then` once it is recorded, before any reader wakes. */
  append(body: EventBody, then?: () => void): void {
    // LOG-4
    if (this.#closed) return;
    const event = { ...body, lsn: this.#last + 1 } as ToolSessionEvent;
    const final = isFinal(body);
    // Most logs hold only a final event, and its size is never needed.
    if (final) this.#unweighed = event;
    else {
      const bytes = estimateSize(event);
      this.#bytes += bytes;
      this.#appendedBytes += bytes;
    }
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

  /** Resolves to whether everything so far could be recorded; undefined if it is recorded. */
  whenRecorded(): Promise<boolean> | undefined {
    if (this.#visible >= this.#last || !this.#journal) return undefined;
    const lsn = this.#last;
    return new Promise((tell) => {
      (this.#recorded ??= []).push({ lsn, then: () => tell(true), lost: () => tell(false) });
    });
  }

  /**
   * The journal is lost. Events that it did not record are removed. Later events reach the
   * readers, and are recorded nowhere.
   */
  abandonJournal(): void {
    const waiting = this.#recorded;
    this.#journal = undefined;
    this.#recorded = undefined;
    this.#closed = false;
    for (const { lost } of waiting ?? []) lost?.();
    while (this.#last > this.#visible) {
      this.#bytes = this.bytes - estimateSize(this.#events.pop());
      this.#last--;
    }
    this.#pace?.changed();
  }

  /** The visible events after an LSN, in order. */
  after(lsn: number): readonly ToolSessionEvent[] {
    if (lsn >= this.#visible) return NONE;
    const first = this.firstLSN;
    if (lsn + 1 < first) throw new EventsGoneError(this.#sessionId, lsn, first);
    const start = this.#dropped + (lsn + 1 - first);
    return this.#events.slice(start, start + this.#visible - lsn);
  }

  /** The visible event after an LSN, if there is one. */
  next(lsn: number): ToolSessionEvent | undefined {
    if (lsn >= this.#visible) return undefined;
    const first = this.firstLSN;
    if (lsn + 1 < first) throw new EventsGoneError(this.#sessionId, lsn, first);
    return this.#events[this.#dropped + (lsn + 1 - first)];
  }

  /** The newest kept event that fits, recorded or not. */
  findLast(fits: (event: ToolSessionEvent) => boolean): ToolSessionEvent | undefined {
    for (let i = this.#events.length - 1; i >= this.#dropped; i--) {
      const event = this.#events[i]!;
      if (fits(event)) return event;
    }
    return undefined;
  }

  /** The recorded questions that were neither answered nor withdrawn. */
  unanswered(): ToolSessionRequest[] {
    const open = new Map<string, ToolSessionRequest>();
    for (const event of this.after(this.firstLSN - 1)) {
      if (event.type === "answer" || event.type === "withdrawn") open.delete(event.requestId);
      else if ("params" in event || event.type === "roots_request") open.set(event.id, event);
    }
    return [...open.values()];
  }

  /** Calls `wake` whenever there is something new. Returns a function that stops it. */
  watch(wake: () => void): () => void {
    // A new function for each call, because the same `wake` may watch twice.
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

  /** Whether anybody watches the log. */
  get watched(): boolean {
    const watchers = this.#watchers;
    return typeof watchers === "object" ? watchers.size > 0 : watchers !== undefined;
  }

  /** A reader is about to read after an LSN. From now on, runs wait for it. */
  awaitReader(lsn: number): void {
    if (this.#closed) return;
    this.#awaitedAt = lsn;
    this.#awaitedBytes = lsn === 0 ? 0 : this.#bytesUpTo(lsn);
  }

  /** The expected reader does not come. */
  expectNobody(): void {
    this.#awaitedAt = -1;
    this.#pace?.changed();
  }

  /** Attaches a reader that has everything up to an LSN. From now on, runs wait for it. */
  attach(lsn: number): LogReader {
    this.#awaitedAt = -1;
    const reader = new LogReader(this, lsn, lsn === 0 ? 0 : this.#bytesUpTo(lsn));
    if (this.#readers) this.#readers.push(reader);
    else this.#readers = [reader];
    this.#pace?.changed();
    return reader;
  }

  /** For `LogReader`. */
  detach(reader: LogReader): void {
    const left = this.#readers?.filter((one) => one !== reader);
    this.#readers = left && left.length > 0 ? left : undefined;
    this.#pace?.changed();
  }

  /** For `LogReader`. */
  taken(reader: LogReader, lsn: number): void {
    // Counts from the nearer end: some readers take one event at a time, others all.
    const isNear = lsn - reader.lsn < this.#last - lsn && reader.lsn + 1 >= this.firstLSN;
    reader.bytes = isNear ? reader.bytes + this.#bytesIn(reader.lsn, lsn) : this.#bytesUpTo(lsn);
    reader.lsn = lsn;
    reader.isBehind = false;
    this.#pace?.renew();
  }

  /** True while a run should wait before it emits more, because of readers or the journal. */
  get isFull(): boolean {
    const { maxEvents, maxBytes } = this.#limits;
    // Most logs stay far below the limits.
    if (this.#last * 2 < maxEvents && this.#appendedBytes * 2 < maxBytes) return false;
    if (this.#journal && this.#isAhead(this.#visible, this.#appendedBytes)) return true;
    if (this.#awaitedAt >= 0 && this.#isAhead(this.#awaitedAt, this.#awaitedBytes)) return true;
    const readers = this.#readers;
    if (!readers) return false;
    for (const { isBehind, lsn, bytes } of readers) {
      if (!isBehind && this.#isAhead(lsn, bytes)) return true;
    }
    return false;
  }

  /** Calls `go` when there may be room. Returns a function that cancels it. */
  whenRoom(deadlines: Deadlines, go: () => void): () => void {
    return (this.#pace ??= new Pace(this, deadlines)).wait(go);
  }

  /** For `Pace`: stops waiting for the readers that do not keep up. */
  giveUpReaders(): void {
    this.#awaitedAt = -1;
    for (const reader of this.#readers ?? NOBODY) {
      if (this.#isAhead(reader.lsn, reader.bytes)) reader.isBehind = true;
    }
  }

  /** Whether half of the limits, or more, comes after a position. */
  #isAhead(lsn: number, bytes: number): boolean {
    const { maxEvents, maxBytes } = this.#limits;
    const events = this.#last - lsn;
    return events > 0 && (events * 2 >= maxEvents || (this.#appendedBytes - bytes) * 2 >= maxBytes);
  }

  #bytesUpTo(lsn: number): number {
    return this.#appendedBytes - this.#bytesIn(lsn, this.#last);
  }

  /** Bytes of the kept events after one LSN up to another. */
  #bytesIn(after: number, upTo: number): number {
    const first = this.firstLSN;
    let bytes = 0;
    for (let lsn = Math.max(after + 1, first); lsn <= upTo; lsn++) {
      const event = this.#events[this.#dropped + lsn - first]!;
      if (event !== this.#unweighed) bytes += estimateSize(event);
    }
    return bytes;
  }

  #show(): void {
    // Readers come first: a reader that keeps up must not lose the start of a large batch (LOG-3).
    this.stir();
    this.#trim();
    this.#pace?.changed();
  }

  /** Wakes the watchers. Without a new event, it tells them that the session has changed. */
  stir(): void {
    const watchers = this.#watchers;
    if (!watchers) return;
    if (typeof watchers === "function") return watchers();
    // Iterates over a copy, because watchers come and go meanwhile.
    for (const watcher of [...watchers]) if (watchers.has(watcher)) watcher();
  }

  #trim(): void {
    const { maxEvents, maxBytes } = this.#limits;
    let kept = this.#events.length - this.#dropped;
    // The last event stays, because it may be the result.
    while (kept > 1 && (kept > maxEvents || this.bytes > maxBytes)) {
      const event = this.#events[this.#dropped]!;
      if (event.lsn >= this.#visible) break;
      this.#bytes -= estimateSize(event);
      this.#dropped++;
      kept--;
    }
    // Copying the array at every drop would make a long stream quadratic.
    if (this.#dropped > 64 && this.#dropped > kept) {
      this.#events = this.#events.slice(this.#dropped);
      this.#dropped = 0;
    }
  }
}

const NONE: readonly ToolSessionEvent[] = [];
const NOBODY: readonly LogReader[] = [];

interface Readable {
  readonly log: EventLog;
  readonly outcome: ToolSessionOutcome | undefined;
  /** A reader has received the outcome. */
  markDelivered(): void;
}

/** The events after an LSN: past ones, then new ones, then the outcome. */
export function readEvents(
  find: () => Operation<Readable>,
  afterLSN: number,
): Stream<ToolSessionEvent, ToolSessionOutcome> {
  return {
    *[Symbol.iterator]() {
      const session = yield* find();
      const place = session.log.attach(afterLSN);
      yield* ensure(() => place.detach());
      return new Reader(session, place);
    },
  };
}

class Reader implements Subscription<ToolSessionEvent, ToolSessionOutcome> {
  constructor(
    readonly session: Readable,
    readonly place: LogReader,
  ) {}

  *next(): Operation<IteratorResult<ToolSessionEvent, ToolSessionOutcome>> {
    const { log } = this.session;
    for (;;) {
      const event = log.next(this.place.lsn);
      if (event) {
        this.place.taken(event.lsn);
        return { done: false, value: event };
      }
      const { outcome } = this.session;
      if (outcome) {
        this.session.markDelivered();
        return { done: true, value: outcome };
      }
      yield* action<void>((resolve) => log.watch(resolve));
    }
  }
}
