/**
 * Keeps credentials in sealed files, for machines without a keyring.
 *
 *     NAME.sealed   a document; see seal.ts
 *     vault.key     the key, if there is no passphrase
 *     vault.lock    an empty file, locked by the process that writes
 *
 * A file that cannot be read is never overwritten: its content can still be opened with a backup of
 * the key, the right passphrase or a newer version of Parley.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { VaultError } from "./errors.ts";
import { Keys } from "./keys.ts";
import { exclusively, type LockOptions, withLock } from "./lock.ts";
import {
  asVaultError,
  type Disk,
  readPrivateFile,
  removeDrafts,
  securePrivateFolder,
  writePrivateFile,
} from "./private-files.ts";
import { keyIdOf, openSealed, parseSealed, seal, type Sealed } from "./seal.ts";
import { checkName, type Vault, type VaultChange } from "./types.ts";

export interface FileVaultOptions extends LockOptions {
  readonly folder: string;
  readonly passphrase?: string | undefined;
  readonly disk?: Disk;
}

export class FileVault implements Vault {
  readonly where: string;
  readonly #options: FileVaultOptions;
  readonly #keys: Keys;

  constructor(options: FileVaultOptions) {
    this.#options = options;
    this.#keys = new Keys(options.folder, options.passphrase);
    this.where = `the files in "${options.folder}"`;
  }

  async read(name: string): Promise<string | undefined> {
    return (await this.#open(name))?.text;
  }

  async update<T>(name: string, change: VaultChange<T>): Promise<T> {
    const path = this.#path(name);
    const { folder, disk } = this.#options;
    await securePrivateFolder(folder);
    return await withLock(join(folder, "vault.lock"), async () => {
      const before = await this.#open(name);
      const { text, value } = change(before?.text);
      if (text === before?.text) return value;
      if (text === undefined) {
        await rm(path, { force: true }).catch((error) => {
          throw asVaultError(error, "delete", path);
        });
        return value;
      }
      const { bytes, source } = await this.#keys.choose(before?.sealed.key);
      await removeDrafts(path);
      await writePrivateFile(path, seal(name, text, bytes, source), disk);
      return value;
    }, this.#options);
  }

  async exclusively<T>(name: string, body: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return await exclusively(name, body, { ...this.#options, signal });
  }

  #path(name: string): string {
    checkName(name);
    return join(this.#options.folder, `${name}.sealed`);
  }

  async #open(name: string): Promise<{ text: string; sealed: Sealed } | undefined> {
    const path = this.#path(name);
    const stored = await readPrivateFile(path);
    if (stored === undefined) return undefined;
    const sealed = parseSealed(stored);
    if (sealed === "newer") throw newer(path);
    if (sealed === "damaged") throw damaged(path);
    const key = await this.#keys.find(sealed.key, path);
    const text = openSealed(name, sealed, key);
    if (text !== undefined) return { text, sealed };
    throw keyIdOf(key) === sealed.keyId ? damaged(path) : wrongKey(path, sealed);
  }
}

function newer(path: string): VaultError {
  return new VaultError(
    "newer",
    `Cannot open "${path}": a newer version of Parley wrote it; update Parley, and leave the file as it is`,
  );
}

function damaged(path: string): VaultError {
  return new VaultError(
    "damaged",
    `Cannot open "${path}": the file is damaged; restore it from a backup, or delete it and log in again (it was not changed)`,
  );
}

function wrongKey(path: string, { key }: Sealed): VaultError {
  if (key.from === "passphrase") {
    return new VaultError(
      "passphrase",
      `Cannot open "${path}": its passphrase is not the one in PARLEY_PASSPHRASE; correct PARLEY_PASSPHRASE and restart Parley`,
    );
  }
  return new VaultError(
    "damaged",
    `Cannot open "${path}": its key is not the one in vault.key; restore the right vault.key from a backup, or delete "${path}" and log in again`,
  );
}
