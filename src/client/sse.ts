/** Reads server-sent events. */

export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly data: string;
  /** Milliseconds to wait before coming back, if the server says so. */
  readonly retry: number | undefined;
}

/** Cuts text into events as it arrives. */
export class EventReader {
  readonly #decoder = new TextDecoder();
  #rest = "";
  #data: string[] = [];
  #id: string | undefined;
  #retry: number | undefined;

  /** The events that a chunk completes. */
  *read(chunk: Uint8Array): Generator<ServerSentEvent> {
    const text = this.#rest + this.#decoder.decode(chunk, { stream: true });
    // At the very end, a carriage return may be half of a line break.
    const half = text.endsWith("\r") ? "\r" : "";
    const lines = text.slice(0, text.length - half.length).split(/\r\n|\r|\n/);
    // The last one is not over yet.
    this.#rest = lines.pop()! + half;
    for (const line of lines) {
      if (line !== "") this.#take(line);
      else if (this.#data.length > 0 || this.#id !== undefined) yield this.#event();
    }
  }

  #take(line: string): void {
    const colon = line.indexOf(":");
    // Begins with a colon: a sign of life.
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "id") this.#id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.#retry = Number(value);
  }

  #event(): ServerSentEvent {
    const event = { id: this.#id, data: this.#data.join("\n"), retry: this.#retry };
    this.#data = [];
    this.#id = undefined;
    this.#retry = undefined;
    return event;
  }
}
