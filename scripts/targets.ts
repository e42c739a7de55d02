/** The machines that the program can be compiled for, by the target names of both compilers. */
import { join, resolve } from "node:path";
import process from "node:process";

/** A kind of machine, with npm's names. */
export interface Machine {
  readonly os: "linux" | "darwin" | "win32";
  readonly cpu: "x64" | "arm64";
  /** The suffix of native addon packages. Undefined for musl, whose addons Bun does not install. */
  readonly addon?: string;
}

const MACHINES: { readonly [target: string]: Machine } = {
  "bun-linux-x64": { os: "linux", cpu: "x64", addon: "linux-x64-gnu" },
  "bun-linux-x64-musl": { os: "linux", cpu: "x64" },
  "bun-linux-arm64": { os: "linux", cpu: "arm64", addon: "linux-arm64-gnu" },
  "bun-linux-arm64-musl": { os: "linux", cpu: "arm64" },
  "bun-darwin-arm64": { os: "darwin", cpu: "arm64", addon: "darwin-arm64" },
  "bun-darwin-x64": { os: "darwin", cpu: "x64", addon: "darwin-x64" },
  "bun-windows-x64": { os: "win32", cpu: "x64", addon: "win32-x64-msvc" },
  "x86_64-unknown-linux-gnu": { os: "linux", cpu: "x64", addon: "linux-x64-gnu" },
  "aarch64-unknown-linux-gnu": { os: "linux", cpu: "arm64", addon: "linux-arm64-gnu" },
  "aarch64-apple-darwin": { os: "darwin", cpu: "arm64", addon: "darwin-arm64" },
  "x86_64-apple-darwin": { os: "darwin", cpu: "x64", addon: "darwin-x64" },
  "x86_64-pc-windows-msvc": { os: "win32", cpu: "x64", addon: "win32-x64-msvc" },
};

/** The machine of a target. Undefined if the target is unknown. */
export function machineOf(target: string): Machine | undefined {
  return MACHINES[target.replace(/-(?:baseline|modern)$/, "")];
}

export interface Output {
  readonly target?: string | undefined;
  /** The path given with `--out`. */
  readonly out?: string | undefined;
}

/**
 * The file that a compiler writes. `parley` is the program for this machine. A program for a
 * target has the target in its name, so that it does not overwrite another one.
 */
export function outputFor({ target, out }: Output, folder: string): string {
  const own = target === undefined ? "parley" : `parley-${target.replace(/^bun-/, "")}`;
  const file = resolve(out ?? join(folder, own));
  const windows = target === undefined ? process.platform === "win32" : target.includes("windows");
  return windows && !file.endsWith(".exe") ? `${file}.exe` : file;
}
