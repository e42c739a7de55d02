/** What passes between a test and a server of either era: requests, responses and messages. */
import assert from "node:assert/strict";
import { type Frame, FrameReader } from "./sse.ts";

/** The origin of servers that are called without a socket. */
export const ORIGIN = "http://127.0.0.1:7411";

export type Fetch = (request: Request) => Promise<Response>;

/** A JSON-RPC message, of any kind. */
export interface Message {
  readonly jsonrpc?: string;
  readonly id?: string | number;
  readonly method?: string;
  // deno-lint-ignore no-explicit-any
  readonly params?: any;
  // deno-lint-ignore no-explicit-any
  readonly result?: any;
  // deno-lint-ignore no-explicit-any
  readonly error?: any;
}

/** A response, and the messages in its body. */
export class Exchange {
  readonly response: Response;
  readonly id: string | number | undefined;
  #frames: FrameReader | undefined;
  /** The last event id that was seen. */
  lastEventId: string | undefined;

  constructor(response: Response, id?: string | number) {
    this.response = response;
    this.id = id;
  }

  get status(): number {
    return this.response.status;
  }

  get isStream(): boolean {
    return this.response.headers.get("content-type") === "text/event-stream";
  }

  get frames(): FrameReader {
    assert.ok(this.isStream, "it is no stream");
    return this.#frames ??= new FrameReader(this.response.body!);
  }

  /** The next frame of the stream. */
  async frame(): Promise<Frame | undefined> {
    const frame = await this.frames.next();
    if (frame?.id !== undefined) this.lastEventId = frame.id;
    return frame;
  }

  /** The next message; frames without data are skipped. */
  async message(): Promise<Message | undefined> {
    if (!this.isStream) return await this.response.json();
    for (let frame = await this.frame(); frame; frame = await this.frame()) {
      if (frame.data) return JSON.parse(frame.data);
    }
    return undefined;
  }

  /** The next message, which must have this method. */
  async expect(method: string): Promise<Message> {
    const message = await this.message();
    assert.equal(message?.method, method, JSON.stringify(message));
    return message!;
  }

  /** All messages up to the end. */
  async rest(): Promise<Message[]> {
    if (!this.isStream) return [await this.response.json()].flat();
    const messages: Message[] = [];
    for (let next = await this.message(); next; next = await this.message()) messages.push(next);
    return messages;
  }

  /** The result, which must be the only message left. */
  async result(): Promise<Message["result"]> {
    const [message, ...others] = await this.rest();
    assert.deepEqual(others, []);
    assert.equal(message?.id, this.id, JSON.stringify(message));
    assert.ok(message?.result, JSON.stringify(message));
    return message!.result;
  }

  /** The text of the result. */
  async text(): Promise<string> {
    return (await this.result()).content.map((block: { text?: string }) => block.text ?? "").join(
      "",
    );
  }

  /** Closes the stream, or drops the body. */
  async leave(): Promise<void> {
    if (this.isStream) await this.frames.cancel();
    else await this.response.body?.cancel();
  }
}
