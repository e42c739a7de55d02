/** Helpers for the exhaustion scenarios: a server in its own process, and its resource usage. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { root } from "../../tests/harness/files.ts";
import { type RuntimeName, useRuntime } from "../../tests/harness/toolchain.ts";

const started: ChildProcess[] = [];
process.once("exit", () => started.forEach((child) => child.kill("SIGKILL")));

export interface Scenario {
  readonly name: string;
  run(bench: Bench): Promise<void>;
}

export interface Bench {
  readonly runtime: RuntimeName;
  /** Prints a figure. */
  found(line: string): void;
  /** Fails the scenario. */
  problem(line: string): void;
}

/** `parley serve`, in its own process. */
export class ServerUnderLoad {
  private constructor(readonly child: ChildProcess, readonly port: number) {}

  /** Starts the server. `descriptors` limits the open file descriptors of the process. */
  static async start(
    runtime: RuntimeName,
    { args = [], modules = [join(root, "tests/transport/stdio/tools.ts")], descriptors }: {
      args?: readonly string[];
      modules?: readonly string[];
      descriptors?: number;
    } = {},
  ): Promise<ServerUnderLoad> {
    const { path } = useRuntime(runtime);
    const flags = runtime === "deno" ? ["run", "-A", "--no-check"] : [];
    const program = [
      path,
      ...flags,
      join(root, "src/main.ts"),
      "serve",
      ...modules,
      "--port",
      "0",
      ...args,
    ];
    const limit = descriptors === undefined ? "" : `ulimit -n ${descriptors} && `;
    const child = spawn("sh", ["-c", `${limit}exec "$@"`, "sh", ...program], {
      cwd: root,
      env: { ...process.env, NO_COLOR: "1" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    started.push(child);
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
      const port = /http:\/\/127\.0\.0\.1:(\d+)\/mcp/.exec(stderr)?.[1];
      if (port) resolve(Number(port));
    });
    child.once("exit", () => reject(new Error(`Cannot start the server: ${stderr}`)));
    return new ServerUnderLoad(child, await promise);
  }

  get exited(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Megabytes of memory that the process uses. */
  get memory(): number {
    return residentOf(this.child.pid!);
  }

  /** Milliseconds until the server answers. Undefined if it does not answer within `ms`. */
  async answersWithin(ms: number): Promise<number | undefined> {
    const started = performance.now();
    while (performance.now() - started < ms) {
      try {
        const response = await fetch(`${this.url}/healthz`, { signal: AbortSignal.timeout(ms) });
        await response.text();
        if (response.status === 200) return performance.now() - started;
      } catch {
        await pause(50);
      }
    }
    return undefined;
  }

  /** Runs a load. Returns the peak memory in megabytes, and the longest wait of other requests. */
  async during<T>(load: () => Promise<T>): Promise<Strain<T>> {
    let over = false;
    let megabytes = this.memory;
    let longestWait = 0;
    const watching = (async () => {
      while (!over) {
        const started = performance.now();
        await fetch(`${this.url}/healthz`).then((response) => response.text()).catch(() => {});
        longestWait = Math.max(longestWait, performance.now() - started);
        if (!this.exited) megabytes = Math.max(megabytes, this.memory);
        await pause(5);
      }
    })();
    const started = performance.now();
    try {
      const value = await load();
      return { value, ms: performance.now() - started, megabytes, longestWait };
    } finally {
      over = true;
      await watching;
    }
  }

  stop(): void {
    this.child.kill("SIGKILL");
  }
}

export interface Strain<T> {
  readonly value: T;
  readonly ms: number;
  readonly megabytes: number;
  /** Milliseconds. */
  readonly longestWait: number;
}

/** Megabytes of memory that a process uses. */
export function residentOf(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Opens connections from several processes, because each may have only a limited number. */
export class Crowds {
  readonly #children: ChildProcess[] = [];

  static async open(port: number, count: number, says = ""): Promise<Crowds> {
    const crowds = new Crowds();
    const each = 5_000;
    for (let left = count; left > 0; left -= each) {
      const child = spawn(useRuntime("bun").path, [
        join(root, "bench/exhaust/crowd.ts"),
        String(port),
        String(Math.min(left, each)),
        says,
      ], { stdio: ["ignore", "pipe", "inherit"] });
      started.push(child);
      crowds.#children.push(child);
      await once(createInterface({ input: child.stdout! }), "line");
    }
    return crowds;
  }

  leave(): void {
    for (const child of this.#children) child.kill("SIGKILL");
  }
}
