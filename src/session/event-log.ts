/**
 * The log of one session. Events are numbered from 1 without gaps (LSN). Each reader has its own
 * position.
 *
 * LOG-1  An event is visible only after it is recorded. Without a journal, it is visible immediately.
 * LOG-2  A reader sees every event once and in order, no matter when it started to read.
 * LOG-3  The log keeps a bounded number of events. A reader that is too far behind gets an error
 *        instead of a gap. This does not happen to an attached reader that keeps up; see `pace.ts`.
 * LOG-4  No event follows the final event.
 */
import type { Deadlines } from "../lib/deadlines.ts";
import { EventsGoneError } from "../model/errors.ts";
import {
  type EventBody,
  isFinal,
  type ToolSessionEvent,
  type ToolSessionRequest,
} from "../model/events.ts";
import { estimateSize } from "./estimate-size.ts";
import type { Journal } from "./journal.ts";
import { type LogReader, Pace } from "./pace.ts";

export interface LogLimits {
  /** The maximum number of events that are kept for readers. */
  readonly maxEvents: number;
  /** The approximate number of bytes that those events may have. */
  readonly maxBytes: number;
}

/** The type of `this` in methods that write fields. For other code, these fields are read-only. */
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
  /** The approximate size of all events that were ever appended, except the final one, in bytes. */
  #appendedBytes = 0;
  /** The final event, as long as its size is not included in `#bytes`. */
  #unweighed: ToolSessionEvent | undefined;
  /** The LSN of the last event, recorded or not. */
  #last = 0;
  #journal: Journal | undefined;
  /** One watcher, or a set of watchers. Most logs have at most one, which needs no set. */
  #watchers: (() => void) | Set<() => void> | undefined;
  #readers: LogReader[] | undefined;
  /** The LSN after which an announced reader will begin to read. -1 if no reader is announced. */
  #awaitedAt: number;
  #awaitedBytes = 0;
  /** Makes runs wait for slow readers. Created when a run has to wait for the first time. */
  #pace: Pace | undefined;
  #recorded: { lsn: number; then: () => void; lost?: () => void }[] | undefined;

  /**
   * The parameter is the session instead of its id, because reading the id would generate it.
   * `awaited` is true if a reader is about to read from the start.
   */
  constructor(session: { readonly id: string } | string, limits: LogLimits, awaited = false) {
    this.#session = session;
    this.#limits = limits;
    this.#awaitedAt = awaited ? 0 : -1;
  }

  get #sessionId(): string {
    return typeof this.#session === "string" ? this.#session : this.#session.id;
  }

  /** Restores the events of an earlier run. New events follow them. */
  restore(events: readonly ToolSessionEvent[]): void {
    const own: Own = this;
    this.#events = [...events];
    this.#bytes = this.#appendedBytes = estimateSize(events);
    this.#last = own.lastLSN = events.at(-1)?.lsn ?? 0;
    own.firstLSN = events[0]?.lsn ?? 1;
    own.closed = events.length > 0 && isFinal(events.at(-1)!);
  }

  /**
   * Attaches a journal. From now on, an event becomes visible when the journal has recorded it
   * (LOG-1).
   */
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

  /** The approximate number of bytes of all events, including those that are no longer kept. */
  get totalBytes(): number {
    return Math.max(this.bytes, this.#appendedBytes);
  }

  /** Appends an event. When the event is recorded, calls `then` before it wakes the readers. */
  append(body: EventBody, then?: () => void): void {
    // LOG-4: drop the event.
    if (this.closed) return;
    const own: Own = this;
    const event = { ...body, lsn: this.#last + 1 } as ToolSessionEvent;
    const final = isFinal(body);
    // Do not estimate the size of a final event yet. Most logs contain only that event, and their
    // size is never needed.
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

  /** Called by the journal when everything up to this LSN is recorded. */
  recorded(lsn: number): void {
    (this as Own).lastLSN = lsn;
    const waiting = this.#recorded;
    while (waiting && waiting.length > 0 && waiting[0]!.lsn <= lsn) waiting.shift()!.then();
    this.#show();
  }

  /**
   * Returns undefined if all events are recorded. Otherwise resolves to true when they are, or to
   * false if they could not be recorded.
   */
  whenRecorded(): Promise<boolean> | undefined {
    if (this.lastLSN >= this.#last || !this.#journal) return undefined;
    const lsn = this.#last;
    return new Promise((tell) => {
      (this.#recorded ??= []).push({ lsn, then: () => tell(true), lost: () => tell(false) });
    });
  }

  /**
   * Detaches a journal that has failed. Events that it did not record are removed. Later events
   * reach the readers, but are not recorded.
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

  /** Returns the visible events after an LSN, in order (LOG-2). */
  after(lsn: number): readonly ToolSessionEvent[] {
    if (lsn >= this.lastLSN) return NONE;
    if (lsn + 1 < this.firstLSN) throw new EventsGoneError(this.#sessionId, lsn, this.firstLSN);
    const start = lsn + 1 - this.#events[0]!.lsn;
    return this.#events.slice(start, start + this.lastLSN - lsn);
  }

  /** Returns the next visible event after an LSN, if there is one. */
  next(lsn: number): ToolSessionEvent | undefined {
    if (lsn >= this.lastLSN) return undefined;
    if (lsn + 1 < this.firstLSN) throw new EventsGoneError(this.#sessionId, lsn, this.firstLSN);
    return this.#events[lsn + 1 - this.#events[0]!.lsn];
  }

  /** Returns the newest kept event for which `fits` returns true, whether or not it is recorded. */
  findLast(fits: (event: ToolSessionEvent) => boolean): ToolSessionEvent | undefined {
    const event = this.#events.findLast(fits);
    return event && event.lsn >= this.firstLSN ? event : undefined;
  }

  /** Returns the recorded questions that were neither answered nor withdrawn. */
  unanswered(): ToolSessionRequest[] {
    const open = new Map<string, ToolSessionRequest>();
    for (const event of this.after(this.firstLSN - 1)) {
      if (event.type === "answer" || event.type === "withdrawn") open.delete(event.requestId);
      else if ("params" in event || event.type === "roots_request") open.set(event.id, event);
    }
    return [...open.values()];
  }

  /**
   * Calls `wake` after each new event, and after other changes of the session. Returns a function
   * that stops this.
   */
  watch(wake: () => void): () => void {
    // Create a new function, because the same `wake` may be passed twice.
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

  /** True if the log has a watcher. */
  get watched(): boolean {
    const watchers = this.#watchers;
    return typeof watchers === "object" ? watchers.size > 0 : watchers !== undefined;
  }

  /** Announces a reader that will read the events after an LSN. From now on, runs wait for it. */
  awaitReader(lsn: number): void {
    if (this.closed) return;
    this.#awaitedAt = lsn;
    this.#awaitedBytes = this.#bytesUpTo(lsn);
  }

  /** Cancels `awaitReader`, because the announced reader will not come. */
  expectNobody(): void {
    this.#awaitedAt = -1;
    this.#pace?.changed();
  }

  /** Attaches a reader that has read everything up to an LSN. From now on, runs wait for it. */
  attach(lsn: number): LogReader {
    this.#awaitedAt = -1;
    const reader = { log: this, lsn, bytes: this.#bytesUpTo(lsn), isBehind: false };
    if (this.#readers) this.#readers.push(reader);
    else this.#readers = [reader];
    this.#pace?.changed();
    return reader;
  }

  /** Called when a reader has stopped reading. */
  detach(reader: LogReader): void {
    const readers = this.#readers;
    const index = readers?.indexOf(reader) ?? -1;
    if (!readers || index < 0) return;
    if (readers.length > 1) readers.splice(index, 1);
    else this.#readers = undefined;
    this.#pace?.changed();
  }

  /** Called when a reader has taken everything up to an LSN. */
  taken(reader: LogReader, lsn: number): void {
    if (lsn === reader.lsn) return;
    reader.bytes = this.#bytesUpTo(lsn, reader);
    reader.lsn = lsn;
    reader.isBehind = false;
    this.#pace?.renew();
  }

  /**
   * True while a run should wait before it emits more: for the journal (PACE-4), for an announced
   * reader (PACE-3), or for an attached reader (PACE-1).
   */
  get isFull(): boolean {
    const { maxEvents, maxBytes } = this.#limits;
    // Fast path: most logs stay far below the limits.
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

  /** Calls `go` when there may be room. Returns a function that cancels the wait. */
  whenRoom(deadlines: Deadlines, go: () => void): () => void {
    return (this.#pace ??= new Pace(this, deadlines)).wait(go);
  }

  /**
   * Marks the readers that do not keep up, so that runs no longer wait for them. Only `Pace` calls
   * this.
   */
  giveUpReaders(): void {
    this.#awaitedAt = -1;
    for (const reader of this.#readers ?? NOBODY) {
      if (this.#isAhead(reader.lsn, reader.bytes)) reader.isBehind = true;
    }
  }

  /** Returns true if the events after a position reach half of a limit. */
  #isAhead(lsn: number, bytes: number): boolean {
    const { maxEvents, maxBytes } = this.#limits;
    const events = this.#last - lsn;
    return events > 0 && (events * 2 >= maxEvents || (this.#appendedBytes - bytes) * 2 >= maxBytes);
  }

  /**
   * Returns the approximate size of all events up to an LSN, in bytes. Counts from the end of the
   * log, or from the position `from` if that is nearer.
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
    // Wake the readers before events are dropped: a reader that keeps up must not lose the start of
    // a large batch (LOG-3).
    if (this.#watchers) this.stir();
    // Never drop the last event, because it may be the result.
    if (this.#last > this.firstLSN) this.#trim();
    this.#pace?.changed();
  }

  /** Wakes the watchers, because of a new event or another change of the session. */
  stir(): void {
    const watchers = this.#watchers;
    if (!watchers) return;
    if (typeof watchers === "function") return watchers();
    // Iterate over a copy, because a watcher may add or remove watchers.
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
    // Copy the array only now and then: a copy for each dropped event would take quadratic time.
    if (dropped > 64 && dropped > kept) this.#events = this.#events.slice(dropped);
  }
}

const NONE: readonly ToolSessionEvent[] = [];
const NOBODY: readonly LogReader[] = [];
