/**
 * Compares the cost of this working tree with that of earlier revisions, in interleaved rounds, so
 * that other load on the machine affects all of them. Costs are CPU time of the server (all its
 * threads), which other load changes little. Ratios are computed within each round.
 *
 *     deno task bench against REVISION … [--only part of a measure's name] [--deno | --bun]
 *                                        [--starts 3] [--rounds 20]
 *
 * A ratio below 1 means that the working tree is cheaper. The range is that of the middle half of
 * the rounds. Each measure runs in several starts of
 * each server, because a runtime may compile the same code differently each time.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import { parseArgs } from "node:util";
import { root } from "../tests/harness/files.ts";
import { installDependencies, type RuntimeName, useRuntime } from "../tests/harness/toolchain.ts";
import { middleHalf } from "./kit/findings.ts";
import type { Era, Work } from "./kit/flows.ts";
import { Driver, processorTime } from "./kit/processes.ts";
import { startOverHttp, startOverStdio } from "./kit/starts.ts";
import { StdioServer } from "./kit/stdio.ts";

const { values: options, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: {
    only: { type: "string", multiple: true, default: [] },
    deno: { type: "boolean", default: false },
    bun: { type: "boolean", default: false },
    starts: { type: "string", default: "3" },
    rounds: { type: "string", default: "20" },
  },
});
const STARTS = Number(options.starts);
const ROUNDS = Number(options.rounds);
const WARM_UP = 2_500;
/** Milliseconds of a round. Short rounds meet the same load on the machine. */
const MS = 150;
const USERS = 16;

interface Revision {
  readonly name: string;
  readonly folder: string;
}

/** A server that is being measured. */
interface Running {
  /** Runs the work once. Returns its cost. */
  round(ms: number): Promise<number>;
  stop(): void;
}

interface Measure {
  readonly name: string;
  readonly unit: string;
  readonly runtimes?: readonly RuntimeName[];
  start(revision: Revision, runtime: RuntimeName): Promise<Running>;
}

const measures: readonly Measure[] = [
  ...overHttp("call"),
  ...overHttp("list"),
  ...overHttp("elicit"),
  ...overHttp("progress"),
  { name: "call over stdio", unit: "µs", start: stdioCalls },
  inProcess("durable", "durable question and retry, SQLite", "µs"),
  inProcess("revived", "revived retry, SQLite", "µs"),
  inProcess("heap", "heap of a parked call", "bytes"),
  { name: "call through serve, logged", unit: "µs", start: logged },
  started("start of serve from source", (folder, runtime) => {
    const flags = runtime === "deno" ? ["run", "-A", "--no-check"] : [];
    const args = [...flags, join(folder, "src/main.ts"), "serve", "--port", "0"];
    return startOverHttp(useRuntime(runtime).path, args, folder);
  }),
  started("start of stdio from source", (folder, runtime) => {
    const flags = runtime === "deno" ? ["run", "-A", "--no-check"] : [];
    const args = [...flags, join(folder, "src/main.ts"), "stdio"];
    return startOverStdio(useRuntime(runtime).path, args, folder);
  }),
  {
    ...started(
      "start of serve, compiled",
      (folder) => startOverHttp(join(folder, PROGRAM), ["serve", "--port", "0"], folder),
      compile,
    ),
    runtimes: ["bun"],
  },
];

/** The compiled program, in the folder of its revision. */
const PROGRAM = "dist/bench-against";

await main();

async function main(): Promise<void> {
  if (positionals.length === 0) {
    console.log("Cannot compare: no revision is given; pass one, such as HEAD~1");
    process.exitCode = 1;
    return;
  }
  installDependencies();
  // Each server has a listener that stops it at the end.
  process.setMaxListeners(0);
  const revisions = [{ name: "now", folder: root }, ...positionals.map(checkOut)];
  const runtimes = (["deno", "bun"] as const).filter((name) =>
    options[name] || options.deno === options.bun
  );
  const chosen = measures.filter(({ name }) =>
    options.only.length === 0 || options.only.some((part) => name.includes(part))
  );
  for (const measure of chosen) {
    for (const runtime of runtimes) {
      if (measure.runtimes?.includes(runtime) === false) continue;
      report(measure, runtime, revisions, await compare(measure, runtime, revisions));
    }
  }
}

