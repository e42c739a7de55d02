/** Puts modules into a bundle, with everything they import and the other files in their folders. */
import type { Operation } from "effection";
import { realpathSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { BUNDLED, findBundler, runBundler } from "../../platform/bundler.ts";
import { copyFiles } from "./bundle-files.ts";
import { modulesAt } from "./load.ts";
import { Problem } from "../problem.ts";

export interface ModulesToBundle {
  /** Module files, or folders of them. */
  readonly paths: readonly string[];
  /** The program that goes into the bundle. */
  readonly program: string;
  /** The output folder. */
  readonly out: string;
  /** A folder for temporary files. */
  readonly work: string;
  /** Packages that are not bundled, because the program contains them. */
  readonly external: readonly string[];
}

const FOLDER = "modules";

export interface BundledModules {
  /** The new path of each entry of `paths`, relative to `out`. */
  readonly inside: readonly string[];
  /** Paths of private files that are not in the bundle. */
  readonly leftOut: readonly string[];
}

/** Bundles the modules into `out`. */
export function* bundleModules(
  { paths, program, out, work, external }: ModulesToBundle,
): Operation<BundledModules> {
  // Check the paths before anything else: `modulesAt` has the best error message for a wrong path.
  paths.forEach(modulesAt);
  const bundler = yield* findBundler(program);
  if (!bundler) {
    throw new Problem(
      `Cannot bundle "${
        paths[0]
      }": neither this program nor "${program}" contains a bundler; use a program that was compiled with Bun (bun run compile)`,
    );
  }
  const given = paths.map((path) => realpathSync(path));
  const root = commonFolder(given.map((path) => dirname(path)));
  const entrypoints = given.flatMap(modulesAt);
  const options = { entrypoints, root, out, folder: FOLDER, external };
  const [error] = yield* runBundler(bundler, options, work);
  if (error) {
    const { message, file = paths[0], line, column } = error;
    const place = line === undefined ? "" : ` (line ${line}, column ${column})`;
    throw new Problem(`Cannot bundle "${file}": ${message}${place}; fix the error in the file`);
  }
  const leftOut: string[] = [];
  const inside = given.map((path) => {
    const name = join(FOLDER, relative(root, path));
    if (!statSync(path).isDirectory()) return withForwardSlashes(renamed(name));
    leftOut.push(...copyFiles(path, join(out, name)));
    return withForwardSlashes(name);
  });
  return { inside, leftOut };
}

/** The deepest folder that contains all of these folders, or is one of them. */
function commonFolder(folders: readonly string[]): string {
  const isAbove = (folder: string) =>
    folders.every((other) => other === folder || other.startsWith(join(folder, sep)));
  let folder = folders[0]!;
  while (!isAbove(folder) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

function renamed(file: string): string {
  return file.replace(/\.[^.]+$/, BUNDLED);
}

function withForwardSlashes(path: string): string {
  return path.split(sep).join("/");
}
