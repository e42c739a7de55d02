/**
 * A feed is a sequence of messages for one client. A feed is independent of the framing: a
 * transport reads the feed and sends each message as an SSE event or as a line.
 */

/** Takes one message. A client that has received the message resumes after `eventId`. */
export type Send = (message: string, eventId?: string) => void;

export interface Feed {
  /** Sends what is ready. A feed may keep back a part of a long text for the next call. */
  read(send: Send): void;
  /** True once everything has been read and nothing will follow. */
  readonly done: boolean;
  /** Calls `wake` when there is something new. */
  watch(wake: () => void): () => void;
  /**
   * Sends a heartbeat on a silent stream, if the client asked for progress. `silence` is the time
   * since the last message, in milliseconds.
   */
  heartbeat?(silence: number, send: Send): void;
}

/** The connection that carries a feed, as far as the feed has to know it. */
export interface FeedConnection {
  /** Ends the stream once everything that is ready has gone out. */
  end(): void;
  /** Ends the stream at once. */
  close(): void;
}

/** Decides when a silence is long enough for a heartbeat: once in each interval. */
export class HeartbeatInterval {
  readonly #interval: number;
  #last = 0;

  constructor(interval: number) {
    this.#interval = interval;
  }

  isDue(silence: number): boolean {
    if (silence < this.#last) this.#last = 0;
    if (silence - this.#last < this.#interval) return false;
    this.#last = silence;
    return true;
  }
}
