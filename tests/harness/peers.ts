/**
 * Programs that tests run against ours, such as the official conformance suite.
 *
 * Nothing imports them and some are large, so they have their own package.json in
 * tests/peers. Bun installs them: some name optional packages that do not exist on
 * every registry, and Deno fails on those.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "./files.ts";
import { installOnce, useRuntime } from "./toolchain.ts";

const folder = join(root, "tests/peers");

const programs = {
  conformance: "@modelcontextprotocol/conformance/dist/index.js",
  inspector: "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
  mcpb: "@anthropic-ai/mcpb/dist/cli/cli.js",
};

/** Installs exactly what the lock file says. Takes no time if that is done already. */
export function installPeers(): void {
  installOnce("PARLEY_TEST_PEERS", folder, () => {
    const { path } = useRuntime("bun");
    const { status, stdout, stderr } = spawnSync(path, ["install", "--frozen-lockfile"], {
      cwd: folder,
      encoding: "utf8",
    });
    if (status === 0) return;
    throw new Error(`Cannot install what tests/peers names:\n${stdout}${stderr}`);
  });
}

/** The command that runs such a program, to be followed by its arguments. */
export function peerCommand(name: keyof typeof programs): readonly [string, string] {
  return [useRuntime("bun").path, join(folder, "node_modules", programs[name])];
}
