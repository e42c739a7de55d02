/**
 * Translates SQLite errors. They are recognised by message: messages are the same on every
 * runtime, error codes are not.
 */
import { StoreError } from "../../model/errors.ts";

/** The SQLite message, the state to report, and the next step. */
const TRANSLATIONS: readonly (readonly [said: RegExp, state: string, wayOut: string])[] = [
  [/disk is full|ENOSPC/, "the disk is full", "free some space, and try again"],
  [/disk I\/O error/, "the disk failed (disk I/O error)", "check the disk, and try again"],
  [
    /database (table )?is locked/,
    "another Parley is using it",
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

/** The error for a file whose content is not what the store wrote. */
export function damaged(verb: "open" | "read", path: string, finding: string): StoreError {
  return new StoreError(
    `Cannot ${verb} the store "${path}": it is damaged (${finding}); restore a backup, or use another path`,
  );
}
