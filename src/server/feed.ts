/**
 * A feed is a sequence of messages for one client. It does not know how messages are framed: a
 * transport reads the feed and sends each message as an SSE event or as a line.
 */

/** Sends one message. A client that has received the message can resume after `eventId`. */
export type Send = (message: string, eventId?: string) => void;

export interface Feed {
  /** Sends the messages that are ready. If they are long, some may wait for the next call. */
  read(send: Send): void;
  /** True when all messages have been read and no more will follow. */
  readonly done: boolean;
  /** Calls `wake` when there are new messages. Returns a function that stops this. */
  watch(wake: () => void): () => void;
  /**
   * Sends a heartbeat on a silent stream, if the client asked for progress. `silence` is the time
   * since the last message, in milliseconds.
   */
  heartbeat?(silence: number, send: Send): void;
}

/** The connection on which a feed is sent. */
export interface FeedConnection {
  /** Sends the messages that are ready, then ends the stream. */
  end(): void;
  /** Ends the stream without sending more messages. */
  close(): void;
}

/** Decides when a heartbeat is due: once in each interval without messages. */
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
