/**
 * Prepares the folder that `deno compile` works in. The compiler embeds all of node_modules, so
 * this folder has only the production dependencies, in the versions of the lock file.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../tests/harness/files.ts";
import { readDenoLock } from "../tests/harness/locks.ts";
import { useRuntime } from "../tests/harness/toolchain.ts";
import type { Machine } from "./targets.ts";

export interface StageOptions {
  /** The machine that the program is for. Default: this machine. */
  readonly machine?: Machine | undefined;
  /** More files to embed: paths in the folder, and their current paths. */
  readonly files?: { readonly [path: string]: string };
}

/** Empties the folder and fills it again. */
export function stage(folder: string, { machine, files = {} }: StageOptions = {}): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { devDependencies: _, ...manifest } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  // With lazy dynamic imports, the compiler could leave out modules that are loaded on first use.
  const config = JSON.parse(readFileSync(join(root, "deno.json"), "utf8"));
  config.unstable = config.unstable.filter((name: string) => name !== "lazy-dynamic-imports");
  writeFileSync(join(folder, "deno.json"), `${JSON.stringify(config, null, 2)}\n`);
  copyFileSync(join(root, "deno.lock"), join(folder, "deno.lock"));
  for (const name of ["src", "tools"]) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  for (const [path, from] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(from, join(folder, path));
  }
  install(folder, machine);
}

/** Installs the dependencies. The lock file is not frozen, because it loses the development ones. */
function install(folder: string, machine: Machine | undefined): void {
  const args = machine === undefined ? [] : [`--os=${machine.os}`, `--arch=${machine.cpu}`];
  const { status, stdout, stderr } = spawnSync(useRuntime("deno").path, ["install", ...args], {
    cwd: folder,
    encoding: "utf8",
  });
  if (status !== 0) {
    throw new Error(`Cannot install the dependencies of the program:\n${stdout}${stderr}`);
  }
  const [all, staged] = [root, folder].map((at) =>
    readDenoLock(readFileSync(join(at, "deno.lock"), "utf8"))
  );
  for (const [name, integrity] of staged!) {
    if (all!.get(name) === integrity) continue;
    throw new Error(
      `Cannot embed ${name}: deno.lock does not have it; run deno install, and commit the lock file`,
    );
  }
}
