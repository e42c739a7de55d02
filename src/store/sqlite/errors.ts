/**
 * What SQLite says, in our words. By its messages: they are the same on every
 * runtime, while the codes are not.
 */
import { StoreError } from "../../model/errors.ts";

/** What SQLite says; what is the case; what to do next. */
const WORDS: readonly (readonly [said: RegExp, state: string, wayOut: string])[] = [
  [/disk is full|ENOSPC/, "the disk is full", "make room, and try again"],
  [/disk I\/O error/, "the disk fails (disk I/O error)", "check the disk, and try again"],
  [
    /database (table )?is locked/,
    "another Parley is using it",
    "stop that one, or give another path",
  ],
  [/readonly database/, "it may not be written", "check its permissions and its folder's"],
  [/unable to open database file/, "it cannot be reached", "check the path and its permissions"],
  [/malformed|not a database|corrupt/, "", "restore a backup, or give another path"],
  [/database is not open|closed/, "it is closed", "open it again"],
];

/** What happened to the store in a file, from whatever was thrown; what is in our words stays. */
export function storeError(verb: "open" | "read" | "write to", path: string, cause: unknown) {
  if (cause instanceof StoreError) return cause;
  // Without the statement that some runtimes add: it tells nobody what to do.
  const said = (cause instanceof Error ? cause.message : String(cause))
    .replace(/ in [\s\S]* at offset \d+$/, "");
  for (const [pattern, state, wayOut] of WORDS) {
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

/** A file whose content cannot be what was written. */
export function damaged(verb: "open" | "read", path: string, finding: string): StoreError {
  return new StoreError(
    `Cannot ${verb} the store "${path}": it is damaged (${finding}); restore a backup, or give another path`,
  );
}
