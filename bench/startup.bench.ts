/**
 * The time from the start of the compiled program to its first answer, and the size of the program,
 * compared with a minimal compiled server. Both are started in turn, so that other load on the
 * machine affects both. It still affects the longer start more often, so only the faster quarter of
 * the starts counts. The CPU time, which other load does not change, is printed too if the system
 * reports it.
 *
 * Ends with an error if the program takes more than four times as long.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../tests/harness/files.ts";
import { useRuntime } from "../tests/harness/toolchain.ts";
import { type Aim, find } from "./kit/findings.ts";

const ROUNDS = 60;
/** Maximum ratio to a minimal server. */
const MOST = 4;

const BARE = `
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("{}") });
console.error(\`http://127.0.0.1:\${server.port}/mcp \`);
`;

const BARE_STDIO = `
for await (const line of console) {
  console.log(JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(line).id, result: {} }));
  break;
}
`;

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "bench", version: "1" },
  },
});

const initialized = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });

const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
try {
  const parley = join(folder, "parley");
  succeed([join(root, "scripts/compile.ts"), "--out", parley]);
  const bare = compiled("bare", BARE);
  const bareStdio = compiled("bare-stdio", BARE_STDIO);
  const http = await compare(
    () => overHttp(bare, []),
    () => overHttp(parley, ["serve", "--port", "0"]),
  );
  const stdio = await compare(
    () => overStdio(bareStdio, [], [initialize]),
    () => overStdio(parley, ["stdio"], [initialize]),
  );
  // This measurement includes work that is deferred until after the first answer.
  const listed = await compare(
    () => overStdio(bareStdio, [], [initialize]),
    () => overStdio(parley, ["stdio"], [initialize, initialized, list]),
  );
  report("start-http", "start to the first answer over HTTP", http, { most: MOST });
  report("start-stdio", "start to the first answer over stdio", stdio, { most: MOST });
  report("start-list", "start to the list of tools over stdio", listed);
  const [size, bareSize] = [parley, bare].map((file) => statSync(file).size / 1e6) as [
    number,
    number,
  ];
  console.log(`  the file: ${size.toFixed(1)} MB, a bare one: ${bareSize.toFixed(1)} MB`);
  find("file-size", "size of the file, of a bare one's", size / bareSize, "×");
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function compiled(name: string, text: string): string {
  const source = join(folder, `${name}.ts`);
  const file = join(folder, name);
  writeFileSync(source, text);
  const flags = ["--compile", "--minify", "--bytecode", "--format=esm"];
  succeed(["build", ...flags, `--outfile=${file}`, source]);
  return file;
}

function succeed(args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(useRuntime("bun").path, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${stdout}${stderr}`);
}

/** Milliseconds. */
interface Start {
  readonly wall: number;
  /** The CPU time of all threads. NaN if the system does not report it. */
  readonly processor: number;
}

interface Time {
  /** The time of an almost undisturbed start: the first quartile. */
  readonly quiet: number;
  readonly median: number;
  readonly processor: number;
}

type Times = readonly [bare: Time, parley: Time];

/** Starts both programs in turn. */
async function compare(
  bare: () => Promise<Start>,
  parley: () => Promise<Start>,
): Promise<Times> {
  const starts: [Start[], Start[]] = [[], []];
  for (let round = -2; round < ROUNDS; round++) {
    const [one, other] = [await bare(), await parley()];
    // The first starts load the files into the disk cache.
    if (round < 0) continue;
    starts[0].push(one);
    starts[1].push(other);
  }
  return [timeOf(starts[0]), timeOf(starts[1])];
}

function timeOf(starts: readonly Start[]): Time {
  const walls = starts.map(({ wall }) => wall).sort((a, b) => a - b);
  const processors = starts.map(({ processor }) => processor).sort((a, b) => a - b);
  return {
    quiet: walls[walls.length >> 2]!,
    median: walls[walls.length >> 1]!,
    processor: processors[processors.length >> 1]!,
  };
}

/** The CPU time that a process has used so far. */
function processorTime(pid: number | undefined): number {
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

async function overHttp(file: string, args: readonly string[]): Promise<Start> {
  const start = performance.now();
  const child = spawn(file, args, { stdio: ["ignore", "ignore", "pipe"] });
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let said = "";
      child.stderr.setEncoding("utf8").on("data", (text) => {
        said += text;
        const address = /http:\S+(?=\s)/.exec(said)?.[0];
        if (address) resolve(address);
      });
      child.once("exit", () => reject(new Error(said)));
    });
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: initialize,
    });
    await response.text();
    return { wall: performance.now() - start, processor: processorTime(child.pid) };
  } finally {
    child.kill("SIGKILL");
  }
}

/** Sends everything at once, and waits for the answer to the last message. */
async function overStdio(
  file: string,
  args: readonly string[],
  messages: readonly string[],
): Promise<Start> {
  const start = performance.now();
  const child = spawn(file, args, { stdio: ["pipe", "pipe", "ignore"] });
  const { id } = JSON.parse(messages.at(-1)!);
  try {
    child.stdin.write(`${messages.join("\n")}\n`);
    await new Promise<void>((resolve, reject) => {
      let said = "";
      child.stdout.setEncoding("utf8").on("data", (text) => {
        said += text;
        const whole = said.split("\n").slice(0, -1);
        if (whole.some((line) => JSON.parse(line).id === id)) resolve();
      });
      child.once("exit", () => reject(new Error(said)));
    });
    return { wall: performance.now() - start, processor: processorTime(child.pid) };
  } finally {
    child.kill("SIGKILL");
  }
}

function report(key: string, what: string, [bare, parley]: Times, aim?: Aim): void {
  const byClock = parley.quiet / bare.quiet;
  const byProcessor = parley.processor / bare.processor;
  console.log(`  ${what}: ${shown(parley)}; a bare one's: ${shown(bare)}`);
  console.log(`  on the processor it takes ${byProcessor.toFixed(2)} times a bare one's time`);
  find(key, `${what}, of a bare one's`, byClock, "×", aim);
  // Other load on the machine stretches the longer start more than the shorter one.
  if (aim?.most !== undefined && byClock > aim.most && byProcessor <= aim.most) {
    console.log("  by the clock only: if the machine is busy, measure again");
  }
}

function shown({ quiet, median, processor }: Time): string {
  const known = Number.isNaN(processor) ? "" : `, on the processor ${processor.toFixed(1)}`;
  return `${quiet.toFixed(1)} ms (median ${median.toFixed(1)}${known})`;
}
