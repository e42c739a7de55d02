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
import { type LogReader, Pace } from "./pace.ts";

export interface LogLimits {
  /** How many events are kept for readers that are behind. */
  readonly maxEvents: number;
  /** How many bytes, roughly, those events may take. */
  readonly maxBytes: number;
}

/** The log as its own methods see it. For other code, its fields are read-only. */
type Own = { -readonly [K in keyof EventLog]: EventLog[K] };

export class EventLog {
  readonly #session: { readonly id: string } | string;
  readonly #limits: LogLimits;
  #events: ToolSessionEvent[] = [];
  /** The LSN of the first event that is kept. `#events` may still hold earlier ones. */
  readonly firstLSN: number = 1;
  /** The LSN of the last event that readers can see. */
  readonly lastLSN: number = 0;
  /** True once the final event has been appended. */
  readonly closed: boolean = false;
  #bytes = 0;
  /** Bytes of all events that were ever appended, except the final one. */
  #appendedBytes = 0;
  /** The final event, until its size is needed. */
  #unweighed: ToolSessionEvent | undefined;
  /** The LSN of the last event, recorded or not. */
  #last = 0;
  #journal: Journal | undefined;
  /** One watcher, or a set of several: most logs have one at most. */
  #watchers: (() => void) | Set<() => void> | undefined;
  #readers: LogReader[] | undefined;
  /** The LSN after which an expected reader will begin; -1 if none is expected. */
  #awaitedAt: number;
  #awaitedBytes = 0;
  /** Created when a run first has to wait. */
  #pace: Pace | undefined;
  #recorded: { lsn: number; then: () => void; lost?: () => void }[] | undefined;

  /**
   * Takes the session rather than its id, which is generated on first access. `awaited` means that
   * a reader is about to read from the start.
   */
  constructor(session: { readonly id: string } | string, limits: LogLimits, awaited = false) {
    this.#session = session;
    this.#limits = limits;
    this.#awaitedAt = awaited ? 0 : -1;
  }

