/**
 * The operating system's keyring: Secret Service on Linux and the BSDs, Keychain on macOS,
 * Credential Manager on Windows. The native addon loads in Deno, Bun, Node and the compiled program.
 * Tests run the Linux part against a real gnome-keyring in Deno, Bun and the compiled program.
 */
import process from "node:process";
import { VaultError } from "./errors.ts";

/** Stores texts by name. A text may not be longer than `limit`. */
export interface Keyring {
  get(entry: string): Promise<string | undefined>;
  set(entry: string, text: string): Promise<void>;
  delete(entry: string): Promise<void>;
  /** Maximum length of a text, in UTF-16 units. */
  readonly limit: number;
}

/** Maximum length of a text, in UTF-16 units. Windows allows 2560 bytes. */
const LIMIT = process.platform === "win32" ? 1_200 : 1_000_000;

/** Milliseconds to wait for the person to unlock the keyring. */
const KEYRING_TIMEOUT = 50_000;

/**
 * Finds the keyring of this machine. Undefined if no keyring can store entries. If `wasUsed` is
 * true, checks only that the keyring answers. `label` is the name that people see in their keyring
 * program.
 */
export async function findKeyring(wasUsed: boolean, label: string): Promise<Keyring | undefined> {
  let addon: typeof import("@napi-rs/keyring");
  try {
    addon = await import("@napi-rs/keyring");
  } catch {
    // There is no addon for this platform.
    return undefined;
  }
  const entryOf = (name: string) =>
    // The addon's default is the kernel's keyring, which is not persistent.
    new addon.AsyncEntry(label, name, { linux: { store: "secret-service" } });
  const keyring: Keyring = {
    limit: LIMIT,
    async get(name) {
      return await told(() => entryOf(name).getPassword()) ?? undefined;
    },
    async set(name, text) {
      await told(() => entryOf(name).setPassword(text));
    },
    async delete(name) {
      await told(() => entryOf(name).deletePassword());
    },
  };
  return await isThere(keyring, wasUsed) ? keyring : undefined;
}

/** Writes a test entry, because some keyring services run but cannot store anything. */
async function isThere(keyring: Keyring, wasUsed: boolean): Promise<boolean> {
  const probe = `probe ${process.pid}`;
  try {
    if (wasUsed) await keyring.get(probe);
    else await keyring.set(probe, "Parley checks whether there is a keyring.");
    if (!wasUsed) await keyring.delete(probe);
    return true;
  } catch (error) {
    // A locked keyring counts as found. The error appears when it is used.
    return error instanceof VaultError && error.problem === "locked";
  }
}

/** Calls the keyring with a timeout, because the person may not see the request to unlock it. */
async function told<T>(ask: () => Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(locked()), KEYRING_TIMEOUT);
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (error) {
    throw error instanceof VaultError ? error : asVaultError(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Translates the addon's errors, which differ only in their text. */
function asVaultError(error: unknown): VaultError {
  const words = error instanceof Error ? error.message : String(error);
  if (/lock|dismissed|denied|cancel|interaction/i.test(words)) return locked(error);
  return new VaultError(
    "unreachable",
    "Cannot use the keyring of this computer: it does not work properly; log out of the computer and in again, or set the environment variable PARLEY_KEYRING=off to keep your accounts in a sealed file instead (you then have to log in again)",
    { cause: error },
  );
}

function locked(cause?: unknown): VaultError {
  return new VaultError(
    "locked",
    'Cannot open the keyring of this computer: it is locked; unlock it (on Linux with "Passwords and Keys", on macOS with "Keychain Access") and try again, your accounts are still in it',
    { cause },
  );
}
