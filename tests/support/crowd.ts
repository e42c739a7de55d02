/** Many connections at once that send nothing, or never finish their request. */
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";

export class Crowd {
  readonly #sockets: Socket[] = [];
  /** Connections that the other side has closed or never accepted. */
  gone = 0;
  /** Connections that received something. */
  answered = 0;

  constructor(port: number, count: number, says = "") {
    for (let i = 0; i < count; i++) {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => {});
      socket.once("close", () => this.gone++);
      if (says) socket.write(says);
      socket.once("data", () => this.answered++);
      this.#sockets.push(socket);
    }
  }

  leave(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** A request whose headers never end. */
export const UNFINISHED = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-More: ";

/** How many file descriptors a process has open; Linux only. */
export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
