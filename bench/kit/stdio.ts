/** A server over stdio that is being measured, and the calls that are sent to it. */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { processorTime } from "./processes.ts";

/** The number of calls that run at once. */
const AHEAD = 16;

export class StdioServer {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (text: string) => void>();
  #rest = "";
  #id = 0;

  constructor([path, ...args]: readonly string[], cwd?: string) {
    this.#child = spawn(path!, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
    process.once("exit", () => this.stop());
    this.#child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      const lines = (this.#rest + text).split("\n");
      this.#rest = lines.pop()!;
      for (const line of lines) this.#take(JSON.parse(line));
    });
  }

  #take({ id, result }: { id: number; result?: { content?: { text: string }[] } }): void {
    this.#waiting.get(id)?.(result?.content?.[0]?.text ?? "");
    this.#waiting.delete(id);
  }

  #request(method: string, params: object): Promise<string> {
    const id = ++this.#id;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#notify({ id, method, params });
    });
  }

  #notify(message: object): void {
    this.#child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  async initialize(): Promise<void> {
    const clientInfo = { name: "bench", version: "1.0.0" };
    const protocolVersion = "2025-11-25";
    await this.#request("initialize", { protocolVersion, capabilities: {}, clientInfo });
    this.#notify({ method: "notifications/initialized" });
  }

  /** Microseconds of CPU time for each call. */
  async calls(count: number): Promise<number> {
    const before = processorTime(this.#child.pid);
    let next = 0;
    await Promise.all(Array.from({ length: AHEAD }, async () => {
      while (next < count) {
        const a = next++;
        const text = await this.#request("tools/call", { name: "add", arguments: { a, b: 1 } });
        if (text !== String(a + 1)) {
          throw new Error(`Cannot count a call: not ${a + 1}, but ${text}`);
        }
      }
    }));
    return (processorTime(this.#child.pid) - before) * 1_000 / count;
  }

  stop(): void {
    this.#child.kill("SIGKILL");
  }
}
