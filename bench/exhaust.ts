/**
 * Exhausts a server's resources, at full size, and fails if the server does not stay within
 * its limits or does not recover. The test suite does the same with lower limits.
 *
 *     deno task exhaust [part of a scenario's name …] [--runtime deno|bun]
 *
 * Each file in bench/exhaust/ that ends in `.scenario.ts` is a scenario.
 */
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { listFiles, root } from "../tests/harness/files.ts";
import { installDependencies, type RuntimeName } from "../tests/harness/toolchain.ts";
import type { Scenario } from "./exhaust/kit.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runtime: { type: "string" } },
});
installDependencies();
const files = listFiles("bench/exhaust", ".scenario.ts")
  .filter((file) => positionals.length === 0 || positionals.some((part) => file.includes(part)));
const runtimes = values.runtime ? [values.runtime as RuntimeName] : ["deno", "bun"] as const;
if (files.length === 0) {
  console.log(`Cannot find a scenario: no name contains ${positionals.join(" or ")}`);
  process.exitCode = 1;
}
for (const file of files) {
  const { name, run }: Scenario = (await import(join(root, file))).scenario;
  for (const runtime of runtimes) {
    const problems: string[] = [];
    console.log(`\n== ${name}, on ${runtime}`);
    try {
      await run({
        runtime,
        found: (line) => console.log(`  ${line}`),
        problem: (line) => problems.push(line),
      });
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
    for (const problem of problems) console.log(`  PROBLEM: ${problem}`);
    console.log(`  ${problems.length === 0 ? "ok" : "FAILED"}`);
    if (problems.length > 0) process.exitCode = 1;
  }
}
process.exit();
