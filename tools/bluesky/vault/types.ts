/** Where the credentials are kept, whatever that is on this machine. */

/** One small secret document per name; whole-document reads and atomic read-modify-write. */
export interface Vault {
  read(name: string): Promise<string | undefined>;
  /**
   * Serialised against other processes; `change` gets the present text and returns the new
   * one (undefined deletes). Nothing is written if it throws.
   */
  update<T>(name: string, change: Change<T>): Promise<T>;
  /** For messages: "the keyring" or "the file …". */
  readonly where: string;
}

export type Change<T> = (text: string | undefined) => { text: string | undefined; value: T };

/** Names become names of files, also where upper and lower case are the same. */
export function checkName(name: string): void {
  if (/^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/.test(name)) return;
  throw new RangeError(
    `Cannot keep a document named ${JSON.stringify(name)}: use up to 64 lower-case letters, ` +
      `digits, dots, dashes and underscores`,
  );
}
