/**
 * Runs every bench/*.bench.ts on Deno and on Bun, one after another so that they do not
 * disturb each other, and prints whether each target is met.
 *
 *     deno task bench [part of a file's name …] [--json]
 *     deno task bench against REVISION …
 *
 * The second form compares the working tree with other revisions; see bench/against.ts.
 * Without a name, runs all files and generates the table in README.md again. `--json` prints the
 * findings as JSON at the end, one finding per line.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { runChild } from "../tests/harness/child.ts";
import { listFiles, readText, root } from "../tests/harness/files.ts";
import { installDependencies, useRuntime } from "../tests/harness/toolchain.ts";
import { type Finding, lineOf } from "./kit/findings.ts";
import { withTable } from "./kit/table.ts";

const [first, ...rest] = process.argv.slice(2);
const parts = process.argv.slice(2).filter((part) => !part.startsWith("--"));
const asJson = process.argv.includes("--json");
const files = listFiles("bench", ".bench.ts")
  .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)));

if (first === "against") {
  const { path } = useRuntime("deno");
  const args = ["run", "-A", "--no-check", "bench/against.ts", ...rest];
  process.exitCode = await runChild(path, args);
} else if (files.length === 0) {
  console.log("There is nothing to measure: no file bench/*.bench.ts has this name.");
  process.exitCode = 1;
} else {
  installDependencies();
  const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
  try {
    await runAll(join(folder, "findings"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runAll(out: string): Promise<void> {
  writeFileSync(out, "");
  process.env.PARLEY_BENCH_OUT = out;
  for (const file of files) {
    for (const name of ["deno", "bun"] as const) {
      const { version, path } = useRuntime(name);
      console.log(`\n== ${file} on ${name} ${version}`);
      // Some benchmarks call gc(), and one needs memory for a million calls.
      const flags = name === "deno"
        ? ["run", "-A", "--no-check", "--v8-flags=--expose-gc,--max-old-space-size=12288"]
        : ["--expose-gc"];
      if (await runChild(path, [...flags, file]) !== 0) process.exitCode = 1;
    }
  }
  const findings = readFileSync(out, "utf8").trim().split("\n").filter(Boolean)
    .map((line): Finding => JSON.parse(line));
  summarize(findings);
  if (asJson) { for (const finding of findings) console.log(JSON.stringify(finding)); }
  if (parts.length > 0) return;
  const readme = join(root, "README.md");
  writeFileSync(readme, withTable(readText("README.md"), findings));
  console.log("The table in README.md has been generated again.");
}

function summarize(findings: readonly Finding[]): void {
  const aimed = findings.filter(({ aim }) => aim);
  const met = aimed.filter((finding) => finding.met);
  console.log(`\n${met.length} of ${aimed.length} targets are met`);
  for (const finding of aimed) {
    if (!finding.met) console.log(`  ${finding.runtime}: ${lineOf(finding)}`);
  }
}
