/**
 * Keeps credentials in the operating system's keyring. Each document has one entry, its head. A
 * document that is too long for one entry is split into parts, and the head lists the valid parts.
 *
 *  1. A change takes effect when the head is written. A crash before that leaves the old document.
 *     A crash after that leaves the new document.
 *  2. Parts are named "a" or "b" in turn. A change writes the parts that the current head does not
 *     use, so it overwrites parts that a crash left behind.
 *  3. A head contains the digest of its document. If a document changes while it is read, the reader
 *     notices that and reads again.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { VaultError } from "./errors.ts";
import { Held } from "./keyring-index.ts";
import type { Keyring } from "./keyring.ts";
import { exclusively, type LockOptions, withLock } from "./lock.ts";
import { securePrivateFolder } from "./private-files.ts";
import { checkName, type Vault, type VaultChange } from "./types.ts";

const VERSION = 1;
const TRIES = 10;

interface Head {
  readonly version: number;
  readonly digest: string;
  /** The document itself, if it fits. */
  readonly data?: string;
  readonly side?: "a" | "b";
  readonly parts?: number;
}

export interface KeyringVaultOptions extends LockOptions {
  readonly keyring: Keyring;
  /** The folder for the lock and the index of documents. */
  readonly folder: string;
  /** The name of the entries in the keyring, for messages. */
  readonly label: string;
  /** A prefix for entry names, to separate this vault from others. */
  readonly prefix?: string;
}

export class KeyringVault implements Vault {
  readonly where = "the keyring";
  readonly #options: KeyringVaultOptions;
  readonly #keyring: Keyring;
  readonly #held: Held;

  constructor(options: KeyringVaultOptions) {
    this.#options = options;
    this.#keyring = options.keyring;
    this.#held = new Held(options.folder);
  }

  /** If a document that should exist is missing, throws once. After that, returns undefined. */
  async read(name: string): Promise<string | undefined> {
    const text = await this.#find(name);
    if (text !== undefined || !(await this.#held.has(name))) return text;
    return await this.#locked(async () => {
      // Look again under the lock: another process may just have written the document.
      const text = await this.#find(name);
      if (text !== undefined || !(await this.#held.has(name))) return text;
      await this.#held.remove(name);
      throw gone();
    });
  }

  async #find(name: string): Promise<string | undefined> {
    const entry = this.#entry(name);
    let seen: string | undefined;
    for (let tries = 0; tries < TRIES; tries++) {
      const stored = await this.#keyring.get(entry);
      if (stored === undefined) return undefined;
      const head = parseHead(stored, this.#options.label);
      const text = await this.#textOf(entry, head);
      if (text !== undefined && digestOf(text) === head.digest) return text;
      // The head is unchanged, so the damage is permanent.
      if (stored === seen) break;
      seen = stored;
    }
    throw damaged(this.#options.label);
  }

  async update<T>(name: string, change: VaultChange<T>): Promise<T> {
    const entry = this.#entry(name);
    await securePrivateFolder(this.#options.folder);
    return await this.#locked(async () => {
      const before = await this.#find(name);
      const { text, value } = change(before);
      if (text === before) return value;
      const stored = before === undefined ? undefined : await this.#keyring.get(entry);
      const old = stored === undefined ? undefined : parseHead(stored, this.#options.label);
      if (text === undefined) {
        await this.#held.remove(name);
        await this.#keyring.delete(entry);
      } else {
        await this.#write(entry, text, old?.side === "a" ? "b" : "a");
        if (before === undefined) await this.#held.add(name);
      }
      await this.#removeParts(entry, old);
      return value;
    });
  }

  async exclusively<T>(name: string, body: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return await exclusively(name, body, { ...this.#options, signal });
  }

  #locked<T>(body: () => Promise<T>): Promise<T> {
    return withLock(join(this.#options.folder, "vault.lock"), body, this.#options);
  }

  #entry(name: string): string {
    checkName(name);
    return `${this.#options.prefix ?? ""}${name}`;
  }

  async #textOf(entry: string, head: Head): Promise<string | undefined> {
    if (head.data !== undefined) return Buffer.from(head.data, "base64").toString("utf8");
    let data = "";
    for (const part of partsOf(entry, head)) {
      const piece = await this.#keyring.get(part);
      if (piece === undefined) return undefined;
      data += piece;
    }
    return Buffer.from(data, "base64").toString("utf8");
  }

  async #write(entry: string, text: string, side: "a" | "b"): Promise<void> {
    const { limit } = this.#keyring;
    // Base64 is plain ASCII, so it can be split anywhere.
    const data = Buffer.from(text, "utf8").toString("base64");
    const digest = digestOf(text);
    const short = JSON.stringify({ version: VERSION, digest, data } satisfies Head);
    if (short.length <= limit) return await this.#keyring.set(entry, short);
    const parts = Math.ceil(data.length / limit);
    const head: Head = { version: VERSION, digest, side, parts };
    for (const [index, part] of partsOf(entry, head).entries()) {
      await this.#keyring.set(part, data.slice(index * limit, (index + 1) * limit));
    }
    await this.#keyring.set(entry, JSON.stringify(head));
  }

  /** Removes old parts. Ignores errors, because the change of the document is already complete. */
  async #removeParts(entry: string, head: Head | undefined): Promise<void> {
    for (const part of head ? partsOf(entry, head) : []) {
      await this.#keyring.delete(part).catch(() => {});
    }
  }
}

function partsOf(entry: string, { side, parts = 0 }: Head): string[] {
  return Array.from({ length: parts }, (_, index) => `${entry} ${side}${index + 1}`);
}

function parseHead(text: string, label: string): Head {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged(label);
  }
  if (typeof value !== "object" || value === null) throw damaged(label);
  const { version, digest, data, side, parts } = value as { readonly [key in keyof Head]: unknown };
  if (typeof version === "number" && version > VERSION) throw newer();
  if (version !== VERSION || typeof digest !== "string") throw damaged(label);
  if (typeof data === "string") return { version, digest, data };
  const counts = typeof parts === "number" && Number.isInteger(parts) && parts > 0 &&
    parts < 10_000;
  if ((side !== "a" && side !== "b") || !counts) throw damaged(label);
  return { version, digest, side, parts };
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}

function damaged(label: string): VaultError {
  return new VaultError(
    "damaged",
    `Cannot read your accounts from the keyring: the entries named "${label}" are damaged; delete them in the keyring's own program and log in again`,
  );
}

function gone(): VaultError {
  return new VaultError(
    "damaged",
    "Cannot find your accounts in the keyring: it was emptied, or it was damaged and reset; restore the keyring from a backup, or log in again",
  );
}

function newer(): VaultError {
  return new VaultError(
    "newer",
    "Cannot read your accounts from the keyring: a newer version of Parley stored them; update Parley",
  );
}
