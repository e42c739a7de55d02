/**
 * The packages that tools import, for projects that stand on their own: folders of
 * this machine where this program runs from its source, files inside of it where it
 * is an executable.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isExecutable } from "./self.ts";

export type OwnPackages =
  /** Folders, by the names of the packages. */
  | { readonly type: "folders"; readonly folders: { readonly [name: string]: string } }
  /** Texts, by paths that begin with the name of the package. */
  | { readonly type: "files"; readonly files: { readonly [path: string]: string } };

/** What a project imports besides ours, or its editor wants to know. */
const OTHERS = ["effection", "zod", "@types/node"];

/** The file that the compile script puts into the executable. */
export const PACKED = "own-packages.bin";

/** `main` is the address of our own package's first module. */
export async function ownPackages(ours: string, main: () => string): Promise<OwnPackages> {
  if (isExecutable()) {
    // Loaded here, because nothing else at the start needs it and it takes its time.
    const { gunzipSync } = await import("node:zlib");
    return { type: "files", files: JSON.parse(gunzipSync(await packedFile()).toString("utf8")) };
  }
  const root = rootOf(ours, fileURLToPath(main()));
  const others = OTHERS.map((name) => [name, packageFrom(root, name)] as const);
  const found = others.filter((one): one is [string, string] => one[1] !== undefined);
  return { type: "folders", folders: { [ours]: root, ...Object.fromEntries(found) } };
}

/** The folder of a package, from a file in it. */
function rootOf(name: string, file: string): string {
  for (const folder of ancestors(dirname(file))) {
    const manifest = join(folder, "package.json");
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).name === name) {
      return folder;
    }
  }
  throw new Error(
    `Cannot find the package "${name}": no folder above ${file} has it; install the dependencies`,
  );
}

/** Where a package is that another one uses. */
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

/** As much of Bun's own types as is used here; the whole of them clashes with Deno's. */
declare const Bun: { readonly embeddedFiles: readonly (Blob & { readonly name: string })[] };

async function packedFile(): Promise<Uint8Array> {
  if (!("Bun" in globalThis)) {
    return readFileSync(new URL(`../../dist/${PACKED}`, import.meta.url));
  }
  const file = Bun.embeddedFiles.find(({ name }) => name.includes("own-packages"));
  if (!file) {
    throw new Error(
      `Cannot find ${PACKED} inside: the program was compiled without it; compile it anew`,
    );
  }
  return new Uint8Array(await file.arrayBuffer());
}
