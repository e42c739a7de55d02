/**
 * One HTTP keep-alive connection. Responses are parsed by hand, because a client library would use
 * more CPU than the measured servers. All messages are ASCII.
 */
import { connect, type Socket } from "node:net";

export interface Reply {
  readonly status: number;
  readonly head: string;
  /** The body of the response. */
  readonly body: string;
  /** The id of the session that the server has opened. */
  readonly session: string | undefined;
  /** The number of chunks in which the server wrote the response. */
  readonly chunks: number;
}

/** Called with a stream's text as it grows. */
export type OnText = (textSoFar: string) => void;

export class HttpConnection {
  readonly #socket: Socket;
  #received = "";
  #head: string | undefined;
  #session: string | undefined;
  #length = -1;
  #body = "";
  #chunks = 0;
  #onText: OnText | undefined;
  #resolve: ((reply: Reply) => void) | undefined;
  #reject: ((error: Error) => void) | undefined;

  static open(port: number): Promise<HttpConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => {
        resolve(new HttpConnection(socket));
      });
      socket.once("error", reject);
    });
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (text) => this.#receive(String(text)));
    socket.on("error", (error) => this.#reject?.(error));
    socket.on("close", () => this.#reject?.(new Error("the server closed the connection")));
  }

  /** Sends a request and waits for its whole reply. */
  request(text: string, onText?: OnText): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#onText = onText;
      this.#socket.write(text);
    });
  }

  /** Disconnects, even if a request is running. */
  destroy(): void {
    this.#reject = undefined;
    this.#resolve = undefined;
    this.#socket.destroy();
  }

  #receive(text: string): void {
    this.#received += text;
    if (this.#head === undefined) {
      const end = this.#received.indexOf("\r\n\r\n");
      if (end < 0) return;
      this.#session = /\r\nmcp-session-id: *([^\r]+)/i.exec(this.#received.slice(0, end))?.[1];
      this.#head = this.#received.slice(0, end).toLowerCase();
      this.#received = this.#received.slice(end + 4);
      const length = /\r\ncontent-length: *(\d+)/.exec(this.#head)?.[1];
      this.#length = length !== undefined
        ? Number(length)
        : this.#head.includes("chunked")
        ? -1
        : 0;
      this.#body = "";
      this.#chunks = 0;
    }
    if (this.#length < 0) return this.#takeChunks();
    if (this.#received.length < this.#length) return;
    this.#body = this.#received.slice(0, this.#length);
    this.#received = this.#received.slice(this.#length);
    this.#chunks = 1;
    this.#finish();
  }

  #takeChunks(): void {
    let grown = false;
    for (;;) {
      const end = this.#received.indexOf("\r\n");
      const size = end < 0 ? NaN : parseInt(this.#received, 16);
      if (Number.isNaN(size) || this.#received.length < end + 4 + size) break;
      const chunk = this.#received.slice(end + 2, end + 2 + size);
      this.#received = this.#received.slice(end + 4 + size);
      if (size === 0) return this.#finish();
      this.#body += chunk;
      this.#chunks++;
      grown = true;
    }
    if (grown) this.#onText?.(this.#body);
  }

  #finish(): void {
    const head = this.#head!;
    const resolve = this.#resolve;
    const reply = {
      status: Number(head.slice(9, 12)),
      head,
      body: this.#body,
      session: this.#session,
      chunks: this.#chunks,
    };
    this.#head = undefined;
    this.#resolve = this.#reject = this.#onText = undefined;
    resolve?.(reply);
  }
}

/** The messages in a body, whether it is JSON or a stream of events. */
export function messagesIn({ head, body }: Pick<Reply, "head" | "body">): Message[] {
  if (!head.includes("text/event-stream")) return [JSON.parse(body)];
  return eventsIn(body);
}

/** The complete events of a stream so far. */
export function eventsIn(text: string): Message[] {
  const messages: Message[] = [];
  for (let at = text.indexOf("data: "); at >= 0; at = text.indexOf("data: ", at + 1)) {
    const end = text.indexOf("\n", at);
    if (end < 0) break;
    const data = text.slice(at + 6, end);
    if (data.startsWith("{")) messages.push(JSON.parse(data));
  }
  return messages;
}

// deno-lint-ignore no-explicit-any
export type Message = any;
