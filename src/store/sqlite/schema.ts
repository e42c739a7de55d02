/** What is in the file, in which version, and how an older version becomes this one. */
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../model/errors.ts";
import { storeError } from "./errors.ts";

/** "Prly", so that a file can be told from any other SQLite file. */
const APPLICATION_ID = 0x50726c79;

/**
 * 2: sessions have a time to wake. 3: events lie in the order in which they came.
 * 4: sessions tell whose they are, and how many bytes they take.
 */
const SCHEMA_VERSION = 4;

/** Added by themselves, so that version 3 becomes version 4 in the same words. */
const USAGE = `
  ALTER TABLE sessions ADD COLUMN principal TEXT NOT NULL DEFAULT '';
  ALTER TABLE sessions ADD COLUMN entry_bytes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN event_bytes INTEGER NOT NULL DEFAULT 0;
`;

/*
 * Events lie in the order in which they came, and sessions in the order in which they
 * began: so one commit of many sessions writes few pages, however long their logs are.
 * What changes with every append is apart from the entry, which may be long.
 * The events of a forgotten session whose number is in `remains` are still to be removed.
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
 * What is known of the whole store, by name. Older programs ignore this table, and files that
 * they made have none, so it takes no version of its own.
 */
export const PROPERTIES = `
  CREATE TABLE IF NOT EXISTS properties (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
`;

/** What leads from one version of the schema to the next, by the version that it starts from. */
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

/** Makes the tables in an empty database. */
export function createSchema(db: DatabaseSync): void {
  // Before the first table: without it, a file never gives back what it has freed.
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

/** Which version a database is of. Throws where it is not ours, or newer than this one. */
export function versionOf(db: DatabaseSync, path: string): number {
  if (pragma(db, "application_id") !== APPLICATION_ID) {
    throw new StoreError(
      `Cannot open the store "${path}": it is a database, but not one of Parley's; give another path`,
    );
  }
  const version = Number(pragma(db, "user_version"));
  if (version <= SCHEMA_VERSION) return version;
  throw new StoreError(
    `Cannot open the store "${path}": a newer Parley wrote it (format ${version}, this one knows ${SCHEMA_VERSION}); use that one, or give another path`,
  );
}

/**
 * Brings an older file to this version, and tells whether it was one. All the way or not
 * at all: a file is never between two versions.
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
  // The reason, without the sentence around it: it is part of another one.
  const reason = /: (.*)$/s.exec(storeError("open", path, cause).message)![1];
  return new StoreError(
    `Cannot open the store "${path}": it could not be brought from format ${from} to ${SCHEMA_VERSION}, and is as it was: ${reason}`,
    { cause },
  );
}

export function rollBack(db: Pick<DatabaseSync, "exec">): void {
  try {
    db.exec("ROLLBACK");
  } catch {
    // SQLite has rolled back by itself, as it does when the disk is full.
  }
}

/** The value that a pragma tells. */
export function pragma(db: Pick<DatabaseSync, "prepare">, text: string): unknown {
  return Object.values(db.prepare(`PRAGMA ${text}`).get() ?? {})[0];
}
