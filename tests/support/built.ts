/** The builds of the project, made once in each run of the suite on a runtime. */
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
 * Each run has its own folder, so that two runs do not remove each other's. Its test files share
 * their environment, and nothing else. The runtime is in the name: both start at the same time,
 * and each removes only its own old folders.
 */
const prefix = `test-${currentRuntime()}-`;
const folder = join(root, "dist", `${prefix}${process.pid}`);

/** The package's folder, as npm gets it. */
export function builtPackage(): string {
  const out = join(folder, "npm");
  once("PARLEY_TEST_PACKAGE", out, () => buildPackage(out));
  return out;
}

/** The single-file program. */
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

/** Removes what earlier runs left: not every runtime can clean up at the end of a run. */
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
/** The Node version in the package's `engines`. */
const OLDEST_NODE = [22, 19];

let node: string | undefined;

/** A recent enough Node: the machine's own, or one from npm. */
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
