/**
 * Runs every test file on Deno and on Bun at the same time, and prints one closing line
 * that counts both. Deno's output is printed as it comes; Bun's waits in a file until Deno
 * is done. Uses `node:` modules only, since either runtime may run this file.
 *
 *     deno task test [--deno | --bun] [part of a file's path …]
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { startBlueskyNetwork } from "./bluesky-net/host.ts";
import { endChildren, runChild } from "./harness/child.ts";
import { listFiles } from "./harness/files.ts";
import { HeldOutput } from "./harness/held-output.ts";
import { installPeers } from "./harness/peers.ts";
import { reaches } from "./harness/reach.ts";
import { closingLine, sight, type Sightings, type Tally, tally } from "./harness/report.ts";
import { absence } from "./harness/system.ts";
import { installDependencies, type RuntimeName, useRuntime } from "./harness/toolchain.ts";

const runtimes: readonly RuntimeName[] = ["deno", "bun"];
const words = process.argv.slice(2);
const parts = words.filter((word) => !word.startsWith("--"));
const chosen = runtimes.filter((name) => words.includes(`--${name}`));
const strange = words.find((word) => word.startsWith("--") && !/^--(deno|bun)$/.test(word));
if (strange) throw new Error(`Cannot use "${strange}": --deno and --bun are the only flags`);

const files = listFiles("tests", ".test.ts")
  .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)));

const reports = mkdtempSync(join(tmpdir(), "parley-tests-"));
process.on("exit", () => rmSync(reports, { recursive: true, force: true }));

const tallies: Tally[] = [];
if (files.length === 0) {
  console.log(`No test file has ${parts.map((part) => `"${part}"`).join(" or ")} in its path.`);
} else {
  installDependencies();
  // Before the first test, so that no download counts against a test's time limit.
  runtimes.forEach(useRuntime);
  installPeers();
  const network = needsNetwork() ? await startBlueskyNetwork() : undefined;
  try {
    const runs = (chosen.length > 0 ? chosen : runtimes).map(startSuite);
    for (const run of runs) tallies.push(await showSuite(run));
  } finally {
    // A runtime that cannot be started must not wait for the other.
    endChildren();
    await network?.stop();
  }
}

const good = tallies.length > 0 && tallies.every((one) => one.failed === 0 && ran(one));
console.log(`\n${closingLine(tallies)}`);
// Not exit(): the output must reach a slow reader first.
process.exitCode = good ? 0 : 1;

interface Run {
  name: RuntimeName;
  reportPath: string;
  output: HeldOutput;
  sightings: Sightings;
  /** The runner's exit code, once it has ended. */
  ended: Promise<number>;
}

function startSuite(name: RuntimeName): Run {
  const reportPath = join(reports, `${name}.xml`);
  const output = new HeldOutput(join(reports, `${name}.txt`));
  const sightings: Sightings = { files: new Set(), strays: [] };
  const ended = runChild(useRuntime(name).path, testCommand(name, reportPath), {
    onLine: (line) => sight(name, line, sightings),
    output,
  });
  // It is awaited later, in its turn. Until then, an unhandled rejection must not end the process.
  ended.catch(() => {});
  return { name, reportPath, output, sightings, ended };
}

async function showSuite({ name, reportPath, output, sightings, ended }: Run): Promise<Tally> {
  const { version } = useRuntime(name);
  console.log(`\n== ${name} ${version}`);
  await output.show();
  const code = await ended;
  const report = existsSync(reportPath) ? readFileSync(reportPath, "utf8") : undefined;
  const result = tally(name, { files, report, code, sightings });
  for (const test of result.skipped) console.log(`SKIPPED on ${name}: ${test}`);
  for (const complaint of result.complaints) console.log(`FAILED on ${name}: ${complaint}`);
  console.log(`\n== ${name} ${version}: ${closingLine([result])}`);
  if (!ran(result)) console.log(`FAILED on ${name}: not a single test passed`);
  return result;
}

/** Starting it takes time, so only tests that use it pay for it. */
function needsNetwork(): boolean {
  return absence("bluesky") === undefined && reaches(files, "tests/bluesky-net/network.ts");
}

/**
 * A suite that runs nothing must not look green; a single file, given by name, may skip a runtime.
 */
function ran(result: Tally): boolean {
  return result.passed > 0 || (parts.length > 0 && result.skipped.length > 0);
}

function testCommand(name: RuntimeName, reportPath: string): string[] {
  const paths = files.map((file) => `./${file}`);
  // `check` and tests/types check the types.
  if (name === "deno") return ["test", "-A", "--no-check", `--junit-path=${reportPath}`, ...paths];
  return [
    "test",
    "--reporter=junit",
    `--reporter-outfile=${reportPath}`,
    // Bun gives up after 5 s by default; Deno never does. suite.ts sets the time limit on both.
    "--timeout=600000",
    ...paths,
  ];
}