  get #sessionId(): string {
    return typeof this.#session === "string" ? this.#session : this.#session.id;
  }

  /** Continues after the events of an earlier run. */
  restore(events: readonly ToolSessionEvent[]): void {
    const own: Own = this;
    this.#events = [...events];
    this.#bytes = this.#appendedBytes = estimateSize(events);
    this.#last = own.lastLSN = events.at(-1)?.lsn ?? 0;
    own.firstLSN = events[0]?.lsn ?? 1;
    own.closed = events.length > 0 && isFinal(events.at(-1)!);
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

  /** Appends an event. Calls `then` once it is recorded, before any reader wakes. */
  append(body: EventBody, then?: () => void): void {
    // LOG-4
    if (this.closed) return;
    const own: Own = this;
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
    own.closed = final;
    this.#events.push(event);
    if (this.#journal) {
      if (then) (this.#recorded ??= []).push({ lsn: event.lsn, then });
      this.#journal.write(event);
    } else {
      own.lastLSN = event.lsn;
      then?.();
      this.#show();
    }
  }

  /** For the journal: everything up to this LSN is recorded. */
  recorded(lsn: number): void {
    (this as Own).lastLSN = lsn;
    const waiting = this.#recorded;
    while (waiting && waiting.length > 0 && waiting[0]!.lsn <= lsn) waiting.shift()!.then();
    this.#show();
  }

  /** Resolves to whether everything so far could be recorded; undefined if it is recorded. */
  whenRecorded(): Promise<boolean> | undefined {
    if (this.lastLSN >= this.#last || !this.#journal) return undefined;
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
    (this as Own).closed = false;
    for (const { lost } of waiting ?? []) lost?.();
    while (this.#last > this.lastLSN) {
      this.#bytes = this.bytes - estimateSize(this.#events.pop());
      this.#last--;
    }
    this.#pace?.changed();
  }

  /** The visible events after an LSN, in order. */
  after(lsn: number): readonly ToolSessionEvent[] {
    if (lsn >= this.lastLSN) return NONE;
    if (lsn + 1 < this.firstLSN) throw new EventsGoneError(this.#sessionId, lsn, this.firstLSN);
    const start = lsn + 1 - this.#events[0]!.lsn;
    return this.#events.slice(start, start + this.lastLSN - lsn);
  }

  /** The visible event after an LSN, if there is one. */
  next(lsn: number): ToolSessionEvent | undefined {
    if (lsn >= this.lastLSN) return undefined;
    if (lsn + 1 < this.firstLSN) throw new EventsGoneError(this.#sessionId, lsn, this.firstLSN);
    return this.#events[lsn + 1 - this.#events[0]!.lsn];
  }

  /** The newest kept event that fits, recorded or not. */
  findLast(fits: (event: ToolSessionEvent) => boolean): ToolSessionEvent | undefined {
    const event = this.#events.findLast(fits);
    return event && event.lsn >= this.firstLSN ? event : undefined;
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
    if (this.closed) return;
    this.#awaitedAt = lsn;
    this.#awaitedBytes = this.#bytesUpTo(lsn);
  }

  /** The expected reader does not come. */
  expectNobody(): void {
    this.#awaitedAt = -1;
    this.#pace?.changed();
  }

  /** Attaches a reader that has everything up to an LSN. From now on, runs wait for it. */
  attach(lsn: number): LogReader {
    this.#awaitedAt = -1;
    const reader = { log: this, lsn, bytes: this.#bytesUpTo(lsn), isBehind: false };
    if (this.#readers) this.#readers.push(reader);
    else this.#readers = [reader];
    this.#pace?.changed();
    return reader;
  }

  /** A reader has stopped reading. */
  detach(reader: LogReader): void {
    const readers = this.#readers;
    const index = readers?.indexOf(reader) ?? -1;
    if (!readers || index < 0) return;
    if (readers.length > 1) readers.splice(index, 1);
    else this.#readers = undefined;
    this.#pace?.changed();
  }

  /** A reader has taken everything up to an LSN. */
  taken(reader: LogReader, lsn: number): void {
    if (lsn === reader.lsn) return;
    reader.bytes = this.#bytesUpTo(lsn, reader);
    reader.lsn = lsn;
    reader.isBehind = false;
    this.#pace?.renew();
  }

  /** True while a run should wait before it emits more, because of readers or the journal. */
  get isFull(): boolean {
    const { maxEvents, maxBytes } = this.#limits;
    // Most logs stay far below the limits.
    if (this.#last * 2 < maxEvents && this.#appendedBytes * 2 < maxBytes) return false;
    if (this.#journal && this.#isAhead(this.lastLSN, this.#appendedBytes)) return true;
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

  /**
   * Bytes of all events up to an LSN. Counts from the end, or from a position that is nearer: some
   * readers take one event at a time, others all.
   */
  #bytesUpTo(lsn: number, from?: LogReader): number {
    if (lsn === 0) return 0;
    const isNear = from !== undefined && lsn - from.lsn < this.#last - lsn &&
      from.lsn + 1 >= this.firstLSN;
    let bytes = isNear ? from.bytes : this.#appendedBytes;
    const after = isNear ? from.lsn : Math.max(lsn, this.firstLSN - 1);
    const upTo = isNear ? lsn : this.#last;
    for (let at = after + 1; at <= upTo; at++) {
      const event = this.#events[at - this.#events[0]!.lsn]!;
      if (event !== this.#unweighed) bytes += isNear ? estimateSize(event) : -estimateSize(event);
    }
    return bytes;
  }

  #show(): void {
    // Readers come first: a reader that keeps up must not lose the start of a large batch (LOG-3).
    if (this.#watchers) this.stir();
    // The last event stays, because it may be the result.
    if (this.#last > this.firstLSN) this.#trim();
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
    const own: Own = this;
    let kept = this.#last - this.firstLSN + 1;
    while (kept > 1 && (kept > maxEvents || this.bytes > maxBytes)) {
      if (this.firstLSN >= this.lastLSN) break;
      this.#bytes -= estimateSize(this.#events[this.#events.length - kept]);
      own.firstLSN++;
      kept--;
    }
    const dropped = this.#events.length - kept;
    // Copying the array at every drop would make a long stream quadratic.
    if (dropped > 64 && dropped > kept) this.#events = this.#events.slice(dropped);
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
      yield* ensure(() => session.log.detach(place));
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
        log.taken(this.place, event.lsn);
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
