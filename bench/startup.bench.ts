/**
 * How long the compiled program takes from its start to its first answer, beside a
 * bare compiled server, and how large it is. Both are started in turn, so that
 * whatever else the machine does befalls both.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { root } from "../tests/harness/files.ts";
import { useRuntime } from "../tests/harness/toolchain.ts";

const ROUNDS = 40;
/** More than this many times a bare server is too slow. */
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
    () => overStdio(bareStdio, []),
    () => overStdio(parley, ["stdio"]),
  );
  report("HTTP", http);
  report("stdio", stdio);
  const [size, bareSize] = [parley, bare].map((file) => statSync(file).size / 1e6);
  console.log(`the file: ${size!.toFixed(1)} MB, a bare one: ${bareSize!.toFixed(1)} MB`);
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

/** Milliseconds: of a start that little has disturbed (a quarter is faster), and of a usual one. */
interface Time {
  readonly quiet: number;
  readonly median: number;
}

type Times = readonly [bare: Time, parley: Time];

/** Starts both in turn. */
async function compare(
  bare: () => Promise<number>,
  parley: () => Promise<number>,
): Promise<Times> {
  const times: [number[], number[]] = [[], []];
  for (let round = -2; round < ROUNDS; round++) {
    const [one, other] = [await bare(), await parley()];
    // The first ones bring the files into memory.
    if (round < 0) continue;
    times[0].push(one);
    times[1].push(other);
  }
  return [timeOf(times[0]), timeOf(times[1])];
}

function timeOf(times: number[]): Time {
  times.sort((a, b) => a - b);
  return { quiet: times[times.length >> 2]!, median: times[times.length >> 1]! };
}

async function overHttp(file: string, args: readonly string[]): Promise<number> {
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
    return performance.now() - start;
  } finally {
    child.kill("SIGKILL");
  }
}

async function overStdio(file: string, args: readonly string[]): Promise<number> {
  const start = performance.now();
  const child = spawn(file, args, { stdio: ["pipe", "pipe", "ignore"] });
  try {
    child.stdin.write(`${initialize}\n`);
    await new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
    return performance.now() - start;
  } finally {
    child.kill("SIGKILL");
  }
}

function report(transport: string, [bare, parley]: Times): void {
  const ratio = parley.quiet / bare.quiet;
  const shown = ({ quiet, median }: Time) => `${quiet.toFixed(1)} ms (median ${median.toFixed(1)})`;
  console.log(
    `start to first answer over ${transport}: ${shown(parley)}, a bare server: ${
      shown(bare)
    }, ratio ${ratio.toFixed(2)} (at most ${MOST}): ${ratio <= MOST ? "ok" : "TOO SLOW"}`,
  );
  if (ratio > MOST) process.exitCode = 1;
}
