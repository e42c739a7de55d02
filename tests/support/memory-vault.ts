/** A vault in memory whose content a test can read, and which can fail. */
import type { Vault } from "../../src/vault/types.ts";

export class MemoryVault implements Vault {
  readonly where = "the memory of the test";
  readonly documents = new Map<string, string>();
  /** Thrown by every method, if set. */
  broken: Error | undefined;

  async read(name: string): Promise<string | undefined> {
    if (this.broken) throw this.broken;
    return await Promise.resolve(this.documents.get(name));
  }

  #turn: Promise<unknown> = Promise.resolve();

  exclusively<T>(_name: string, body: () => Promise<T>, _signal?: AbortSignal): Promise<T> {
    const turn = this.#turn.then(body);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async update<T>(
    name: string,
    change: (text: string | undefined) => { text: string | undefined; value: T },
  ): Promise<T> {
    if (this.broken) throw this.broken;
    const { text, value } = change(this.documents.get(name));
    if (text === undefined) this.documents.delete(name);
    else this.documents.set(name, text);
    return await Promise.resolve(value);
  }
}
