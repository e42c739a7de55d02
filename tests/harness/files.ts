/** Finds the files that the suite and the checks are about. Paths are relative, with `/`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository, wherever the command was started. */
export const root: string = fileURLToPath(new URL("../../", import.meta.url));

/** Every file below `folder` whose name ends with `ending`, sorted; none if there is no folder. */
export function listFiles(folder: string, ending: string): string[] {
  const start = join(root, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length).split(sep).join("/"))
    .sort();
}

/** The text of a file of the repository. */
export function readText(path: string): string {
  return readFileSync(join(root, path), "utf8");
}
