/**
 * Copies the other files in the folders of tools into a bundle, because tools may read them.
 *
 * FILES-1  Private files are left out: databases, keys, environment files, hidden files. The caller
 *          reports them, because a tool that reads one of them will not find it.
 * FILES-2  A symbolic link is followed if it stays in the project. It is an error if it leaves the
 *          project, or leads to a folder that contains it.
 */
import { Buffer } from "node:buffer";
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { Problem } from "../problem.ts";
import { isModule } from "./load.ts";

/** FILES-1: the names of private files. */
const PRIVATE_NAMES =
  /(?:\.(?:db|sqlite3?|db3)|[-.](?:wal|shm|journal)|\.(?:key|pem|p12|pfx|jks|keystore|kdbx|env|log|mcpb)|^id_(?:rsa|dsa|ecdsa|ed25519)|~)$/i;
/** The first bytes of private files, for files with other names. */
const PRIVATE_STARTS = /^(?:SQLite format 3\0|-----BEGIN (?:[A-Z]+ )*PRIVATE KEY)/;
const LONGEST_START = 64;
/** A folder that contains one of these is a project. */
const PROJECT_MARKS = ["package.json", "deno.json", "deno.jsonc", ".git"];

/**
 * Copies all files in a folder of tools and below, except top-level modules, packages and private
 * files. Returns the paths of the private files.
 */
export function copyFiles(folder: string, to: string): string[] {
  const root = realpathSync(folder);
  const project = projectOf(root);
  const leftOut: string[] = [];
  copy(root, to, [root]);
  return leftOut;

  /** Copies one folder. `within` lists the real paths of this folder and those that contain it. */
  function copy(from: string, to: string, within: readonly string[]): void {
    for (const name of readdirSync(from).sort()) {
      const path = join(from, name);
      if (name === "node_modules") continue;
      // Skip a symbolic link whose target does not exist.
      if (!statSync(path, { throwIfNoEntry: false })) continue;
      const real = realpathSync(path);
      const isLink = real !== join(within.at(-1)!, name);
      if (isLink) checkLink(path, real, within);
      const stat = statSync(real);
      if (stat.isDirectory()) {
        if (!isHidden(name) && !isPrivateIn(project, real)) {
          copy(path, join(to, name), [...within, real]);
        }
      } else if (stat.isFile() && !(within.length === 1 && isModule(name))) {
        if (isPrivate(name, real) || isPrivateIn(project, real)) leftOut.push(path);
        else {
          mkdirSync(to, { recursive: true });
          copyFileSync(real, join(to, name));
        }
      }
    }
  }

  /** FILES-2: checks where a symbolic link leads. */
  function checkLink(path: string, real: string, within: readonly string[]): void {
    if (!isIn(project, real)) {
      throw new Problem(
        `Cannot bundle "${path}": the symbolic link leads out of the project, to "${real}"; copy the file into the project, or remove the link`,
      );
    }
    if (within.includes(real)) {
      throw new Problem(
        `Cannot bundle "${path}": the symbolic link leads to a folder that contains it; remove the link`,
      );
    }
  }
}

/** The nearest folder that is a project, or the folder of tools itself. */
function projectOf(tools: string): string {
  for (let folder = tools;; folder = dirname(folder)) {
    if (PROJECT_MARKS.some((mark) => existsSync(join(folder, mark)))) return folder;
    if (folder === dirname(folder)) return tools;
  }
}

function isIn(folder: string, path: string): boolean {
  return path === folder || path.startsWith(join(folder, sep));
}

function isHidden(name: string): boolean {
  return name.startsWith(".");
}

/** True if a file is in a hidden folder of the project, or in `node_modules`. */
function isPrivateIn(project: string, real: string): boolean {
  return relative(project, real).split(sep).some((name) =>
    name === "node_modules" || isHidden(name) && name !== ".."
  );
}

function isPrivate(name: string, real: string): boolean {
  return [name, basename(real)].some((name) => isHidden(name) || PRIVATE_NAMES.test(name)) ||
    PRIVATE_STARTS.test(startOf(real));
}

function startOf(file: string): string {
  const start = Buffer.alloc(LONGEST_START);
  const descriptor = openSync(file, "r");
  try {
    return start.toString("latin1", 0, readSync(descriptor, start));
  } finally {
    closeSync(descriptor);
  }
}
