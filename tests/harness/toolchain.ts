/**
 * Obtains Deno and Bun at the versions in package.json, so that one command is enough
 * on a machine that has only Node and npm.
 *
 * A runtime is always the path of its own executable, never of a wrapper: a wrapper
 * costs a second per start and swallows signals.
 */
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import process from "node:process";
import { readText, root } from "./files.ts";

export type RuntimeName = "deno" | "bun";

export interface Runtime {
  readonly name: RuntimeName;
  readonly version: string;
  /** Path of the executable. */
  readonly path: string;
}

const probes: Record<RuntimeName, readonly string[]> = {
  deno: ["eval", "console.log(JSON.stringify([Deno.version.deno, Deno.execPath()]))"],
  bun: ["-e", "console.log(JSON.stringify([Bun.version, process.execPath]))"],
};

const found = new Map<RuntimeName, Runtime>();

/** The pinned runtime of that name. Throws if it cannot be obtained. */
export function useRuntime(name: RuntimeName): Runtime {
  const known = found.get(name);
  if (known) return known;
  const version = pinnedVersion(name);
  for (const [command, ...args] of candidates(name, version)) {
    const runtime = command === undefined ? undefined : probe(name, command, args);
    if (runtime?.version !== version) continue;
    found.set(name, runtime);
    // A child, such as a test that runs the type checker, finds it here at once.
    process.env[variable(name)] = runtime.path;
    return runtime;
  }
  throw new Error(
    `Cannot find ${name} ${version}: neither installed nor to be had through npx; ` +
      `install it, or set ${variable(name)} to its path`,
  );
}

/** The runtime that executes this file, at any version. */
export function currentRuntime(): RuntimeName {
  return process.versions["bun"] === undefined ? "deno" : "bun";
}

/** The version stated in package.json, under `devEngines`. */
export function pinnedVersion(name: RuntimeName): string {
  const manifest: { devEngines: { runtime: { name: string; version: string }[] } } = JSON.parse(
    readText("package.json"),
  );
  const engine = manifest.devEngines.runtime.find((entry) => entry.name === name);
  if (!engine) throw new Error(`Cannot tell the version of ${name}: package.json names none`);
  return engine.version;
}

/** Installs exactly what the lock file says; the other runtime can use the result too. */
export function installDependencies(): void {
  installOnce("PARLEY_TEST_INSTALLED", root, () => {
    const runtime = useRuntime(currentRuntime());
    const flags = { deno: ["install", "--frozen"], bun: ["install", "--frozen-lockfile"] };
    const { status, stdout, stderr } = spawnSync(runtime.path, flags[runtime.name], {
      cwd: root,
      encoding: "utf8",
    });
    if (status === 0) return;
    throw new Error(`Cannot install the locked dependencies:\n${stdout}${stderr}`);
  });
}

/**
 * Once for this process and its children, which find the folder in their environment. Deno and Bun
 * lay packages out differently: installing while the other runs its tests would move files away
 * from them.
 */
export function installOnce(variable: string, folder: string, install: () => void): void {
  if (process.env[variable] === folder) return;
  install();
  process.env[variable] = folder;
}

function* candidates(name: RuntimeName, version: string): Generator<string[]> {
  const handedDown = process.env[variable(name)];
  if (handedDown) yield [handedDown];
  if (currentRuntime() === name) yield [process.execPath];
  yield [name];
  yield ["npx", "-y", `${name}@${version}`];
  yield ["bunx", `${name}@${version}`];
  if (currentRuntime() === "bun") yield [process.execPath, "x", `${name}@${version}`];
}

function probe(name: RuntimeName, command: string, args: string[]): Runtime | undefined {
  const { status, stdout } = spawnSync(command, [...args, ...probes[name]], {
    // Outside the repository, whose configuration would apply otherwise.
    cwd: tmpdir(),
    encoding: "utf8",
    stdio: ["ignore", "pipe", args.length > 0 ? "inherit" : "ignore"],
    // npx is a batch file on Windows, which only a shell can start.
    shell: process.platform === "win32" && args.length > 0,
  });
  if (status !== 0) return undefined;
  try {
    const [version, path]: [string, string] = JSON.parse(stdout.trim());
    return { name, version, path };
  } catch {
    return undefined; // something else by that name
  }
}

function variable(name: RuntimeName): string {
  return `PARLEY_TEST_${name.toUpperCase()}`;
}
