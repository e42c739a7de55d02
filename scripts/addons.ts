/**
 * Native addons for other machines. npm installs only the addons for this machine, but a program
 * that is compiled for another machine must contain that machine's addons.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../tests/harness/files.ts";
import { useRuntime } from "../tests/harness/toolchain.ts";
import { machineOf } from "./targets.ts";

/** Installs the addons for a target where the bundler finds them, in the versions of the lock file. */
export function installAddonsFor(target: string): void {
  const { os, cpu, addon } = machineOf(target) ?? {};
  if (addon === undefined) {
    console.warn(
      `There is no keyring addon for ${target}: the program will keep credentials in sealed files.`,
    );
    return;
  }
  const name = `@napi-rs/keyring-${addon}`;
  if (existsSync(join(root, "node_modules", name))) return;
  const folder = mkdtempSync(join(tmpdir(), "parley-addons-"));
  try {
    for (const file of ["package.json", "bun.lock"]) {
      copyFileSync(join(root, file), join(folder, file));
    }
    const flags = ["--frozen-lockfile", "--production", "--ignore-scripts"];
    const args = ["install", ...flags, `--os=${os}`, `--cpu=${cpu}`];
    const { status, stderr } = spawnSync(useRuntime("bun").path, args, {
      cwd: folder,
      encoding: "utf8",
    });
    const from = join(folder, "node_modules", name);
    if (status !== 0 || !existsSync(from)) throw new Error(`Cannot install ${name}:\n${stderr}`);
    cpSync(from, join(root, "node_modules", name), { recursive: true });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
