/** Reads server-sent events one by one, including comments and empty ones. */

export interface Frame {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly retry?: number;
  readonly comment?: string;
}

export class FrameReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = "";
  /** How the chunks arrived: one number of frames for each. */
  readonly chunks: number[] = [];

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  /** The next frame; undefined once the stream has ended. */
  async next(): Promise<Frame | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const frame = parseFrame(this.#text.slice(0, end));
        this.#text = this.#text.slice(end + 2);
        return frame;
      }
      const { done, value } = await this.#reader.read();
      if (done) {
        if (this.#text !== "") throw new Error(`The stream ended within a frame: ${this.#text}`);
        return undefined;
      }
      const chunk = this.#decoder.decode(value, { stream: true });
      this.chunks.push(chunk.split("\n\n").length - 1);
      this.#text += chunk;
    }
  }

  /** All frames up to the end. */
  async rest(): Promise<Frame[]> {
    const frames: Frame[] = [];
    for (let frame = await this.next(); frame; frame = await this.next()) frames.push(frame);
    return frames;
  }

  /** Disconnects without reading on. */
  async cancel(): Promise<void> {
    await this.#reader.cancel();
  }
}

export function parseFrame(text: string): Frame {
  const frame: { -readonly [K in keyof Frame]: Frame[K] } = {};
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (name === "") frame.comment = value;
    else if (name === "retry") frame.retry = Number(value);
    else if (name === "id" || name === "event") frame[name] = value;
    else if (name === "data") {
      frame.data = frame.data === undefined ? value : `${frame.data}\n${value}`;
    } else throw new Error(`No line of an event: ${JSON.stringify(line)}`);
  }
  return frame;
}

/** A cut connection is a TypeError on Deno, and an Error with a code on Bun. */
export function isCut(error: unknown): boolean {
  return error instanceof TypeError || (error as { code?: unknown }).code !== undefined ||
    (error as Error).message.startsWith("The stream ended within a frame");
}
