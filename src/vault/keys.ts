/** The key of the sealed files: derived from a passphrase, or stored in a file next to them. */
import { Buffer } from "node:buffer";
import { randomBytes, scrypt } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { VaultError } from "./errors.ts";
import { readPrivateFile, writePrivateFile } from "./private-files.ts";
import { type KeySource, parseSealed } from "./seal.ts";

/** The cost of scrypt: 64 MB of memory and about a quarter of a second. */
const COST = 2 ** 16;

export interface Key {
  readonly bytes: Uint8Array;
  readonly source: KeySource;
}

export class Keys {
  readonly #folder: string;
  readonly #passphrase: string | undefined;
  /** Derived keys by cost and salt. They are cached, because deriving a key is slow on purpose. */
  readonly #derived = new Map<string, Promise<Uint8Array>>();

  constructor(folder: string, passphrase: string | undefined) {
    this.#folder = folder;
    this.#passphrase = passphrase;
  }

  get #path(): string {
    return join(this.#folder, "vault.key");
  }

  /** Finds the key with which a file was sealed. */
  async find(source: KeySource, file: string): Promise<Uint8Array> {
    if (source.from === "passphrase") {
      if (this.#passphrase === undefined) {
        throw new VaultError(
          "passphrase",
          `Cannot open "${file}": it is sealed with a passphrase; set the environment variable PARLEY_PASSPHRASE to it and restart Parley`,
        );
      }
      return await this.#derive(this.#passphrase, source.salt, source.cost);
    }
    const key = await this.#readKeyFile();
    if (key) return key;
    throw new VaultError(
      "damaged",
      `Cannot open "${file}": the key file "${this.#path}" is missing; restore it from a backup, or delete "${file}" and log in again`,
    );
  }

  /** Chooses the key to seal with: from the passphrase if there is one, otherwise the key file. */
  async choose(before: KeySource | undefined): Promise<Key> {
    if (this.#passphrase !== undefined) {
      const source: KeySource = before?.from === "passphrase"
        ? before
        : { from: "passphrase", salt: randomBytes(16).toString("base64"), cost: COST };
      const bytes = await this.#derive(this.#passphrase, source.salt, source.cost);
      return { source, bytes };
    }
    const source: KeySource = { from: "key-file" };
    return { source, bytes: await this.#readKeyFile() ?? await this.#makeKeyFile() };
  }

  #derive(passphrase: string, salt: string, cost: number): Promise<Uint8Array> {
    const id = `${cost}:${salt}`;
    const known = this.#derived.get(id);
    if (known) return known;
    // Normalise, so that the same letters give the same key on every system.
    const letters = passphrase.normalize("NFKC");
    const options = { N: cost, r: 8, p: 1, maxmem: cost * 8 * 128 * 2 };
    const derived = new Promise<Uint8Array>((resolve, reject) =>
      scrypt(
        letters,
        Buffer.from(salt, "base64"),
        32,
        options,
        (error, key) => error ? reject(error) : resolve(key),
      )
    );
    this.#derived.set(id, derived);
    return derived;
  }

  async #readKeyFile(): Promise<Uint8Array | undefined> {
    const text = await readPrivateFile(this.#path);
    if (text === undefined) return undefined;
    const key = Buffer.from(text.trim(), "base64");
    if (key.length === 32) return key;
    throw new VaultError(
      "damaged",
      `Cannot use the key file "${this.#path}": it is damaged; restore it from a backup, or delete the files in "${this.#folder}" and log in again`,
    );
  }

  /** Creates the key file. Must be called under the lock. */
  async #makeKeyFile(): Promise<Uint8Array> {
    for (const name of await readdir(this.#folder)) {
      if (!name.endsWith(".sealed")) continue;
      const other = parseSealed(await readPrivateFile(join(this.#folder, name)) ?? "");
      // Throws if the key of another file is lost. A new key file would prevent restoring that key.
      if (typeof other === "object" && other.key.from === "key-file") {
        await this.find(other.key, join(this.#folder, name));
      }
    }
    const key = randomBytes(32);
    await writePrivateFile(this.#path, `${key.toString("base64")}\n`);
    return key;
  }
}
