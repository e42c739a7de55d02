/**
 * Decides where credentials are kept: in the operating system's keyring if there is one, otherwise
 * in sealed files. Credentials stay where they were first stored. If a keyring that was used before
 * cannot be reached, that is an error: it is not treated as empty.
 */
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { VaultError } from "./errors.ts";
import { FileVault } from "./file-vault.ts";
import { Held } from "./keyring-index.ts";
import { KeyringVault } from "./keyring-vault.ts";
import { findKeyring } from "./keyring.ts";
import type { VaultOptions } from "./open.ts";
import { securePrivateFolder } from "./private-files.ts";
import type { Vault } from "./types.ts";

/** Opens the vault. Throws a `VaultError` with a message for the owner of the credentials. */
export async function openVault(options: VaultOptions = {}): Promise<Vault> {
  const folder = resolve(options.folder ?? defaultFolder());
  const passphrase = options.passphrase ?? (process.env["PARLEY_PASSPHRASE"] || undefined);
  const wanted = options.keyring ?? (process.env["PARLEY_KEYRING"] === "off" ? false : undefined);
  const names = await namesIn(folder);
  if (names.length > 0) await securePrivateFolder(folder);

  const isInKeyring = await new Held(folder).any();
  const isInFiles = names.some((name) => name.endsWith(".sealed"));
  const files = () => new FileVault({ folder, passphrase });
  if (wanted === false) return files();
  if (wanted === undefined && !isInKeyring && (isInFiles || passphrase !== undefined)) {
    return files();
  }
  const { label = "Parley" } = options;
  const keyring = await findKeyring(isInKeyring, label);
  if (!keyring && !wanted && !isInKeyring) return files();
  if (!keyring) throw unreachable(isInKeyring);
  return new KeyringVault({ keyring, folder, label, prefix: prefixFor(folder) });
}

/** True if anything is stored in the vault. It asks neither the keyring nor the person. */
export async function isVaultUsed(options: VaultOptions = {}): Promise<boolean> {
  const folder = resolve(options.folder ?? defaultFolder());
  const names = await namesIn(folder);
  return names.some((name) => name.endsWith(".sealed")) || await new Held(folder).any();
}

function unreachable(hasAccounts: boolean): VaultError {
  const why = hasAccounts
    ? "it contains your accounts, but cannot be reached"
    : "there is no keyring that can be reached";
  return new VaultError(
    "unreachable",
    `Cannot open the keyring of this computer: ${why} from here; start Parley from your desktop session, or set the environment variable PARLEY_KEYRING=off to keep accounts in a sealed file instead${
      hasAccounts ? " (you then have to log in again)" : ""
    }`,
  );
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch {
    // The folder does not exist yet. Any other error is thrown when a file in it is read.
    return [];
  }
}

function defaultFolder(): string {
  const { platform, env } = process;
  if (platform === "darwin") return join(homedir(), "Library/Application Support/parley/vault");
  if (platform === "win32") {
    return join(env["APPDATA"] || join(homedir(), "AppData/Roaming"), "parley/vault");
  }
  return join(env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "parley/vault");
}

/** The prefix of keyring entries. It depends on the folder, because all vaults share one keyring. */
function prefixFor(folder: string): string {
  if (folder === defaultFolder()) return "";
  return `${createHash("sha256").update(folder).digest("hex").slice(0, 12)} `;
}
