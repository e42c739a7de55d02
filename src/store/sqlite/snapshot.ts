/**
 * Copies a store file that a server may be using. The server keeps the file locked, so no other
 * process can read it with SQLite. It can be copied like any file, under one condition: the copy of
 * the write-ahead log must fit the copy of the main file.
 *
 * The server adds to the log all the time, and a copy of the log is cut off after its last complete
 * commit. The main file changes only when SQLite moves the log into it. So a copy is consistent if
 * the main file did not change from before the first copy until after the second.
 */
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { chmod, copyFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { StoreError } from "../../model/errors.ts";
import { storeError } from "./errors.ts";

/**
 * How long the main file must be unchanged before it is copied, in milliseconds. File systems record
 * the time of a change with a resolution of some milliseconds. Two changes within that time look
 * like one.
 */
const SETTLED = 50;
const MAX_TRIES = 100;

/** Copies the store into a folder. Returns the path of the copy, which belongs to the caller. */
export async function copyStore(
  path: string,
  folder: string,
  signal?: AbortSignal,
): Promise<string> {
  const copy = join(folder, `${randomUUID()}.db`);
  try {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const before = await stateOf(path);
      await new Promise((resolve) => setTimeout(resolve, SETTLED));
      signal?.throwIfAborted();
      if (await stateOf(path) !== before) continue;
      await copied(path, copy);
      await copied(`${path}-wal`, `${copy}-wal`);
      if (await stateOf(path) === before) return copy;
    }
  } catch (error) {
    await removeCopy(copy);
    throw signal?.aborted ? error : storeError("read", path, error);
  }
  await removeCopy(copy);
  throw new StoreError(
    `Cannot read the store "${path}": it changed ${MAX_TRIES} times while it was copied; try again when the server has less to do`,
  );
}

export async function removeCopy(copy: string): Promise<void> {
  for (const end of ["", "-wal", "-shm"]) await rm(copy + end, { force: true });
}

/** A text that changes whenever the file changes. */
async function stateOf(path: string): Promise<string> {
  const { mtimeNs, ino, size } = await stat(path, { bigint: true });
  return `${ino} ${size} ${mtimeNs}`;
}

/** Copies one file. A log that does not exist, because the store is closed, is not an error. */
async function copied(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    await chmod(to, 0o600);
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code !== "ENOENT" || !from.endsWith("-wal")) throw error;
    await rm(to, { force: true });
  }
}
