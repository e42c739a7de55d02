/**
 * The stream of a POST: one call, or the calls of a batch.
 *
 * It outlives its connection. Event ids are `<stream>.<lsn>`, for a batch
 * `<stream>.<lsn>-<lsn>…`: where the reader stands in the log of each call. So an
 * id says everything that a resumption needs to know.
 */
import { type Feed, type FeedConnection, HeartbeatInterval, type Send } from "../feed.ts";
import type { Call } from "./call.ts";

/** Characters after which the other calls have to wait for the next chunk. */
const LONGEST_CHUNK = 1024 * 1024;

export class CallStream implements Feed {
  readonly number: number;
  readonly calls: readonly Call[];
  /** The connection that carries it now. A stream has one at most. */
  connection: FeedConnection | undefined;
  readonly #heartbeats: HeartbeatInterval;
  readonly #resumable: boolean;
  /** The call that is read next. */
  #turn = 0;

  /** One that is not resumable gives out no event ids. */
  constructor(number: number, calls: readonly Call[], heartbeat: number, resumable = true) {
    this.number = number;
    this.calls = calls;
    this.#heartbeats = new HeartbeatInterval(heartbeat);
    this.#resumable = resumable;
  }

  /** The id of the place where the reader stands, if it can come back to it. */
  get position(): string | undefined {
    const { number, calls } = this;
    if (!this.#resumable) return undefined;
    return `${number}.${
      calls.length === 1 ? calls[0]!.cursor : calls.map(({ cursor }) => cursor).join("-")
    }`;
  }

  /** Whether there is such a place on this stream, and something to be read after it. */
  canResumeAt(cursors: readonly number[]): boolean {
    if (cursors.length !== this.calls.length) return false;
    if (!this.calls.every((call, i) => call.hasPlace(cursors[i]!))) return false;
    return this.calls.some((call, i) => call.hasMoreAfter(cursors[i]!));
  }

  seek(cursors: readonly number[]): void {
    this.calls.forEach((call, i) => call.cursor = cursors[i]!);
  }

  /** Everything that is ready, up to the length of a chunk: the results of a batch may be long. */
  read(send: Send): void {
    let length = 0;
    for (let n = 0; n < this.calls.length && length < LONGEST_CHUNK; n++) {
      const call = this.calls[this.#turn]!;
      this.#turn = (this.#turn + 1) % this.calls.length;
      const read = call.messagesAfter(call.cursor, (message, lsn) => {
        if (lsn !== undefined) call.cursor = lsn;
        length += message.length;
        send(message, lsn === undefined ? undefined : this.position);
      });
      call.readTo(read);
    }
  }

  get done(): boolean {
    return this.calls.every((call) => call.done);
  }

  watch(wake: () => void): () => void {
    const unwatch = this.calls.map((call) => call.watch(wake));
    return () => unwatch.forEach((stop) => stop());
  }

  /** Many clients time out after a minute of silence, and some count progress as activity. */
  heartbeat(silence: number, send: Send): void {
    if (!this.#heartbeats.isDue(silence)) return;
    for (const call of this.calls) call.heartbeat(silence, send);
  }
}

/** Takes an event id apart. */
export function parsePosition(id: string): { stream: number; cursors: number[] } | undefined {
  const parts = /^(\d{1,15})\.(\d{1,15}(?:-\d{1,15})*)$/.exec(id);
  if (!parts) return undefined;
  return { stream: Number(parts[1]), cursors: parts[2]!.split("-").map(Number) };
}
