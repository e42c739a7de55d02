/**
 * The packages that a new project needs. If this program runs from source, they are folders on this
 * machine; in an executable, they are embedded files.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isExecutable } from "./self.ts";

export type OwnPackages =
  /** Folders by package name. */
  | { readonly type: "folders"; readonly folders: { readonly [name: string]: string } }
  /** File contents by path. A path begins with the package name. */
  | { readonly type: "files"; readonly files: { readonly [path: string]: string } };

/** The packages besides Parley that a project imports or that its editor needs. */
const OTHERS = ["effection", "zod", "@types/node"];

/** The file that the compile script embeds in the executable. */
export const PACKED = "own-packages.bin";

/** `ours` is the name of Parley's package. `main` returns the URL of its entry module. */
export async function ownPackages(ours: string, main: () => string): Promise<OwnPackages> {
  if (isExecutable()) {
    // Load zlib only here, because loading it slows down start-up.
    const { gunzipSync } = await import("node:zlib");
    return { type: "files", files: JSON.parse(gunzipSync(await packedFile()).toString("utf8")) };
  }
  const root = rootOf(ours, fileURLToPath(main()));
  const others = OTHERS.map((name) => [name, packageFrom(root, name)] as const);
  const found = others.filter((one): one is [string, string] => one[1] !== undefined);
  return { type: "folders", folders: { [ours]: root, ...Object.fromEntries(found) } };
}

/** The folder of the package that contains a file. */
function rootOf(name: string, file: string): string {
  for (const folder of ancestors(dirname(file))) {
    const manifest = join(folder, "package.json");
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).name === name) {
      return folder;
    }
  }
  throw new Error(
    `Cannot find the package "${name}": no folder above ${file} contains it; install the dependencies`,
  );
}

/** The folder of a package that another package depends on. */
function packageFrom(root: string, name: string): string | undefined {
  const places = [...ancestors(root)].map((folder) => join(folder, "node_modules", name));
  const place = places.find((folder) => existsSync(folder));
  return place && realpathSync(place);
}

function* ancestors(folder: string): Generator<string> {
  for (let at = folder;; at = dirname(at)) {
    yield at;
    if (at === dirname(at)) return;
  }
}

/** The parts of Bun's API that this file uses. Bun's full types conflict with Deno's. */
declare const Bun: { readonly embeddedFiles: readonly (Blob & { readonly name: string })[] };

async function packedFile(): Promise<Uint8Array> {
  if (!("Bun" in globalThis)) {
    return readFileSync(new URL(`../../dist/${PACKED}`, import.meta.url));
  }
  const file = Bun.embeddedFiles.find(({ name }) => name.includes("own-packages"));
  if (!file) {
    throw new Error(
      `Cannot find ${PACKED} in the executable: the file was not embedded; compile the program again`,
    );
  }
  return new Uint8Array(await file.arrayBuffer());
}
