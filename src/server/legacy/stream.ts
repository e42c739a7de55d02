/**
 * The stream that answers a POST with one call, or with the calls of a batch.
 *
 * A stream can have several connections, one after another. An event id is `<stream>.<lsn>`, or
 * `<stream>.<lsn>-<lsn>…` for a batch. It contains the reader's position in the log of each call,
 * and is enough to resume the stream.
 */
import { type Feed, type FeedConnection, HeartbeatInterval, type Send } from "../feed.ts";
import type { Call } from "./call.ts";

/** If a chunk is longer than this, in characters, other calls wait for the next chunk. */
const CHUNK_LIMIT = 1024 * 1024;

export class CallStream implements Feed {
  readonly number: number;
  readonly calls: readonly Call[];
  /** The current connection. A stream has at most one. */
  connection: FeedConnection | undefined;
  readonly #heartbeats: HeartbeatInterval;
  readonly #resumable: boolean;
  /** The call that is read next. */
  #turn = 0;

  /** A stream that is not resumable sends no event ids. */
  constructor(number: number, calls: readonly Call[], heartbeat: number, resumable = true) {
    this.number = number;
    this.calls = calls;
    this.#heartbeats = new HeartbeatInterval(heartbeat);
    this.#resumable = resumable;
  }

  /** The event id of the reader's position. Undefined if the stream is not resumable. */
  get position(): string | undefined {
    const { number, calls } = this;
    if (!this.#resumable) return undefined;
    return `${number}.${
      calls.length === 1 ? calls[0]!.cursor : calls.map(({ cursor }) => cursor).join("-")
    }`;
  }

  /** True if the position exists on this stream and messages follow it. */
  canResumeAt(cursors: readonly number[]): boolean {
    if (cursors.length !== this.calls.length) return false;
    if (!this.calls.every((call, i) => call.hasPlace(cursors[i]!))) return false;
    return this.calls.some((call, i) => call.hasMoreAfter(cursors[i]!));
  }

  seek(cursors: readonly number[]): void {
    this.calls.forEach((call, i) => call.seek(cursors[i]!));
  }

  /** Sends the messages that are ready. Stops after one chunk, because batch results may be long. */
  read(send: Send): void {
    let length = 0;
    for (let n = 0; n < this.calls.length && length < CHUNK_LIMIT; n++) {
      const call = this.calls[this.#turn]!;
      this.#turn = (this.#turn + 1) % this.calls.length;
      call.readEvents((message, lsn) => {
        length += message.length;
        send(message, lsn === undefined ? undefined : this.position);
      });
    }
  }

  get done(): boolean {
    return this.calls.every((call) => call.done);
  }

  watch(wake: () => void): () => void {
    const unwatch = this.calls.map((call) => call.watch(wake));
    return () => unwatch.forEach((stop) => stop());
  }

  /**
   * Sends progress messages when nothing else was sent for a while. Many clients time out after a
   * minute without messages, and for some of them, a progress message restarts that timeout.
   */
  heartbeat(silence: number, send: Send): void {
    if (!this.#heartbeats.isDue(silence)) return;
    for (const call of this.calls) call.heartbeat(silence, send);
  }
}

/** Parses an event id. */
export function parsePosition(id: string): { stream: number; cursors: number[] } | undefined {
  const parts = /^(\d{1,15})\.(\d{1,15}(?:-\d{1,15})*)$/.exec(id);
  if (!parts) return undefined;
  return { stream: Number(parts[1]), cursors: parts[2]!.split("-").map(Number) };
}
