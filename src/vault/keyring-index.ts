/**
 * A file with the names of the documents in the keyring. Without this file, a keyring that was
 * emptied or reset would look like one that was never used. The file is changed only under the lock.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { asVaultError, readPrivateFile, writePrivateFile } from "./private-files.ts";

const HEADING = "The keyring of this computer contains:";

export class Held {
  readonly #path: string;

  constructor(folder: string) {
    this.#path = join(folder, "keyring.place");
  }

  /** True if the keyring should contain any document. */
  async any(): Promise<boolean> {
    return (await this.#names()).length > 0;
  }

  async has(name: string): Promise<boolean> {
    return (await this.#names()).includes(name);
  }

  async add(name: string): Promise<void> {
    const names = await this.#names();
    if (!names.includes(name)) await this.#write([...names, name]);
  }

  async remove(name: string): Promise<void> {
    const names = await this.#names();
    if (names.includes(name)) await this.#write(names.filter((other) => other !== name));
  }

  async #names(): Promise<string[]> {
    const text = await readPrivateFile(this.#path) ?? "";
    return text.split("\n").filter((line) => line !== "" && line !== HEADING);
  }

  async #write(names: readonly string[]): Promise<void> {
    if (names.length > 0) {
      return await writePrivateFile(this.#path, `${[HEADING, ...names].join("\n")}\n`);
    }
    await rm(this.#path, { force: true }).catch((error) => {
      throw asVaultError(error, "delete", this.#path);
    });
  }
}
