/** What is built of the project, made anew once in each run of the suite on a runtime. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { buildPackage } from "../../scripts/package.ts";
import { root } from "../harness/files.ts";
import { currentRuntime, useRuntime } from "../harness/toolchain.ts";
import type { Start } from "./program.ts";

/**
 * Each run has a folder of its own, so that two of them do not take it away from each
 * other. Its test files share their environment, and nothing else. The runtime is in the
 * name: the two start at the same time, and each removes only what is old of its own.
 */
const prefix = `test-${currentRuntime()}-`;
const folder = join(root, "dist", `${prefix}${process.pid}`);

/** The folder of the package as npm gets it. */
export function builtPackage(): string {
  const out = join(folder, "npm");
  once("PARLEY_TEST_PACKAGE", out, () => buildPackage(out));
  return out;
}

/** The one file that needs nothing else. */
export function builtExecutable(): Start {
  const file = join(folder, "exe", process.platform === "win32" ? "parley.exe" : "parley");
  once("PARLEY_TEST_EXECUTABLE", file, () => {
    const args = [join(root, "scripts/compile.ts"), "--out", file];
    const { status, stdout, stderr } = spawnSync(useRuntime("bun").path, args, {
      cwd: root,
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`Cannot compile:\n${stdout}${stderr}`);
  });
  return [file];
}

function once(variable: string, made: string, make: () => void): void {
  const run = String(process.pid);
  if (process.env[variable] === run && existsSync(made)) return;
  removeOld();
  make();
  process.env[variable] = run;
}

/** What earlier runs have left: at the end of a run, not every runtime lets one clean up. */
function removeOld(): void {
  const dist = join(root, "dist");
  if (!existsSync(dist)) return;
  for (const name of readdirSync(dist)) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : 0;
    if (pid && !isAlive(pid)) rmSync(join(dist, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const NODE = "22.23.3";
/** What the package asks for in its `engines`. */
const OLDEST_NODE = [22, 19];

let node: string | undefined;

/** A Node that is new enough: the machine's own, or one that npm brings. */
export function useNode(): string {
  if (node) return node;
  for (const [command, ...args] of [["node"], ["npx", "-y", `node@${NODE}`]]) {
    const probe = "console.log(JSON.stringify([process.version, process.execPath]))";
    const { status, stdout } = spawnSync(command!, [...args, "-e", probe], {
      cwd: tmpdir(),
      encoding: "utf8",
      shell: process.platform === "win32",
    });
    if (status !== 0) continue;
    const [version, path]: [string, string] = JSON.parse(stdout.trim());
    const [major = 0, minor = 0] = version.slice(1).split(".").map(Number);
    if (major > OLDEST_NODE[0]! || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]!)) {
      return node = path;
    }
  }
  throw new Error(`Cannot find Node ${OLDEST_NODE.join(".")} or newer, nor get it through npx`);
}
