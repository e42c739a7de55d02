/** Moves a finished file into place. */
import * as fs from "node:fs";
import { dirname } from "node:path";
import process from "node:process";

/**
 * Gives a finished file its final name, so that the file exists completely or not at all. If another
 * process was faster, its file stays: `isFree` tells whether the path may be overwritten.
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
  // A new name survives a power failure only if its folder is synced. Windows does that itself.
  if (process.platform === "win32") return;
  const folder = fs.openSync(dirname(path), "r");
  try {
    fs.fsyncSync(folder);
  } finally {
    fs.closeSync(folder);
  }
}
