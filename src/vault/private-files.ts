/**
 * Files that only their owner can read, in a folder that only the owner can open. Writes are atomic,
 * even if the power fails.
 */
import { randomBytes } from "node:crypto";
import * as node from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { VaultError } from "./errors.ts";

/** The file system calls of a write. Tests make each of them fail. */
export type Disk = Pick<typeof node, "open" | "rename" | "rm">;

/** False on Windows, which has no mode bits and protects user profiles itself. */
const hasModes = process.platform !== "win32";
const OTHERS = 0o077;

/** The extensions of all files that Parley creates in the folder. */
const OURS = /\.(?:sealed|key|lock|place|tmp)$/;

/** Creates the folder, or restricts the permissions of an existing one. */
export async function securePrivateFolder(folder: string): Promise<void> {
  try {
    await node.mkdir(folder, { recursive: true, mode: 0o700 });
    if (!hasModes) return;
    const { mode, uid } = await node.stat(folder);
    if (uid !== process.getuid?.()) {
      throw new VaultError(
        "permissions",
        `Cannot keep your accounts in "${folder}": the folder belongs to another user; start Parley as the user who owns it`,
      );
    }
    if ((mode & OTHERS) === 0) return;
    // Do not change the permissions of a folder that is used for other things too.
    if (!(await node.readdir(folder)).every((name) => OURS.test(name))) {
      throw new VaultError(
        "permissions",
        `Cannot keep your accounts in "${folder}": other users of this computer can read the folder; run: chmod 700 "${folder}"`,
      );
    }
    await node.chmod(folder, 0o700);
  } catch (error) {
    throw asVaultError(error, "keep your accounts in", folder);
  }
}

/** Reads a file. Undefined if it does not exist. If others could read it, restricts its permissions. */
export async function readPrivateFile(path: string): Promise<string | undefined> {
  let file: node.FileHandle | undefined;
  try {
    file = await node.open(path, "r");
    if (hasModes) {
      const { mode, uid } = await file.stat();
      if ((mode & OTHERS) !== 0 && uid === process.getuid?.()) await file.chmod(0o600);
    }
    return await file.readFile("utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw asVaultError(error, "read", path);
  } finally {
    await file?.close();
  }
}

/** Writes a temporary file, flushes it to disk, then renames it to the file. */
export async function writePrivateFile(
  path: string,
  text: string,
  disk: Disk = node,
): Promise<void> {
  const draft = `${path}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    const file = await disk.open(draft, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await disk.rename(draft, path);
    await syncFolder(dirname(path), disk);
  } catch (error) {
    await disk.rm(draft, { force: true }).catch(() => {});
    throw asVaultError(error, "write", path);
  }
}

/** Creates an empty file if it does not exist. */
export async function writePrivateFileOnce(path: string): Promise<void> {
  try {
    await (await node.open(path, "a", 0o600)).close();
  } catch (error) {
    throw asVaultError(error, "write", path);
  }
}

/** Removes the temporary files of crashed writers. Must be called under the lock. */
export async function removeDrafts(path: string): Promise<void> {
  const folder = dirname(path);
  const names = await node.readdir(folder);
  for (const name of names) {
    if (!name.startsWith(`${basename(path)}.`) || !name.endsWith(".tmp")) continue;
    await node.rm(join(folder, name), { force: true });
  }
}

/** Flushes the folder, so that a rename survives a power failure. Does nothing on Windows. */
async function syncFolder(folder: string, disk: Disk): Promise<void> {
  if (!hasModes) return;
  const handle = await disk.open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Turns a file system error into an error whose message tells the person what to do. */
export function asVaultError(error: unknown, verb: string, path: string): VaultError {
  if (error instanceof VaultError) return error;
  const cannot = `Cannot ${verb} "${path}"`;
  const code = codeOf(error);
  switch (code) {
    case "EACCES":
    case "EPERM":
      return new VaultError(
        "permissions",
        `${cannot}: permission was denied; make sure that it belongs to you`,
        { cause: error },
      );
    case "ENOSPC":
    case "EDQUOT":
      return new VaultError(
        "disk",
        `${cannot}: the disk is full; free some space and try again, nothing was lost`,
        { cause: error },
      );
    case "ENOTDIR":
    case "EEXIST":
      return new VaultError(
        "disk",
        `${cannot}: a part of the path is a file, but should be a folder; move that file away`,
        { cause: error },
      );
    case "EROFS":
      return new VaultError(
        "disk",
        `${cannot}: the disk is read-only; make it writable, or choose another folder`,
        {
          cause: error,
        },
      );
    default:
      return new VaultError(
        "disk",
        `${cannot}: the disk reported ${code ?? "an error"}; check the disk and try again`,
        { cause: error },
      );
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}
