/** The server's program as one file, built once: it is started hundreds of times. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { root } from "../harness/files.ts";
import { currentRuntime, useRuntime } from "../harness/toolchain.ts";

let made: readonly [string, ...string[]] | undefined;

/** How to run it, under the runtime that runs the tests. */
export function serverProgram(): readonly [string, ...string[]] {
  return made ??= make();
}

function make(): readonly [string, ...string[]] {
  const folder = mkdtempSync(join(tmpdir(), "parley-kills-program-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "server.mjs");
  const build = ["build", "--target=node", "tests/kills/server.ts", `--outfile=${file}`];
  const { status, stderr } = spawnSync(useRuntime("bun").path, build, {
    cwd: root,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`The server's program cannot be made:\n${stderr}`);
  const name = currentRuntime();
  const { path } = useRuntime(name);
  return name === "deno"
    ? [path, "run", "-A", "--no-check", `--config=${join(root, "deno.json")}`, file]
    : [path, "run", file];
}
