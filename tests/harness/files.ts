/** Finds the files of the suite and the checks. Paths are relative, with `/`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository, wherever the command was started. */
export const root: string = fileURLToPath(new URL("../../", import.meta.url));

/** For files that tests must write inside the project. */
export const TEMPORARY = "tests/tmp";

/** Every file below `folder` whose name ends with `ending`, sorted; none if there is no folder. */
export function listFiles(folder: string, ending: string): string[] {
  const start = join(root, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return isForeign(path) ? [] : listFiles(path, ending);
    return entry.isFile() && entry.name.endsWith(ending) ? [path] : [];
  }).sort();
}

/**
 * Packages that tests install are not ours, and there are many. Files in TEMPORARY may be gone
 * before they are read, since the other runtime's tests write there too.
 */
function isForeign(folder: string): boolean {
  return folder.endsWith("/node_modules") || folder === TEMPORARY;
}

/** The text of a file in the repository. */
export function readText(path: string): string {
  return readFileSync(join(root, path), "utf8");
}
