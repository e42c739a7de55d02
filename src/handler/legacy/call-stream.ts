/**
 * The stream of a POST: one call, or the calls of a batch.
 *
 * It outlives its connection. Event ids are `<stream>.<lsn>`, for a batch
 * `<stream>.<lsn>-<lsn>…`: where the reader stands in the log of each call. So an
 * id says everything that a resumption needs to know.
 */
import { encodeProgress } from "../../protocol/legacy/encode.ts";
import { frame } from "../../protocol/sse.ts";
import type { EventStream, Feed } from "../event-stream.ts";
import type { Call } from "./call.ts";

export class CallStream implements Feed {
  readonly number: number;
  readonly calls: readonly Call[];
  /** The connection that carries it now. A stream has one at most. */
  connection: EventStream | undefined;
  #cursors: number[];
  #heartbeat: number;
  #lastBeat = 0;

  constructor(number: number, calls: readonly Call[], heartbeat: number) {
    this.number = number;
    this.calls = calls;
    this.#cursors = calls.map(() => 0);
    this.#heartbeat = heartbeat;
  }

  /** The id of the place where the reader stands. */
  get position(): string {
    return `${this.number}.${this.#cursors.join("-")}`;
  }

  /** Goes to a place. False if there is no such place on this stream. */
  seek(cursors: readonly number[]): boolean {
    if (cursors.length !== this.calls.length) return false;
    if (cursors.some((cursor, i) => cursor > this.calls[i]!.session.log.lastLSN)) return false;
    this.#cursors = [...cursors];
    return true;
  }

  read(): string {
    let text = "";
    this.calls.forEach((call, i) => {
      const end = call.messagesAfter(this.#cursors[i]!, (message, lsn) => {
        if (lsn !== undefined) this.#cursors[i] = lsn;
        text += frame(message, lsn === undefined ? undefined : this.position);
      });
      this.#cursors[i] = end;
    });
    return text;
  }

  get done(): boolean {
    return this.calls.every((call, i) => call.isReadTo(this.#cursors[i]!));
  }

  watch(wake: () => void): () => void {
    const unwatch = this.calls.map((call) => call.session.log.watch(wake));
    return () => unwatch.forEach((stop) => stop());
  }

  /** Many clients give up after a minute of silence, and some count progress as life. */
  signOfLife(silence: number): string | undefined {
    if (silence < this.#lastBeat) this.#lastBeat = 0;
    if (silence - this.#lastBeat < this.#heartbeat) return undefined;
    this.#lastBeat = silence;
    const call = this.calls.find(({ session, progressToken }) =>
      !session.outcome && progressToken !== undefined
    );
    const beat = call && encodeProgress(call, Math.max(0, call.progress));
    return beat && frame(beat);
  }
}

/** Takes an event id apart. */
export function parsePosition(id: string): { stream: number; cursors: number[] } | undefined {
  const parts = /^(\d{1,15})\.(\d{1,15}(?:-\d{1,15})*)$/.exec(id);
  if (!parts) return undefined;
  return { stream: Number(parts[1]), cursors: parts[2]!.split("-").map(Number) };
}
