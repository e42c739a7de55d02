/**
 * Runs every bench/*.bench.ts on Deno and on Bun, one after another so that they
 * do not disturb each other. Each may call `gc()`, and prints its own findings.
 *
 *     deno task bench [part of a file's name …]
 */
import process from "node:process";
import { runChild } from "../tests/harness/child.ts";
import { listFiles } from "../tests/harness/files.ts";
import { installDependencies, useRuntime } from "../tests/harness/toolchain.ts";

const parts = process.argv.slice(2);
const files = listFiles("bench", ".bench.ts")
  .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)));
if (files.length === 0) {
  console.log("There is nothing to measure: no such file as bench/*.bench.ts.");
  process.exitCode = 1;
} else installDependencies();

for (const file of files) {
  for (const name of ["deno", "bun"] as const) {
    const { version, path } = useRuntime(name);
    console.log(`\n== ${file} on ${name} ${version}`);
    const flags = name === "deno"
      ? ["run", "-A", "--no-check", "--v8-flags=--expose-gc"]
      : ["--expose-gc"];
    if (await runChild(path, [...flags, file]) !== 0) process.exitCode = 1;
  }
}