/** A folder with the files and packages of a revision. It is kept for the next comparison. */
function checkOut(name: string): Revision {
  const commit = succeed("git", ["rev-parse", "--verify", `${name}^{commit}`], root).trim();
  const folder = join(tmpdir(), `parley-against-${commit.slice(0, 12)}`);
  if (!existsSync(folder)) {
    const fresh = `${folder}.${process.pid}`;
    mkdirSync(fresh);
    succeed("sh", ["-c", `git archive ${commit} | tar -x -C "${fresh}"`], root);
    succeed(useRuntime("deno").path, ["install", "--frozen"], fresh);
    renameSync(fresh, folder);
  }
  for (const file of ["servers/against.ts", "kit/heap.ts"]) {
    copyFileSync(join(root, "bench", file), join(folder, "bench", file));
  }
  return { name, folder };
}

/** The costs of each revision, one for each round. */
async function compare(
  measure: Measure,
  runtime: RuntimeName,
  revisions: readonly Revision[],
): Promise<number[][]> {
  const costs: number[][] = revisions.map(() => []);
  for (let start = 0; start < STARTS; start++) {
    const running: Running[] = [];
    try {
      for (const revision of revisions) running.push(await measure.start(revision, runtime));
      for (const server of running) await server.round(WARM_UP);
      for (let round = 0; round < ROUNDS; round++) {
        for (let i = 0; i < running.length; i++) {
          const at = (i + round) % running.length;
          costs[at]!.push(await running[at]!.round(MS));
        }
      }
    } finally {
      for (const server of running) server.stop();
    }
  }
  return costs;
}

function report(
  { name, unit }: Measure,
  runtime: RuntimeName,
  revisions: readonly Revision[],
  costs: readonly (readonly number[])[],
): void {
  const [now] = costs as [number[]];
  const label = `${runtime}, ${name}`.padEnd(42);
  const parts = revisions.map((revision, i) => {
    const value = middleHalf(costs[i]!).value.toFixed(1);
    if (i === 0) return `${value} ${unit}`;
    const { value: ratio, low, high } = middleHalf(now.map((cost, n) => cost / costs[i]![n]!));
    const spread = `${low.toFixed(2)} to ${high.toFixed(2)}`;
    return `${revision.name} ${value}, ratio ${ratio.toFixed(3)} (${spread})`;
  });
  console.log(`${label} ${parts.join("; ")}`);
}

// --------------------------------------------------------------------- measures

function overHttp(work: Work): Measure[] {
  const name = { call: "call", elicit: "question", progress: "100 progress events", list: "list" };
  return (["legacy", "modern"] as const).map((era) => ({
    name: `${era} ${name[work]}`,
    unit: "µs",
    start: (revision, runtime) => {
      const file = join(revision.folder, "bench/servers/parley.ts");
      return driven(spawnIn(revision, commandOf(runtime, file), "pipe"), era, work);
    },
  }));
}

/** A process that prints its port, or its address, and is then driven over HTTP. */
async function driven(
  child: ChildProcess,
  era: Era,
  work: Work,
  output = child.stdout!,
): Promise<Running> {
  const port = await portIn(child, createInterface({ input: output }));
  const driver = new Driver();
  return {
    async round(ms) {
      const before = processorTime(child.pid);
      const { flows } = await driver.run({ port, era, work, users: USERS, ms });
      return (processorTime(child.pid) - before) * 1_000 / flows;
    },
    stop() {
      driver.stop();
      child.kill("SIGKILL");
    },
  };
}

