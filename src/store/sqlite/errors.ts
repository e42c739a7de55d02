/**
 * Converts SQLite errors into store errors. Errors are recognised by message: messages are the same
 * on every runtime, but error codes are not.
 */
import { StoreError } from "../../model/errors.ts";

const LOCKED = /database (table )?is locked/;

/**
 * For each SQLite message: the state to report, and the next step. An empty state means that the
 * file is damaged.
 */
const TRANSLATIONS: readonly (readonly [said: RegExp, state: string, wayOut: string])[] = [
  [/disk is full|ENOSPC/, "the disk is full", "free some space, and try again"],
  [/disk I\/O error/, "the disk failed (disk I/O error)", "check the disk, and try again"],
  [
    LOCKED,
    "another Parley server is using it",
    "stop that server, or use another path",
  ],
  [/readonly database/, "it is read-only", "check the permissions of the file and its folder"],
  [/unable to open database file/, "it cannot be reached", "check the path and its permissions"],
  [/malformed|not a database|corrupt/, "", "restore a backup, or use another path"],
  [/database is not open|closed/, "it is closed", "open it again"],
];

/** Converts a thrown value into a `StoreError`. A `StoreError` is returned as it is. */
export function storeError(verb: "open" | "read" | "write to", path: string, cause: unknown) {
  if (cause instanceof StoreError) return cause;
  // Drop the SQL statement that some runtimes add: it does not help the reader.
  const said = (cause instanceof Error ? cause.message : String(cause))
    .replace(/ in [\s\S]* at offset \d+$/, "");
  for (const [pattern, state, wayOut] of TRANSLATIONS) {
    if (!pattern.test(said)) continue;
    return new StoreError(
      `Cannot ${verb} the store "${path}": ${state || `it is damaged (${said})`}; ${wayOut}`,
      { cause },
    );
  }
  return new StoreError(
    `Cannot ${verb} the store "${path}": ${said}; check the path, its permissions and the disk`,
    { cause },
  );
}

/** True if a store cannot be opened because another process has it open. */
export function isInUse(error: unknown): boolean {
  return error instanceof StoreError && error.cause instanceof Error &&
    LOCKED.test(error.cause.message);
}

/** Returns the error for a damaged file. `finding` says what is wrong with the file. */
export function damaged(verb: "open" | "read", path: string, finding: string): StoreError {
  return new StoreError(
    `Cannot ${verb} the store "${path}": it is damaged (${finding}); restore a backup, or use another path`,
  );
}
