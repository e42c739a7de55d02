/**
 * Sends a feed as the SSE body of a response.
 *
 * The runtime pulls from the stream, and each pull returns all messages that are ready as one
 * chunk. So a burst of a hundred events is one write. For a stalled reader, messages stay in the
 * feed, whose size is bounded.
 *
 * STREAM-1  The first pull always returns data, because some runtimes send the headers with the
 *           first data. It includes the messages that are ready at that time.
 * STREAM-2  A stream without messages sends a heartbeat or a comment. A stream whose reader stalls
 *           ends.
 * STREAM-3  `closed` is called exactly once, however the stream ends.
 */
import { Buffer } from "node:buffer";
import type { Deadline, Deadlines } from "../../lib/deadlines.ts";
import type { Feed } from "../../server/feed.ts";
import { frame, KEEP_ALIVE } from "../../wire/sse.ts";

export interface StreamTimes {
  readonly keepAliveInterval: number;
  readonly stallTimeout: number;
}

/** Makes the runtime pull only when the reader wants data. */
const NOTHING_AHEAD = { highWaterMark: 0 };

/** The stream is itself the source of its body, which saves an object for each stream. */
export class EventStream implements UnderlyingDefaultSource<Uint8Array> {
  readonly body: ReadableStream<Uint8Array>;
  readonly #feed: Feed;
  readonly #deadlines: Deadlines;
  readonly #times: StreamTimes;
  readonly #closed: () => void;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  /** Resolves the pull that waits for data. Undefined if no pull waits. */
  #waiting: (() => void) | undefined;
  #unwatch: (() => void) | undefined;
  #deadline: Deadline | undefined;
  /** Text to send before the feed's messages. Empty after it has been sent. */
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

  /** Called by the runtime, like `pull` and `cancel`. */
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

  /** Sends the messages that are ready, then ends the stream. */
  end(): void {
    if (this.#over) return;
    for (let text = this.#take(); text; text = this.#take()) this.#enqueue(text);
    this.close();
  }

  /** Ends the stream without reading the feed again. */
  close(): void {
    if (this.#over) return;
    this.#finish();
    try {
      this.#enqueue(this.#first);
      this.#controller.close();
    } catch {
      // The reader cancelled at the same moment, so the stream is already closed.
    }
  }

  /** Reads the messages that are ready, as SSE events, after the first data (STREAM-1). */
  #take(): string {
    let text = this.#first;
    this.#first = "";
    this.#feed.read((message, eventId) => text += frame(message, eventId));
    return text;
  }

  #enqueue(text: string): void {
    // `Buffer.from` uses pooled memory, because allocating each chunk takes four times as long on
    // some runtimes. So the `ArrayBuffer` behind a chunk also contains unrelated data.
    if (text) this.#controller.enqueue(Buffer.from(text));
  }

  /** Sends the data that is ready. Returns false if the pull has to wait for more. */
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

  /** STREAM-2: sends a heartbeat if the reader waits and no message arrives in time. */
  #expectNews(): void {
    this.#reset(this.#times.keepAliveInterval, showLife);
  }

  /** Sends a heartbeat or a comment. Called when no message has arrived for too long. */
  showLife(): void {
    this.#silence += this.#times.keepAliveInterval;
    let text = "";
    this.#feed.heartbeat?.(this.#silence, (message) => text += frame(message));
    this.#enqueue(text || KEEP_ALIVE);
    this.#expectReader();
    this.#release();
  }

  /** STREAM-2: ends the stream if the reader does not pull in time. */
  #expectReader(): void {
    this.#reset(this.#times.stallTimeout, close);
  }

  #reset(ms: number, fire: (stream: EventStream) => void): void {
    this.#deadline?.cancel();
    this.#deadline = this.#deadlines.add<EventStream>(ms, fire, this);
  }

  /** Ends the stream, and calls `closed` once (STREAM-3). */
  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#deadline?.cancel();
    this.#unwatch?.();
    this.#release();
    this.#closed();
  }
}

// These callbacks are shared by all streams, to save a closure for each deadline.
const showLife = (stream: EventStream) => stream.showLife();
const close = (stream: EventStream) => stream.close();
