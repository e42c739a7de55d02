/**
 * Starts the network for a whole run of the suite, on both runtimes at once, and stops it
 * after that. The test files find it through the environment; see network.ts.
 *
 * It runs in its own temporary folder, and ends by itself when its stdin does: not even a
 * SIGKILL of the test run leaves it behind.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { root } from "../harness/files.ts";
import { installBlueskyNetwork } from "./install.ts";

/** Names the file that describes the network to the tests. */
export const VARIABLE = "PARLEY_TEST_BLUESKY";

const scripts = ["start.mjs", "seed.mjs", "postgres.mjs", "loopback.mjs"];

export interface HostedNetwork {
  /** The file that describes it. */
  readonly description: string;
  stop(): Promise<void>;
}

export async function startBlueskyNetwork(): Promise<HostedNetwork> {
  const { modules, node } = installBlueskyNetwork();
  const folder = mkdtempSync(join(tmpdir(), "parley-bluesky-"));
  // PostgreSQL runs as another user if we are root, and needs access.
  chmodSync(folder, 0o755);
  for (const file of scripts) {
    copyFileSync(join(root, "tests/bluesky-net", file), join(folder, file));
  }
  symlinkSync(modules, join(folder, "node_modules"));
  const description = join(folder, "network.json");
  const child = spawn(node, [join(folder, "start.mjs")], {
    cwd: folder,
    // Its own process group: Ctrl-C at the terminal must not stop it before the tests that use it.
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => said = (said + text).slice(-20_000));
  const closed = once(child, "close");
  const stop = async () => {
    child.stdin.end();
    await closed;
    rmSync(folder, { recursive: true, force: true });
  };
  if (await saysReady(child)) {
    process.env[VARIABLE] = description;
    return { description, stop };
  }
  await stop();
  throw new Error(`Cannot start the Bluesky network of the tests:\n${said}`);
}

/** False if it ends first. */
function saysReady(child: ChildProcessWithoutNullStreams): Promise<boolean> {
  return new Promise((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (text) => {
      if (text.includes("ready")) resolve(true);
    });
    child.once("close", () => resolve(false));
  });
}
