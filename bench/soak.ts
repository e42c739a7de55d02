/**
 * Mixed load for ten minutes: calls, questions and progress in both eras, and clients that disconnect
 * in the middle of a flow. It fails if a response is wrong, if the server reports a fault, if its
 * live heap grows, or if calls or streams remain after the load.
 *
 *     deno task soak [--minutes 10] [--runtime deno|bun]
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { root } from "../tests/harness/files.ts";
import { installDependencies, type RuntimeName, useRuntime } from "../tests/harness/toolchain.ts";
import { HttpConnection } from "./kit/connection.ts";
import { startUser, type Target, vanish } from "./kit/flows.ts";
import { atRest, judge, type Standing } from "./kit/soaked.ts";

/** Users of each kind that run one flow after another. */
const USERS = 3;
/** Seconds for the server to become idle after the load. */
const REST = 15;

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "10" }, runtime: { type: "string" } },
});
const minutes = Number(values.minutes);
if (!(minutes > 0)) {
  throw new Error(`Cannot run for "${values.minutes}" minutes: it is not a number above 0`);
}
installDependencies();
const runtimes = values.runtime ? [values.runtime as RuntimeName] : ["deno", "bun"] as const;
for (const runtime of runtimes) {
  const problems = await soak(runtime, minutes / runtimes.length * 60_000);
  for (const problem of problems) console.log(`  PROBLEM: ${problem}`);
  console.log(`${runtime}: ${problems.length === 0 ? "ok" : "FAILED"}`);
  if (problems.length > 0) process.exitCode = 1;
}
process.exit();

async function soak(runtime: RuntimeName, ms: number): Promise<string[]> {
  const { path, version } = useRuntime(runtime);
  const flags = runtime === "deno"
    ? ["run", "-A", "--no-check", "--v8-flags=--expose-gc"]
    : ["--expose-gc"];
  const child = spawn(path, [...flags, join(root, "bench/servers/parley-soak.ts")], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout });
  const [line] = await once(lines, "line");
  const port = Number(line);
  const standings: Standing[] = [];
  lines.on("line", (line) => standings.push(JSON.parse(line)));
  let died = false;
  child.once("exit", () => died = true);

  console.log(`${runtime} ${version}: ${(ms / 60_000).toFixed(1)} minutes on port ${port}`);
  const { flows, vanished, problems } = await load(port, performance.now() + ms, () => died);
  const during = [...standings];
  for (let second = 0; second < REST && !atRest(standings.at(-1)); second++) {
    await once(lines, "line", { signal: AbortSignal.timeout(10_000) }).catch(() => died = true);
    if (died) break;
  }
  child.kill("SIGKILL");
  const last = standings.at(-1);
  console.log(`  ${flows} flows, ${vanished} clients vanished, at the end ${JSON.stringify(last)}`);
  if (died) return [...problems, "the server died"];
  const { growth, found } = judge(during, last);
  console.log(`  the live heap has grown by ${Math.round(growth)} KB`);
  return [...problems, ...found];
}

/** Runs all kinds of load at once until the time is over or a problem is found. */
async function load(port: number, end: number, died: () => boolean) {
  const problems: string[] = [];
  let flows = 0;
  let vanished = 0;
  const going = () => performance.now() < end && problems.length === 0 && !died();
  const safely = async (what: string, act: () => Promise<void>) => {
    try {
      while (going()) await act();
    } catch (error) {
      if (going()) problems.push(`${what}: ${(error as Error).message}`);
    }
  };
  const kinds = (["legacy", "modern"] as const).flatMap((era) =>
    (["call", "elicit", "progress"] as const).map((work): Target => ({ port, era, work }))
  );
  await Promise.all(kinds.flatMap((target) => [
    ...Array.from({ length: USERS }, () =>
      safely(`${target.era} ${target.work}`, async () => {
        // A client stays for a while, and is then replaced by another.
        const user = await startUser(target);
        for (let n = 1; n <= 200 && going(); n++) {
          await user.once(n);
          flows++;
        }
        user.close();
      })),
    safely(`${target.era} ${target.work}, vanishing`, async () => {
      await vanish(target);
      vanished++;
    }),
  ]));
  // The server still answers.
  await HttpConnection.open(port).then((connection) => connection.destroy(), (error) => {
    problems.push(`it no longer takes connections: ${error.message}`);
  });
  return { flows, vanished, problems };
}
