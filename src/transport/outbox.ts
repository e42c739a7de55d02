/**
 * The output of a transport that has one channel for all messages to a client, such as stdio.
 * Messages wait here until they are read. If too many wait, further messages of a run stay in its
 * log, whose size is bounded.
 */
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import type { Feed, Send } from "../server/feed.ts";
import type { SharedStream } from "../server/reply.ts";
import type { EventStream } from "./http/event-stream.ts";

/** Maximum length of unread output, in characters. If there is more, the channel is closed. */
const MAX_WAITING_LENGTH = 16 * 1024 * 1024;
/** If more characters than this are unread, feeds and input are paused. */
const CROWDED = 4 * 1024 * 1024;

/** A stream on the channel, with its timer. */
interface Entry {
  /** Called after the stream was removed. */
  readonly removed: (() => void) | undefined;
  unwatch: (() => void) | undefined;
  /** The timer for the next heartbeat of a silent stream. */
  silence: Deadline | undefined;
}

export class Outbox implements Feed {
  connection: EventStream | undefined;
  done = false;
  readonly #deadlines: Deadlines;
  #messages: string[] = [];
  /** The number of characters in `#messages`. */
  #length = 0;
  #wake: (() => void) | undefined;
  readonly #entries = new Map<SharedStream, Entry>();
  /** Feeds with messages that wait for room, the longest waiting first. */
  readonly #ready = new Set<SharedStream>();

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  /** True while so much output is unread that no more input should be accepted. */
  get crowded(): boolean {
    return this.#length > CROWDED;
  }

  post(message: string): void {
    if (this.done) return;
    // Check before the message is added: a single message may have any length.
    if (this.#length > MAX_WAITING_LENGTH) return this.close();
    this.#messages.push(message);
    this.#length += message.length;
    this.#wake?.();
  }

  /** Sends the messages of a stream until it is done. Calls `removed` after that. */
  add(stream: SharedStream, removed?: () => void): void {
    const entry: Entry = { removed, unwatch: undefined, silence: undefined };
    this.#entries.set(stream, entry);
    this.#hear(stream);
    // Most calls have already ended when they are added, so their streams are done.
    if (!this.#entries.has(stream)) return;
    entry.unwatch = stream.watch(() => this.#hear(stream));
    this.#awaitSilence(stream, entry);
    this.#hear(stream);
  }

  #hear(stream: SharedStream): void {
    if (this.crowded) this.#ready.add(stream);
    else this.#pull(stream);
  }

  #pull(stream: SharedStream): void {
    this.#ready.delete(stream);
    const entry = this.#entries.get(stream);
    stream.read((message) => {
      this.post(message);
      if (entry?.silence) this.#awaitSilence(stream, entry);
    });
    if (stream.done) this.remove(stream);
  }

  /**
   * Starts the heartbeat timer. Many clients time out after a minute without messages, and for some
   * of them, a progress message restarts that timeout.
   */
  #awaitSilence(stream: SharedStream, entry: Entry, before = 0): void {
    const { heartbeatAfter } = stream;
    // The stream was removed if a message exceeded the limit and closed the channel.
    if (heartbeatAfter === undefined || !this.#entries.has(stream)) return;
    entry.silence?.cancel();
    entry.silence = this.#deadlines.add(heartbeatAfter, () => {
      const silence = before + heartbeatAfter;
      stream.heartbeat?.(silence, (message) => this.post(message));
      this.#awaitSilence(stream, entry, silence);
    });
  }

  remove(stream: SharedStream): void {
    const entry = this.#entries.get(stream);
    if (!entry) return;
    this.#entries.delete(stream);
    this.#ready.delete(stream);
    entry.unwatch?.();
    entry.silence?.cancel();
    stream.release();
    entry.removed?.();
  }

  close(): void {
    this.done = true;
    this.#messages = [];
    this.#length = 0;
    for (const stream of [...this.#entries.keys()]) this.remove(stream);
    this.connection?.close();
    this.#wake?.();
  }

  read(send: Send): void {
    for (const stream of this.#ready) {
      if (this.crowded) break;
      this.#pull(stream);
    }
    const messages = this.#messages;
    this.#messages = [];
    this.#length = 0;
    for (const message of messages) send(message);
  }

  watch(wake: () => void): () => void {
    this.#wake = wake;
    return () => this.#wake = undefined;
  }
}
