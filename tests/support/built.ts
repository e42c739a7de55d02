/** What is built of the project, made anew once in each run of the suite. */
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { root } from "../harness/files.ts";
import { useRuntime } from "../harness/toolchain.ts";
import type { Start } from "./program.ts";

/** The folder of the package as npm gets it. */
export function builtPackage(): string {
  once("PARLEY_TEST_PACKAGE", () => script("build"));
  return join(root, "dist/npm");
}

/** The one file that needs nothing else. */
export function builtExecutable(): Start {
  const file = join(root, "tests/tmp", process.platform === "win32" ? "parley.exe" : "parley");
  once("PARLEY_TEST_EXECUTABLE", () => script("compile", "--out", file));
  return [file];
}

/** The test files of one run share their environment, and nothing else. */
function once(variable: string, make: () => void): void {
  const run = String(process.pid);
  if (process.env[variable] === run) return;
  make();
  process.env[variable] = run;
}

function script(name: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(
    useRuntime("bun").path,
    [`scripts/${name}.ts`, ...args],
    { cwd: root, encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`Cannot ${name}:\n${stdout}${stderr}`);
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
