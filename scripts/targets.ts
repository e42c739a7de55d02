/** What the program can be compiled for, by the names that the two compilers give it. */
import { join, resolve } from "node:path";
import process from "node:process";

/** A kind of machine, in the words of npm. */
export interface Machine {
  readonly os: "linux" | "darwin" | "win32";
  readonly cpu: "x64" | "arm64";
  /** How the packages with native addons for it end; none for musl, which Bun does not install. */
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

/** The machine that a target is for; undefined for a target that is not known here. */
export function machineOf(target: string): Machine | undefined {
  return MACHINES[target.replace(/-(?:baseline|modern)$/, "")];
}

export interface Output {
  readonly target?: string | undefined;
  /** The path that was asked for. */
  readonly out?: string | undefined;
}

/**
 * The file that a compiler writes. `parley` is the program for this machine, which people have
 * on their PATH. A program for a stated target has that target in its name, so that it replaces
 * no other.
 */
export function outputFor({ target, out }: Output, folder: string): string {
  const own = target === undefined ? "parley" : `parley-${target.replace(/^bun-/, "")}`;
  const file = resolve(out ?? join(folder, own));
  const windows = target === undefined ? process.platform === "win32" : target.includes("windows");
  return windows && !file.endsWith(".exe") ? `${file}.exe` : file;
}
