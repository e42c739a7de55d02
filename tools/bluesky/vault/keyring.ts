/**
 * The operating system's keyring: Secret Service on Linux and the BSDs, Keychain on macOS,
 * Credential Manager on Windows. The addon that talks to them loads in Deno, in Bun, in
 * Node, and from within the compiled file; the Linux part is tested against a real
 * gnome-keyring in each of the first two and the last.
 */
import process from "node:process";
import { VaultError } from "./errors.ts";

/** Entries by name. Each has a text that may not be longer than `limit`. */
export interface Keyring {
  get(entry: string): Promise<string | undefined>;
  set(entry: string, text: string): Promise<void>;
  delete(entry: string): Promise<void>;
  /** In UTF-16 units. */
  readonly limit: number;
}

/** What people see in their keyring's own program. */
const SERVICE = "Parley Bluesky";

/** Windows allows 2560 bytes in UTF-16. */
const LIMIT = process.platform === "win32" ? 1_200 : 1_000_000;

/** Milliseconds for which a person may look for the window that asks to unlock it. */
const KEYRING_TIMEOUT = 50_000;

/**
 * The keyring of this machine, or nothing where there is none that keeps something. One
 * that was used before is only asked whether it answers.
 */
export async function findKeyring(wasUsed: boolean): Promise<Keyring | undefined> {
  let addon: typeof import("@napi-rs/keyring");
  try {
    addon = await import("@napi-rs/keyring");
  } catch {
    // No addon for this kind of machine.
    return undefined;
  }
  const entryOf = (name: string) =>
    // Without this, it would take the kernel's keyring, which forgets everything.
    new addon.AsyncEntry(SERVICE, name, { linux: { store: "secret-service" } });
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

/** Some services run and have nowhere to put anything, so one must try. */
async function isThere(keyring: Keyring, wasUsed: boolean): Promise<boolean> {
  const probe = `probe ${process.pid}`;
  try {
    if (wasUsed) await keyring.get(probe);
    else await keyring.set(probe, "Parley looks whether there is a keyring.");
    if (!wasUsed) await keyring.delete(probe);
    return true;
  } catch (error) {
    // One that is locked is there, and will say so when it is needed.
    return error instanceof VaultError && error.problem === "locked";
  }
}

/** Does not wait for ever for somebody who does not see the question. */
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

/** The addon tells them apart by words alone. What it says has no secret in it, but is not for people. */
function asVaultError(error: unknown): VaultError {
  const words = error instanceof Error ? error.message : String(error);
  if (/lock|dismissed|denied|cancel|interaction/i.test(words)) return locked(error);
  return new VaultError(
    "unreachable",
    "Cannot use the keyring of this computer: it does not answer as it should; log out and in again, or set the environment variable PARLEY_KEYRING=off to keep your accounts in a sealed file instead (you will have to log in again)",
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
