/**
 * The time from the start of the compiled program to its first answer, and the size of the program,
 * compared with a minimal compiled server. Both are started in turn, so that other load on the
 * machine affects both. It still affects the longer start more often, so only the faster quarter of
 * the starts counts. The CPU time, which other load does not change, is printed too if the system
 * reports it.
 *
 * Ends with an error if the program takes more than four times as long.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../tests/harness/files.ts";
import { useRuntime } from "../tests/harness/toolchain.ts";
import { type Aim, find } from "./kit/findings.ts";
import { initialize, type Start, startOverHttp, startOverStdio } from "./kit/starts.ts";

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

const initialized = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });

const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
try {
  const parley = join(folder, "parley");
  succeed([join(root, "scripts/compile.ts"), "--out", parley]);
  const bare = compiled("bare", BARE);
  const bareStdio = compiled("bare-stdio", BARE_STDIO);
  const http = await compare(
    () => startOverHttp(bare, []),
    () => startOverHttp(parley, ["serve", "--port", "0"]),
  );
  const stdio = await compare(
    () => startOverStdio(bareStdio, []),
    () => startOverStdio(parley, ["stdio"]),
  );
  // This measurement includes work that is deferred until after the first answer.
  const listed = await compare(
    () => startOverStdio(bareStdio, []),
    () => startOverStdio(parley, ["stdio"], undefined, [initialize, initialized, list]),
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
