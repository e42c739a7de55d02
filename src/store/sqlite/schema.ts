/** The tables of a store file, their versions, and the migrations between versions. */
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../model/errors.ts";
import { storeError } from "./errors.ts";

/**
 * The SQLite application id of a store, "Prly" in ASCII. It distinguishes stores from other SQLite
 * files.
 */
const APPLICATION_ID = 0x50726c79;

/**
 * Version 2 added wake-up times. Version 3 stores events in order of arrival. Version 4 added
 * each session's principal and size.
 */
export const SCHEMA_VERSION = 4;

/**
 * The columns of version 4. They are separate, because the migration from version 3 uses them too.
 */
const USAGE = `
  ALTER TABLE sessions ADD COLUMN principal TEXT NOT NULL DEFAULT '';
  ALTER TABLE sessions ADD COLUMN entry_bytes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN event_bytes INTEGER NOT NULL DEFAULT 0;
`;

/**
 * Events are stored in order of arrival, and sessions in order of their start, so that a commit of
 * many sessions writes few pages. Columns that change with every append are not in the table of the
 * entry, which may be long. `remains` lists deleted sessions whose events have not been removed
 * yet.
 */
const SESSIONS = `
  CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    last_lsn INTEGER NOT NULL,
    expires_at INTEGER,
    wake_at INTEGER
  );
  CREATE INDEX sessions_by_expiry ON sessions (expires_at) WHERE expires_at IS NOT NULL;
  CREATE INDEX sessions_by_wake ON sessions (wake_at, id) WHERE wake_at IS NOT NULL;
  CREATE TABLE entries (number INTEGER PRIMARY KEY, entry TEXT NOT NULL);
  CREATE TABLE events (
    place INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    lsn INTEGER NOT NULL,
    event TEXT NOT NULL,
    UNIQUE (session, lsn)
  );
  CREATE TABLE remains (number INTEGER PRIMARY KEY);
`;

const CLIENT_SESSIONS = `
  CREATE TABLE client_sessions (
    id TEXT PRIMARY KEY,
    expires_at INTEGER NOT NULL,
    record TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX client_sessions_by_expiry ON client_sessions (expires_at);
`;

/**
 * Properties of the whole store, by name. The table needs no schema version: older versions ignore
 * it, and it is created in files that lack it.
 */
export const PROPERTIES = `
  CREATE TABLE IF NOT EXISTS properties (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
`;

/** The migrations, by the version that each starts from. */
const MIGRATIONS: { readonly [version: number]: string } = {
  1: `
    ALTER TABLE sessions ADD COLUMN wake_at INTEGER;
    CREATE INDEX sessions_by_wake ON sessions (wake_at, id) WHERE wake_at IS NOT NULL;
  `,
  2: `
    DROP INDEX sessions_by_expiry;
    DROP INDEX sessions_by_wake;
    ALTER TABLE sessions RENAME TO former_sessions;
    ALTER TABLE events RENAME TO former_events;
    ${SESSIONS}
    INSERT INTO sessions (id, epoch, last_lsn, expires_at, wake_at)
      SELECT id, epoch, last_lsn, expires_at, wake_at FROM former_sessions;
    INSERT INTO entries SELECT number, entry FROM former_sessions JOIN sessions USING (id);
    INSERT INTO events (session, lsn, event) SELECT number, lsn, event
      FROM former_events JOIN sessions ON id = session_id ORDER BY number, lsn;
    DROP TABLE former_sessions;
    DROP TABLE former_events;
  `,
  3: `
    ${USAGE}
    UPDATE sessions SET (principal, entry_bytes) = (
      SELECT ifnull(entry ->> '$.meta.principal', ''), octet_length(entry) FROM entries
      WHERE entries.number = sessions.number
    ) WHERE number IN (SELECT number FROM entries);
    UPDATE sessions SET event_bytes = ifnull(
      (SELECT sum(octet_length(event)) FROM events WHERE session = sessions.number), 0
    );
  `,
};

/** Creates the tables in an empty database. */
export function createSchema(db: DatabaseSync): void {
  // Set this before the first table is created. Otherwise the file can never shrink.
  db.exec("PRAGMA auto_vacuum = INCREMENTAL");
  db.exec(`
    BEGIN IMMEDIATE;
    PRAGMA application_id = ${APPLICATION_ID};
    PRAGMA user_version = ${SCHEMA_VERSION};
    ${SESSIONS}
    ${USAGE}
    ${CLIENT_SESSIONS}
    ${PROPERTIES}
    COMMIT;
  `);
}

/**
 * Returns the version of a database. Throws if it is not a Parley store, or is newer than this
 * program.
 */
export function versionOf(db: DatabaseSync, path: string): number {
  if (pragma(db, "application_id") !== APPLICATION_ID) {
    throw new StoreError(
      `Cannot open the store "${path}": it is a SQLite database, but not a Parley store; use another path`,
    );
  }
  const version = Number(pragma(db, "user_version"));
  if (version <= SCHEMA_VERSION) return version;
  throw new StoreError(
    `Cannot open the store "${path}": a newer version of Parley wrote it (format ${version}; this version supports format ${SCHEMA_VERSION}); use that version, or another path`,
  );
}

/**
 * Migrates an older file to this version. Returns true if the file was older. The migration is one
 * transaction, so a file is never between two versions.
 */
export function migrate(db: DatabaseSync, path: string): boolean {
  const from = versionOf(db, path);
  if (from === SCHEMA_VERSION) return false;
  try {
    db.exec("BEGIN IMMEDIATE");
    for (let version = from; version < SCHEMA_VERSION; version++) db.exec(MIGRATIONS[version]!);
    db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
    return true;
  } catch (cause) {
    rollBack(db);
    throw notMigrated(path, from, cause);
  }
}

function notMigrated(path: string, from: number, cause: unknown): StoreError {
  // Take the reason and the next step from the message, without its beginning.
  const reason = /: (.*)$/s.exec(storeError("open", path, cause).message)![1];
  return new StoreError(
    `Cannot open the store "${path}": it could not be migrated from format ${from} to ${SCHEMA_VERSION}, and is unchanged: ${reason}`,
    { cause },
  );
}

export function rollBack(db: Pick<DatabaseSync, "exec">): void {
  try {
    db.exec("ROLLBACK");
  } catch {
    // SQLite has already rolled back, for example because the disk is full.
  }
}

/** Returns the value of a pragma. */
export function pragma(db: Pick<DatabaseSync, "prepare">, text: string): unknown {
  return Object.values(db.prepare(`PRAGMA ${text}`).get() ?? {})[0];
}
