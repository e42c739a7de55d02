/**
 * One channel for everything a client hears, where the transport has no more than
 * one. What is said waits here as text as long as there is room; after that, what
 * a run has to say stays in its log, so that a slow reader costs what the logs
 * keep, which is bounded.
 */
import type { Deadline } from "../lib/deadlines.ts";
import type { Feed } from "../server/feed.ts";
import type { Call } from "../server/legacy/call.ts";
import type { EventStream } from "./http/event-stream.ts";

/** Characters that may wait for a reader before it counts as gone. */
const MOST_WAITING = 16 * 1024 * 1024;
/** Beyond this, runs keep to themselves what they have to say, and the client is not heard. */
const CROWDED = 4 * 1024 * 1024;

/** Something that has messages for the client, now and later. */
export interface Source {
  /** Calls `wake` when there is something new. */
  watch(wake: () => void): () => void;
  /** Sends what is ready. True when nothing will follow. */
  pull(send: (message: string) => void): boolean;
  /** The channel lets go of it. */
  release?(): void;
}

export class Outbox implements Feed {
  connection: EventStream | undefined;
  done = false;
  readonly #frame: (message: string) => string;
  #waiting = "";
  #wake: (() => void) | undefined;
  readonly #sources = new Map<Source, () => void>();
  /** Those that have something to say and found no room, the longest waiting first. */
  readonly #ready = new Set<Source>();

  constructor(frame: (message: string) => string) {
    this.#frame = frame;
  }

  /** True while so much waits to be read that it would be unwise to take more on. */
  get crowded(): boolean {
    return this.#waiting.length > CROWDED;
  }

  post(message: string): void {
    if (this.done) return;
    // Measured before it is added: one message alone may be as large as it likes.
    if (this.#waiting.length > MOST_WAITING) return this.close();
    this.#waiting += this.#frame(message);
    this.#wake?.();
  }

  /** Sends what a source has to say, until it has said everything. */
  add(source: Source): void {
    this.#sources.set(source, source.watch(() => this.#hear(source)));
    this.#hear(source);
  }

  #hear(source: Source): void {
    if (this.crowded) this.#ready.add(source);
    else this.#pull(source);
  }

  #pull(source: Source): void {
    this.#ready.delete(source);
    if (source.pull((message) => this.post(message))) this.remove(source);
  }

  remove(source: Source): void {
    const unwatch = this.#sources.get(source);
    if (!unwatch) return;
    this.#sources.delete(source);
    this.#ready.delete(source);
    unwatch();
    source.release?.();
  }

  /** Sends everything that a call has to say, until it has ended. */
  carry(call: Call): void {
    const { session, client: { core: { registry, deadlines, limits } } } = call;
    let silence: Deadline | undefined;
    // Many clients give up after a minute of silence, and some count progress as life.
    const listen = () => {
      silence?.cancel();
      if (call.progressToken === undefined) return;
      silence = deadlines.add(limits.heartbeat, () => {
        const beat = call.heartbeat();
        if (beat !== undefined) this.post(beat);
        listen();
      });
    };
    registry.hold(session);
    listen();
    this.add({
      watch: (wake) => call.watch(wake),
      pull(send) {
        const read = call.messagesAfter(call.cursor, (message) => {
          send(message);
          listen();
        });
        call.readTo(read);
        return call.isReadTo(read);
      },
      release: () => {
        silence?.cancel();
        registry.letGo(session);
      },
    });
  }

  close(): void {
    this.done = true;
    this.#waiting = "";
    for (const source of [...this.#sources.keys()]) this.remove(source);
    this.connection?.close();
    this.#wake?.();
  }

  read(): string {
    for (const source of this.#ready) {
      if (this.crowded) break;
      this.#pull(source);
    }
    const text = this.#waiting;
    this.#waiting = "";
    return text;
  }

  watch(wake: () => void): () => void {
    this.#wake = wake;
    return () => this.#wake = undefined;
  }
}
