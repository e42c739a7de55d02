/** The contract of a vault for credentials. */

/** Stores small secret documents by name, with atomic updates. */
export interface Vault {
  read(name: string): Promise<string | undefined>;
  /**
   * Changes a document while no other process can. `change` receives the current text and returns
   * the new text, or undefined to delete the document. If `change` throws, nothing is written.
   */
  update<T>(name: string, change: VaultChange<T>): Promise<T>;
  /**
   * Runs `body` while no other process runs one with the same name. `body` may read and update
   * documents. If `signal` aborts while this process waits for its turn, the promise is rejected.
   */
  exclusively<T>(name: string, body: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** The vault's name in messages, such as "the keyring". */
  readonly where: string;
}

/** Computes the new text of a document, and the value that `update` returns. */
export type VaultChange<T> = (text: string | undefined) => { text: string | undefined; value: T };

/** Checks a document's name. Names become file names, also on systems that ignore case. */
export function checkName(name: string): void {
  if (/^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/.test(name)) return;
  throw new RangeError(
    `Cannot keep a document named ${
      JSON.stringify(name)
    }: the name is not valid; use up to 64 lower-case letters, digits, dots, dashes and underscores`,
  );
}
