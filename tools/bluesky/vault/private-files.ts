/**
 * Files that nobody else may read, in a folder that nobody else may enter, and that are
 * either as they were or as they should be, whenever the power goes.
 */
import { randomBytes } from "node:crypto";
import * as node from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { VaultError } from "./errors.ts";

/** What a write asks of the disk; tests let each of them fail. */
export type Disk = Pick<typeof node, "open" | "rename" | "rm">;

/** Windows keeps others out of a profile by itself, and has no such bits. */
const hasModes = process.platform !== "win32";
const OTHERS = 0o077;

/** The endings of everything that we put into such a folder. */
const OURS = /\.(?:sealed|key|lock|place|tmp)$/;

/** Makes the folder, or sees to it that the one there keeps others out. */
export async function securePrivateFolder(folder: string): Promise<void> {
  try {
    await node.mkdir(folder, { recursive: true, mode: 0o700 });
    if (!hasModes) return;
    const { mode, uid } = await node.stat(folder);
    if (uid !== process.getuid?.()) {
      throw new VaultError(
        "permissions",
        `Cannot keep your accounts in "${folder}": the folder belongs to somebody else; start Parley as the user who owns it`,
      );
    }
    if ((mode & OTHERS) === 0) return;
    // Whoever points us at a folder that is used for other things as well must decide for themselves.
    if (!(await node.readdir(folder)).every((name) => OURS.test(name))) {
      throw new VaultError(
        "permissions",
        `Cannot keep your accounts in "${folder}": other users of this computer can look into it; run: chmod 700 "${folder}"`,
      );
    }
    await node.chmod(folder, 0o700);
  } catch (error) {
    throw asVaultError(error, "keep your accounts in", folder);
  }
}

/** The text of such a file, or nothing where there is none. Wider permissions are mended first. */
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

/** Replaces the file by a rename, after every byte of the new one is on the disk. */
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

/** Makes it, empty, unless there is one. */
export async function writePrivateFileOnce(path: string): Promise<void> {
  try {
    await (await node.open(path, "a", 0o600)).close();
  } catch (error) {
    throw asVaultError(error, "write", path);
  }
}

/** What writers left that did not get to their rename. Only while nobody else writes. */
export async function removeDrafts(path: string): Promise<void> {
  const folder = dirname(path);
  const names = await node.readdir(folder);
  for (const name of names) {
    if (!name.startsWith(`${basename(path)}.`) || !name.endsWith(".tmp")) continue;
    await node.rm(join(folder, name), { force: true });
  }
}

/** Without it, a rename may be undone by a power cut. Not every system can. */
async function syncFolder(folder: string, disk: Disk): Promise<void> {
  if (!hasModes) return;
  const handle = await disk.open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** What the system said, in words to act on. */
export function asVaultError(error: unknown, verb: string, path: string): VaultError {
  if (error instanceof VaultError) return error;
  const cannot = `Cannot ${verb} "${path}"`;
  const code = codeOf(error);
  switch (code) {
    case "EACCES":
    case "EPERM":
      return new VaultError(
        "permissions",
        `${cannot}: the system does not let Parley; make sure that it belongs to you`,
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
        `${cannot}: a part of that path is a file where there should be a folder; move it out of the way`,
        { cause: error },
      );
    case "EROFS":
      return new VaultError(
        "disk",
        `${cannot}: the disk is read-only; make it writable, or name another folder`,
        {
          cause: error,
        },
      );
    default:
      return new VaultError(
        "disk",
        `${cannot}: the disk answered ${code ?? "with an error"}; check it and try again`,
        { cause: error },
      );
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}