async function portIn(child: ChildProcess, lines: Interface): Promise<number> {
  const exited = once(child, "exit").then(() => {
    throw new Error("Cannot compare: the server ended; see its output");
  });
  exited.catch(() => {});
  for (;;) {
    const [line] = await Promise.race([once(lines, "line"), exited]);
    const port = /^\d+$|(?<=http:\/\/[^/]+:)\d+/.exec(line)?.[0];
    if (port) return Number(port);
  }
}

/** Calls through the program, which logs each call. */
function logged(revision: Revision, runtime: RuntimeName): Promise<Running> {
  const command = commandOf(runtime, join(revision.folder, "src/main.ts"));
  const tools = join(revision.folder, "bench/servers/tools.ts");
  const child = spawnIn(
    revision,
    [...command, "serve", tools, "--port", "0", "--log-level", "info"],
    "ignore",
    "pipe",
  );
  return driven(child, "modern", "call", child.stderr!);
}

async function stdioCalls(revision: Revision, runtime: RuntimeName): Promise<Running> {
  const file = join(revision.folder, "bench/servers/parley-stdio.ts");
  const server = new StdioServer(commandOf(runtime, file), revision.folder);
  await server.initialize();
  return {
    // As many calls as fit into this time on a slow machine.
    round: async (ms) => await server.calls(ms * 8),
    stop: () => server.stop(),
  };
}

function inProcess(job: string, name: string, unit: string): Measure {
  return {
    name,
    unit,
    start: (revision, runtime) => {
      const file = join(revision.folder, "bench/servers/against.ts");
      const child = spawnIn(revision, commandOf(runtime, file, true), "pipe", "inherit", "pipe");
      const lines = createInterface({ input: child.stdout! });
      const round = async () => {
        child.stdin!.write(`${job}\n`);
        const [line] = await once(lines, "line");
        return Number(line);
      };
      return Promise.resolve({
        round: async (ms) => {
          // The warm-up needs several rounds.
          if (ms === WARM_UP && job !== "heap") { for (let n = 0; n < 4; n++) await round(); }
          return await round();
        },
        stop: () => child.kill("SIGKILL"),
      });
    },
  };
}

/** The CPU time from the start of a program to its first answer. */
function started(
  name: string,
  run: (folder: string, runtime: RuntimeName) => Promise<{ readonly processor: number }>,
  prepare?: (revision: Revision) => void,
): Measure {
  return {
    name,
    unit: "ms",
    start: (revision, runtime) => {
      prepare?.(revision);
      const round = async () => (await run(revision.folder, runtime)).processor;
      return Promise.resolve({ round, stop: () => {} });
    },
  };
}

function compile({ folder }: Revision): void {
  const file = join(folder, PROGRAM);
  if (folder === root) rmSync(file, { force: true });
  if (existsSync(file)) return;
  succeed(useRuntime("bun").path, [join(folder, "scripts/compile.ts"), "--out", file], folder);
}

function commandOf(runtime: RuntimeName, file: string, gc = false): readonly string[] {
  const { path } = useRuntime(runtime);
  if (runtime === "bun") return [path, ...(gc ? ["--expose-gc"] : []), file];
  const flags = ["run", "-A", "--no-check", "--unstable-no-legacy-abort"];
  return [path, ...flags, ...(gc ? ["--v8-flags=--expose-gc"] : []), file];
}

function spawnIn(
  { folder }: Revision,
  [path, ...args]: readonly string[],
  stdout: "pipe" | "ignore",
  stderr: "inherit" | "pipe" = "inherit",
  stdin: "ignore" | "pipe" = "ignore",
): ChildProcess {
  const child = spawn(path!, args, { cwd: folder, stdio: [stdin, stdout, stderr] });
  process.once("exit", () => child.kill("SIGKILL"));
  return child;
}

function succeed(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status === 0) return stdout;
  throw new Error(`Cannot run ${command} ${args.join(" ")}:\n${stdout}${stderr}`);
}
