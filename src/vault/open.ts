/** The public way to open the vault. */
import type { Vault } from "./types.ts";

/** Options of `openVault`. */
export interface VaultOptions {
  /** The folder for files. Default: a folder in the user's settings folder. */
  readonly folder?: string;
  /** The passphrase that seals files. Default: PARLEY_PASSPHRASE. */
  readonly passphrase?: string;
  /** True to use the keyring. Default: true if there is one and PARLEY_KEYRING is not "off". */
  readonly keyring?: boolean;
  /** The name of the entries in the keyring, which people see there. Default: "Parley". */
  readonly label?: string;
}

/**
 * Opens the vault of the user who runs this program. It keeps small secret documents by name, in
 * the operating system's keyring, or in sealed files if there is no keyring. Throws a `VaultError`
 * with a message for the owner of the credentials.
 *
 * @example
 * ```ts
 * import { openVault } from "parley-mcp";
 *
 * const vault = await openVault({ label: "My tools" });
 * await vault.update("weather-key", () => ({ text: "a secret", value: undefined }));
 * const key = await vault.read("weather-key");
 * ```
 */
export async function openVault(options: VaultOptions = {}): Promise<Vault> {
  // Loaded on first use, because most programs do not need it.
  const vault = await import("./vault.ts");
  return await vault.openVault(options);
}
