/**
 * Sends a feed as the SSE body of a response.
 *
 * The stream is pull-based: the runtime pulls, and gets everything that is ready as one chunk. So
 * a burst of a hundred events is one write. A stalled reader uses only the memory that the feed
 * keeps, which is bounded.
 *
 * E1  The first pull, which comes at once, always gets data, because some runtimes send the
 *     headers with the first data. Messages that are ready by then are included.
 * E2  A silent stream sends a heartbeat or a comment. A stream whose reader stalls is ended.
 * E3  `closed` is called exactly once, however the stream ends.
 */
import { Buffer } from "node:buffer";
import type { Deadline, Deadlines } from "../../lib/deadlines.ts";
import type { Feed } from "../../server/feed.ts";
import { frame, KEEP_ALIVE } from "../../wire/sse.ts";

export interface StreamTimes {
  readonly keepAliveInterval: number;
  readonly stallTimeout: number;
}

/** The feed is read only when the runtime pulls. */
const NOTHING_AHEAD = { highWaterMark: 0 };

/** Implements the source of its own body, which saves an object for each stream. */
export class EventStream implements UnderlyingDefaultSource<Uint8Array> {
  readonly body: ReadableStream<Uint8Array>;
  readonly #feed: Feed;
  readonly #deadlines: Deadlines;
  readonly #times: StreamTimes;
  readonly #closed: () => void;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  /** Resolves the pull that waits for data, if one does. */
  #waiting: (() => void) | undefined;
  #unwatch: (() => void) | undefined;
  #deadline: Deadline | undefined;
  /** Text that goes out before the feed's messages; empty once it has been sent. */
  #first: string;
  #silence = 0;
  #over = false;

  constructor(
    feed: Feed,
    first: string,
    deadlines: Deadlines,
    times: StreamTimes,
    closed: () => void,
  ) {
    this.#feed = feed;
    this.#deadlines = deadlines;
    this.#times = times;
    this.#closed = closed;
    this.#first = first;
    this.body = new ReadableStream<Uint8Array>(this, NOTHING_AHEAD);
    this.#unwatch = feed.watch(() => this.#wake());
    this.#expectReader();
  }

  /** For the runtime, as are `pull` and `cancel`. */
  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
  }

  pull(): void | Promise<void> {
    if (this.#over || this.#send()) return;
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#expectNews();
    });
  }

  cancel(): void {
    this.#finish();
  }

  /** Ends the stream after what is ready now. */
  end(): void {
    if (this.#over) return;
    for (let text = this.#take(); text; text = this.#take()) this.#enqueue(text);
    this.close();
  }

  /** Ends the stream at once. */
  close(): void {
    if (this.#over) return;
    this.#finish();
    try {
      this.#enqueue(this.#first);
      this.#controller.close();
    } catch {
      // The reader has cancelled at the same moment, so the stream is closed already.
    }
  }

  /** Everything that is ready, as SSE events. */
  #take(): string {
    let text = this.#first;
    this.#first = "";
    this.#feed.read((message, eventId) => text += frame(message, eventId));
    return text;
  }

  #enqueue(text: string): void {
    // `Buffer.from` uses pooled memory: a new allocation for each chunk takes four times as long
    // on some runtimes. So the chunk's `buffer` also contains unrelated data.
    if (text) this.#controller.enqueue(Buffer.from(text));
  }

  /** Sends the data that is ready. False if there was none and more may follow. */
  #send(): boolean {
    const text = this.#take();
    if (text) {
      this.#silence = 0;
      this.#enqueue(text);
    }
    if (this.#feed.done) {
      this.close();
      return true;
    }
    if (text) this.#expectReader();
    return text !== "";
  }

  #wake(): void {
    if (this.#over || !this.#waiting) return;
    if (this.#send()) this.#release();
  }

  /** Resolves a waiting pull. */
  #release(): void {
    const resolve = this.#waiting;
    this.#waiting = undefined;
    resolve?.();
  }

  /** E2: the reader waits for data; if none comes, a heartbeat is due. */
  #expectNews(): void {
    this.#reset(this.#times.keepAliveInterval, showLife);
  }

  /** Called by the deadline of a silence. */
  showLife(): void {
    this.#silence += this.#times.keepAliveInterval;
    let text = "";
    this.#feed.heartbeat?.(this.#silence, (message) => text += frame(message));
    this.#enqueue(text || KEEP_ALIVE);
    this.#expectReader();
    this.#release();
  }

  /** E2: data waits for the reader; a reader that takes none is gone. */
  #expectReader(): void {
    this.#reset(this.#times.stallTimeout, close);
  }

  #reset(ms: number, fire: (stream: EventStream) => void): void {
    this.#deadline?.cancel();
    this.#deadline = this.#deadlines.add<EventStream>(ms, fire, this);
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#deadline?.cancel();
    this.#unwatch?.();
    this.#release();
    this.#closed();
  }
}

// Shared by all streams: each sets several deadlines.
const showLife = (stream: EventStream) => stream.showLife();
const close = (stream: EventStream) => stream.close();
