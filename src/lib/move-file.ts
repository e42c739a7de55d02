/** Moves a finished file into place. */
import * as fs from "node:fs";
import { dirname } from "node:path";
import process from "node:process";

/**
 * Renames a finished file to its final path, so that other processes see the complete file or none.
 * If another process created the path first, its file stays, unless `isFree` says that the path may
 * be overwritten.
 */
export function moveIntoPlace(
  draft: string,
  path: string,
  isFree: (path: string) => boolean,
): void {
  try {
    fs.linkSync(draft, path);
  } catch {
    // The file exists already, or the file system has no hard links.
    if (isFree(path)) fs.renameSync(draft, path);
  }
  // The new name survives a power failure only after the folder is synced. Windows does that
  // itself.
  if (process.platform === "win32") return;
  const folder = fs.openSync(dirname(path), "r");
  try {
    fs.fsyncSync(folder);
  } finally {
    fs.closeSync(folder);
  }
}
