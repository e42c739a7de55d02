/**
 * One channel for everything that a client receives, where the transport has only one.
 * Messages wait here as long as there is room. Beyond that, a run's messages stay in its
 * log, so that a slow reader costs what the logs keep, which is bounded.
 */
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import type { Feed, Send } from "../server/feed.ts";
import type { SharedStream } from "../server/reply.ts";
import type { EventStream } from "./http/event-stream.ts";

/** Characters that may wait for a reader before the reader counts as gone. */
const MOST_WAITING = 16 * 1024 * 1024;
/** Beyond this, feeds are not read any further, and neither is the client. */
const CROWDED = 4 * 1024 * 1024;

/** A stream on the channel, and what the channel keeps for it. */
interface Entry {
  readonly stream: SharedStream;
  readonly unwatch: () => void;
  /** Runs out when the stream has been silent for so long that a heartbeat is due. */
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
  /** Feeds that have messages and found no room, the longest waiting first. */
  readonly #ready = new Set<Feed>();

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  /** True while so much waits to be read that nothing more should be taken on. */
  get crowded(): boolean {
    return this.#length > CROWDED;
  }

  post(message: string): void {
    if (this.done) return;
    // Measured before the message is added: one message alone may have any length.
    if (this.#length > MOST_WAITING) return this.close();
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

  /** Many clients time out after a minute of silence, and some count progress as activity. */
  #awaitSilence(entry: Entry, before = 0): void {
    const { feed, heartbeatAfter } = entry.stream;
    // A message that finds the channel too full closes it, and so removes its feed.
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
