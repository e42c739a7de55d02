/**
 * A lock that only one process can hold. It is an operating-system lock on a file, so a crash
 * releases it.
 *
 * The lock uses SQLite, which can lock files on every system and in every runtime. The file stays
 * empty.
 */
import { VaultError } from "./errors.ts";
import { join } from "node:path";
import { asVaultError, securePrivateFolder, writePrivateFileOnce } from "./private-files.ts";
import { checkName } from "./types.ts";

/** Milliseconds to wait for the lock. Its holder may wait for a person to unlock the keyring. */
const LOCK_TIMEOUT = 60_000;
const PAUSE = 15;

export interface LockOptions {
  /** Milliseconds to wait for the lock. */
  readonly patience?: number;
  /** Ends the wait for the lock. It does not end `body`. */
  readonly signal?: AbortSignal | undefined;
}

/** Callers in this process wait for each other here, in order and without polling. */
const queues = new Map<string, Promise<unknown>>();

export async function withLock<T>(
  path: string,
  body: () => Promise<T>,
  { patience = LOCK_TIMEOUT, signal }: LockOptions = {},
): Promise<T> {
  const before = queues.get(path) ?? Promise.resolve();
  const turn = before.then(async () => {
    const release = await acquire(path, patience, signal);
    try {
      return await body();
    } finally {
      release();
    }
  });
  const settled = turn.then(() => {}, () => {});
  queues.set(path, settled);
  try {
    return await turn;
  } finally {
    if (queues.get(path) === settled) queues.delete(path);
  }
}

/** Runs `body` with the lock of this name in a vault's folder; see `Vault.exclusively`. */
export async function exclusively<T>(
  name: string,
  body: () => Promise<T>,
  { folder, ...options }: LockOptions & { readonly folder: string },
): Promise<T> {
  checkName(name);
  await securePrivateFolder(folder);
  return await withLock(join(folder, `${name}.lock`), body, options);
}

async function acquire(
  path: string,
  patience: number,
  signal: AbortSignal | undefined,
): Promise<() => void> {
  signal?.throwIfAborted();
  // Load SQLite only here, because only writers need it.
  const { DatabaseSync } = await import("node:sqlite");
  await writePrivateFileOnce(path);
  const until = performance.now() + patience;
  const file = new DatabaseSync(path);
  for (;;) {
    try {
      // The file has no content to roll back, so it needs no journal.
      file.exec("PRAGMA journal_mode = OFF; BEGIN IMMEDIATE");
      return () => file.close();
    } catch (error) {
      const isBusy = error instanceof Error && /database is (?:locked|busy)/.test(error.message);
      if (!isBusy || performance.now() > until || signal?.aborted) {
        file.close();
        signal?.throwIfAborted();
        throw isBusy ? busy(path) : useless(path, error);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

function busy(path: string): VaultError {
  return new VaultError(
    "busy",
    `Cannot change your accounts: another Parley process has locked "${path}" for a long time; stop that process, or wait until it has finished, and try again`,
  );
}

function useless(path: string, error: unknown): VaultError {
  if (!(error instanceof Error) || !/not a database|malformed/.test(error.message)) {
    return asVaultError(error, "lock", path);
  }
  return new VaultError(
    "damaged",
    `Cannot change your accounts: another program has overwritten "${path}"; delete that file, which contains no accounts, and try again`,
    { cause: error },
  );
}
