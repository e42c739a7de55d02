/** Raw HTTP, for everything that `fetch` refuses to do. */
import { connect, type Socket } from "node:net";

export class RawClient {
  readonly #socket: Socket;
  #received = "";
  #closed = false;
  #news: (() => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("utf8");
    const hear = () => {
      this.#news?.();
      this.#news = undefined;
    };
    socket.on("data", (chunk) => {
      this.#received += chunk;
      hear();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#closed = true;
      hear();
    });
    socket.on("end", () => {
      this.#closed = true;
      hear();
    });
  }

  static connect(port: number): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve(new RawClient(socket));
      });
    });
  }

  get received(): string {
    return this.#received;
  }

  send(text: string): void {
    this.#socket.write(text);
  }

  /** The head of a POST to /mcp, with additional headers. */
  sendHead(headers: Record<string, string | number>, method = "POST"): void {
    const lines = Object.entries({
      host: "127.0.0.1",
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    this.send(`${method} /mcp HTTP/1.1\r\n${lines.join("")}\r\n`);
  }

  post(message: object, headers: Record<string, string> = {}): void {
    const body = JSON.stringify(message);
    this.sendHead({ "content-length": new TextEncoder().encode(body).length, ...headers });
    this.send(body);
  }

  /** Waits until the pattern was received, and consumes everything up to its end. */
  async take(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#received);
      if (found) {
        this.#received = this.#received.slice(found.index + found[0].length);
        return found;
      }
      if (this.#closed) throw new Error(`Closed before ${pattern}: ${this.#received}`);
      await this.#change();
    }
  }

  /** The status of the next response. */
  async status(): Promise<number> {
    return Number((await this.take(/HTTP\/1\.1 (\d{3})/))[1]);
  }

  /** Waits until the other side has closed. */
  async closed(): Promise<void> {
    while (!this.#closed) await this.#change();
  }

  /** Stops reading, so that the other side can send no more. */
  stall(): void {
    this.#socket.pause();
  }

  /** Disconnects abruptly. */
  vanish(): void {
    this.#socket.resetAndDestroy?.();
    this.#socket.destroy();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#news = resolve);
  }
}
