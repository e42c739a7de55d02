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
  readonly stream: SharedStream;
  readonly unwatch: () => void;
  /** The timer for the next heartbeat of a silent stream. */
  silence: Deadline | undefined;
}

export class Outbox implements Feed {
  connection: EventStream | undefined;
  done = false;
  readonly #deadlines: Deadlines;
  #messages: string[] = [];
  /** Characters in `#messages`. */
  #length = 0;
  #wake: (() => void) | undefined;
  readonly #entries = new Map<Feed, Entry>();
  /** Feeds with messages that wait for room, the longest waiting first. */
  readonly #ready = new Set<Feed>();

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

  /** Sends the messages of a stream until it is done. */
  add(stream: SharedStream): void {
    const { feed } = stream;
    const unwatch = feed.watch(() => this.#hear(feed));
    const entry: Entry = { stream, unwatch, silence: undefined };
    this.#entries.set(feed, entry);
    this.#awaitSilence(entry);
    this.#hear(feed);
  }

  #hear(feed: Feed): void {
    if (this.crowded) this.#ready.add(feed);
    else this.#pull(feed);
  }

  #pull(feed: Feed): void {
    this.#ready.delete(feed);
    const entry = this.#entries.get(feed);
    feed.read((message) => {
      this.post(message);
      if (entry) this.#awaitSilence(entry);
    });
    if (feed.done) this.remove(feed);
  }

  /**
   * Starts the heartbeat timer. Many clients time out after a minute without messages, and for some
   * of them, a progress message restarts that timeout.
   */
  #awaitSilence(entry: Entry, before = 0): void {
    const { feed, heartbeatAfter } = entry.stream;
    // The feed is no longer there if a message exceeded the limit and closed the channel.
    if (heartbeatAfter === undefined || !this.#entries.has(feed)) return;
    entry.silence?.cancel();
    entry.silence = this.#deadlines.add(heartbeatAfter, () => {
      const silence = before + heartbeatAfter;
      feed.heartbeat?.(silence, (message) => this.post(message));
      this.#awaitSilence(entry, silence);
    });
  }

  remove(feed: Feed): void {
    const entry = this.#entries.get(feed);
    if (!entry) return;
    this.#entries.delete(feed);
    this.#ready.delete(feed);
    entry.unwatch();
    entry.silence?.cancel();
    entry.stream.release();
  }

  close(): void {
    this.done = true;
    this.#messages = [];
    this.#length = 0;
    for (const feed of [...this.#entries.keys()]) this.remove(feed);
    this.connection?.close();
    this.#wake?.();
  }

  read(send: Send): void {
    for (const feed of this.#ready) {
      if (this.crowded) break;
      this.#pull(feed);
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
