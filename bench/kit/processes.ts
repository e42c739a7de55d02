/** The measured servers, the driver that measures them, and their CPU usage. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import { root } from "../../tests/harness/files.ts";
import { currentRuntime, type RuntimeName, useRuntime } from "../../tests/harness/toolchain.ts";
import type { Driven, Job } from "./driver.ts";

export type ServerName =
  | "bare"
  | "parley"
  | "parley-crowded"
  | "parley-console"
  | "v2"
  | "v1"
  | "fastmcp";

const PEERS = join(root, "bench/peers");

/** Servers from npm have their packages in their own folder. */
const isPeer = (name: ServerName) => name !== "bare" && !name.startsWith("parley");

/** Installs the servers to compare with, exactly as in the lock file. */
export function installPeers(): void {
  const { status, stdout, stderr } = spawnSync(
    useRuntime("bun").path,
    ["install", "--frozen-lockfile"],
    { cwd: PEERS, encoding: "utf8" },
  );
  if (status === 0) return;
  throw new Error(`Cannot install the packages of bench/peers:\n${stdout}${stderr}`);
}

/** The command of a server, on a runtime. */
export function serverCommand(
  name: ServerName,
  runtime: RuntimeName = currentRuntime(),
  stdio = false,
): readonly [path: string, ...args: string[]] {
  const { path } = useRuntime(runtime);
  const peer = isPeer(name);
  const file = join(
    peer ? PEERS : join(root, "bench/servers"),
    `${name}${stdio ? "-stdio" : ""}.${peer ? "mjs" : "ts"}`,
  );
  if (runtime === "bun") return [path, file];
  // With this setting, Deno creates no signal for each request. deno.json has it too.
  const flags = ["run", "-A", "--no-check", "--unstable-no-legacy-abort"];
  return peer
    ? [path, ...flags, "--no-config", "--node-modules-dir=manual", file]
    : [path, ...flags, file];
}

export class Server {
  private constructor(
    readonly name: ServerName,
    readonly port: number,
    readonly child: ChildProcess,
    /** The link that opens its console, if it has one. */
    readonly link: string,
  ) {}

  static async start(name: ServerName, ...more: string[]): Promise<Server> {
    const [path, ...args] = serverCommand(name);
    const child = spawn(path, [...args, ...more], {
      cwd: isPeer(name) ? PEERS : root,
      stdio: ["ignore", "pipe", "inherit"],
    });
    process.once("exit", () => child.kill("SIGKILL"));
    const lines = createInterface({ input: child.stdout! });
    const exited = once(child, "exit").then(([code]) => {
      throw new Error(`Cannot measure ${name}: its server ended with ${code}`);
    });
    const [line] = await Promise.race([once(lines, "line"), exited]);
    exited.catch(() => {});
    const [first, link = ""] = String(line).split(" ");
    const port = Number(first);
    if (!(port > 0)) throw new Error(`Cannot measure ${name}: it printed ${line}, not its port`);
    return new Server(name, port, child, link);
  }

  /** Seconds of CPU time that the server has used so far. */
  get cpu(): number {
    return cpuOf(this.child.pid!);
  }

  stop(): void {
    this.child.kill("SIGKILL");
  }
}

/** Seconds of CPU time that all threads of a process have used. */
export function cpuOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program comes first, in brackets, and may contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    const { stdout } = spawnSync("ps", ["-o", "cputime=", "-p", String(pid)], { encoding: "utf8" });
    return stdout.trim().split(/[:-]/).reduce((sum, part) => sum * 60 + Number(part), 0);
  }
}

/**
 * Milliseconds of CPU time that the threads of a process have used. More precise than `cpuOf`, but
 * without the threads that have ended. NaN if the system does not report it.
 */
export function processorTime(pid: number | undefined): number {
  try {
    const tasks = `/proc/${pid}/task`;
    const times = readdirSync(tasks).map((task) =>
      Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0])
    );
    return times.reduce((all, one) => all + one, 0) / 1e6;
  } catch {
    return NaN;
  }
}

/** Starts the driver. It always runs on Bun, on whichever runtime the server runs. */
export class Driver {
  readonly #child: ChildProcess;
  readonly #lines: Interface;

  constructor() {
    const { path } = useRuntime("bun");
    this.#child = spawn(path, [join(root, "bench/kit/driver.ts")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    process.once("exit", () => this.#child.kill("SIGKILL"));
    this.#lines = createInterface({ input: this.#child.stdout! });
  }

  async run(job: Job): Promise<Driven> {
    this.#child.stdin!.write(`${JSON.stringify(job)}\n`);
    const [line] = await once(this.#lines, "line");
    const driven: Driven | { problem: string } = JSON.parse(line);
    if ("problem" in driven) throw new Error(driven.problem);
    return driven;
  }

  stop(): void {
    this.#child.kill("SIGKILL");
  }
}
