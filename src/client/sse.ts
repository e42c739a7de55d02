/** Reads server-sent events. */
import { createParser, type EventSourceParser } from "eventsource-parser";

export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly data: string;
  /** How many milliseconds the server asks the client to wait before it reconnects. */
  readonly retry: number | undefined;
}

/** Turns the chunks of a stream into events. */
export class EventReader {
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;
  #events: ServerSentEvent[] = [];
  #retry: number | undefined;

  constructor() {
    this.#parser = createParser({
      onEvent: ({ id, data }) => {
        this.#events.push({ id, data, retry: this.#retry });
        this.#retry = undefined;
      },
      onRetry: (milliseconds) => this.#retry = milliseconds,
    });
  }

  /** Returns the events that this chunk completes. */
  read(chunk: Uint8Array): readonly ServerSentEvent[] {
    this.#events = [];
    this.#parser.feed(this.#decoder.decode(chunk, { stream: true }));
    return this.#events;
  }
}
