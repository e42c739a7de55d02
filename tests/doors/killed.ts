/** The process of `killed-server.ts`, and the clients that go on after it was killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../harness/files.ts";
import { currentRuntime, useRuntime } from "../harness/toolchain.ts";
import { ORIGIN } from "../support/exchange.ts";
import type { KilledPlan } from "./killed-server.ts";
import type { OpenChannel } from "./stdio.ts";

export class KilledServers {
  readonly #folder = mkdtempSync(join(tmpdir(), "parley-doors-killed-"));
  readonly #plan: Omit<KilledPlan, "folder">;
  #child!: ChildProcess;
  #ports!: Promise<{ [server: string]: number }>;
  #lastChannel = 0;
  /** Where the lines of each open channel go, and what to do at its end. */
  readonly #channels = new Map<string, { hear: (line: string) => void; end: () => void }>();

  constructor(plan: Omit<KilledPlan, "folder">) {
    this.#plan = plan;
    this.start();
  }

  /** Starts the process. Requests wait until its servers listen. */
  start(): void {
    const name = currentRuntime();
    const run = name === "deno" ? ["run", "-A", "--no-check"] : ["run"];
    const plan = JSON.stringify({ folder: this.#folder, ...this.#plan });
    const child = this.#child = spawn(
      useRuntime(name).path,
      [...run, "tests/doors/killed-server.ts", plan],
      { cwd: root, stdio: ["pipe", "pipe", "pipe"] },
    );
    const listening = Promise.withResolvers<{ [server: string]: number }>();
    this.#ports = listening.promise;
    // Nobody may be waiting for it when it ends.
    listening.promise.catch(() => {});
    let rest = "";
    let isListening = false;
    child.stdout!.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        if (isListening) {
          const { channel, line: inner } = JSON.parse(line);
          this.#channels.get(channel)?.hear(inner);
        } else {
          isListening = true;
          listening.resolve(JSON.parse(line));
        }
      }
    });
    let problem = "";
    child.stderr!.setEncoding("utf8").on("data", (chunk) => problem += chunk);
    // What is sent to a process that was killed is lost.
    child.stdin!.on("error", () => {});
    child.once("exit", () => listening.reject(new Error(`It never listened:\n${problem}`)));
  }

  /** Kills the process with SIGKILL. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
    const channels = [...this.#channels.values()];
    this.#channels.clear();
    for (const { end } of channels) end();
  }

  async end(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The URL of a server for MCP, once it listens. */
  async where(server: string): Promise<string> {
    return `http://127.0.0.1:${(await this.#ports)[server]}/mcp`;
  }

  /** Sends a request for the public URL to the port of a server. */
  async fetch(server: string, request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const url = new URL(`${pathname}${search}`, await this.where(server));
    return await fetch(url, {
      method: request.method,
      headers: request.headers,
      redirect: "manual",
      ...(request.method === "POST" && { body: await request.text() }),
    });
  }

  /** Sends a request of a browser: to a public URL, or to the port of a page. */
  browse(server: string, request: Request): Promise<Response> {
    return new URL(request.url).origin === ORIGIN
      ? this.fetch(server, request)
      : fetch(request, { redirect: "manual" });
  }

  /** Opens a stdio channel of a server, once the process listens. */
  channel(server: string): OpenChannel {
    return async (hear, end) => {
      await this.#ports;
      const channel = String(++this.#lastChannel);
      this.#channels.set(channel, { hear, end });
      const { stdin } = this.#child;
      return {
        send: (line) => void stdin!.write(`${JSON.stringify({ server, channel, line })}\n`),
        close: () => Promise.resolve(void this.#channels.delete(channel)),
      };
    };
  }
}
