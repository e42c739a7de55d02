/** The licenses of the bundled third-party packages. */
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../tests/harness/files.ts";

interface Package {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly text: string;
}

/** Every package that is needed at run time, except those that are excluded. */
export function thirdParties(leftOut: readonly string[]): Package[] {
  const found = new Map<string, Package>();
  const visit = (name: string, from: string) => {
    const folder = folderOf(name, from);
    if (!folder || leftOut.includes(name) || found.has(folder)) return;
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const { version, license = "see its text", dependencies, optionalDependencies } = manifest;
    // A package may be installed under another name. Its manifest contains the real name.
    found.set(folder, { name: manifest.name, version, license, text: licenseIn(folder) });
    // Optional packages for other machines are not installed.
    for (const other of Object.keys({ ...dependencies, ...optionalDependencies })) {
      visit(other, folder);
    }
  };
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const name of Object.keys(dependencies)) visit(name, root);
  return [...found.values()].sort((a, b) => a.name < b.name ? -1 : 1);
}

/** The folder of a package that another package uses. */
export function folderOf(name: string, from: string): string | undefined {
  for (let at = realpathSync(from);; at = dirname(at)) {
    const folder = join(at, "node_modules", name);
    if (existsSync(folder)) return realpathSync(folder);
    if (at === dirname(at)) return undefined;
  }
}

function licenseIn(folder: string): string {
  const file = readdirSync(folder).find((name) => /^(?:licen[cs]e|copying)/i.test(name));
  return file ? readFileSync(join(folder, file), "utf8").trim() : "";
}

export function thirdPartyText(leftOut: readonly string[]): string {
  const parts = thirdParties(leftOut).map(({ name, version, license, text }) =>
    `${name} ${version} (${license})\n\n${text}`.trim()
  );
  return `What is inside of Parley and was written by others:\n\n${
    parts.join(`\n\n${"-".repeat(80)}\n\n`)
  }\n`;
}
