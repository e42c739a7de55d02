/**
 * Programs that some tests need and that npm does not provide. The suite never installs
 * them: `.ci/run` does. If one is missing, those tests are skipped with a message:
 *
 *     const onNetwork = it.unless(absence("bluesky", "browser"));
 *     onNetwork("logs in", function* () { … });
 *
 * With PARLEY_REQUIRE_ALL=1 they fail instead.
 */
import { existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";

export type SystemPart = keyof typeof parts;

export const CHROMIUM = "/usr/bin/chromium";

const parts = {
  /** The network of tests/bluesky-net, and the compiler for its native module. */
  bluesky(): string[] {
    if (process.platform !== "linux" || process.arch !== "x64") return ["Linux on x64"];
    return [
      ...hasPostgres() ? [] : ["postgresql"],
      ...missing({ python3: "python3", make: "make", "g++": "g++" }),
      ...missing({ npm: "npm", setpriv: "util-linux" }),
    ];
  },
  browser: (): string[] => existsSync(CHROMIUM) ? [] : ["chromium"],
  /** A separate Secret Service, apart from that of the person who runs the tests. */
  keyring: (): string[] =>
    missing({ "dbus-run-session": "dbus", "gnome-keyring-daemon": "gnome-keyring" }),
};

/** Why tests that need these cannot run here, with the Debian packages to install; or undefined. */
export function absence(...needed: SystemPart[]): string | undefined {
  const packages = new Set(needed.flatMap((part) => parts[part]()));
  return packages.size === 0 ? undefined : `this machine lacks ${[...packages].join(", ")}`;
}

function missing(programs: Record<string, string>): string[] {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return Object.entries(programs)
    .filter(([program]) => !folders.some((folder) => existsSync(join(folder, program))))
    .map(([, name]) => name);
}

function hasPostgres(): boolean {
  const versions = "/usr/lib/postgresql";
  return existsSync(versions) &&
    readdirSync(versions).some((version) => existsSync(join(versions, version, "bin/initdb")));
}
