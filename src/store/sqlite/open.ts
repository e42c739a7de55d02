/**
 * Opens a store file for one owner.
 *
 * OPEN-1  A file is refused and left untouched if it is not a Parley store, is damaged, or comes
 *         from a newer version.
 * OPEN-2  A file has one owner at a time. The operating system holds the lock and releases it when
 *         the process ends, even after a crash. The lock is also lost if this process opens and
 *         closes the file without SQLite, so no code here may do that.
 * OPEN-3  A file exists completely or not at all, and only its owner can read it.
 */
import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { moveIntoPlace } from "../../lib/move-file.ts";
import { StoreError } from "../../model/errors.ts";
import { damaged, storeError } from "./errors.ts";
import { createSchema, migrate, pragma, versionOf } from "./schema.ts";

/** How durable a commit is. `full` survives a power failure, `normal` only a process crash. */
export type Durability = "full" | "normal";

/**
 * The largest file, in bytes, that is checked for damage when it is opened. The check reads the
 * whole file. Damage in a larger file is found on access.
 */
const MAX_CHECKED_SIZE = 256 * 1024 * 1024;

/** The default number of milliseconds to wait for a lock that another process holds. */
const BUSY_TIMEOUT = 5_000;

/** The size in bytes to which a large write-ahead log is truncated. */
const MAX_LOG_SIZE = 8 * 1024 * 1024;

export function openDatabase(
  path: string,
  durability: Durability,
  busyTimeout: number = BUSY_TIMEOUT,
): DatabaseSync {
  const inMemory = path === ":memory:";
  let inspected = true;
  if (!inMemory) {
    if (isEmpty(path)) create(path);
    inspected = inspect(path, busyTimeout);
  }
  const db = connect(path);
  try {
    // OPEN-2: set the locking mode before the first read, which takes the lock. In exclusive mode,
    // SQLite needs no shared-memory file.
    db.exec(`PRAGMA busy_timeout = ${busyTimeout}; PRAGMA locking_mode = EXCLUSIVE`);
    if (!inspected) examine(db, path);
    const isOlder = !inMemory && migrate(db, path);
    if (inMemory) createSchema(db);
    db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA journal_size_limit = ${MAX_LOG_SIZE};
      PRAGMA synchronous = ${durability === "full" ? "FULL" : "NORMAL"};
    `);
    // An earlier process may have left a shared-memory file. This process has the lock, so no other
    // process uses that file.
    if (!inMemory) fs.rmSync(`${path}-shm`, { force: true });
    if (isOlder) makeShrinkable(db);
    return db;
  } catch (error) {
    db.close();
    throw storeError("open", path, error);
  }
}

/**
 * OPEN-1: inspects a file through a read-only connection before anything is written. Returns false
 * if the disk is too full to do that: reading a file that has a log needs some disk space.
 */
function inspect(path: string, busyTimeout: number): boolean {
  const hadLog = !isClosed(path);
  try {
    readOnly(path, busyTimeout, (db) => examine(db, path));
    return true;
  } catch (error) {
    if ((hadLog || !isClosed(path)) && /disk I\/O error|disk is full/.test(String(error))) {
      return false;
    }
    throw storeError("open", path, error);
  }
}

/** Reads a file through a connection that changes nothing. */
export function readOnly<T>(path: string, busyTimeout: number, read: (db: DatabaseSync) => T): T {
  const closed = isClosed(path);
  // A normal connection would create files beside the store. If no process has the file open, it
  // can be read as immutable, which creates none.
  const db = connect(closed ? `${pathToFileURL(path).href}?immutable=1` : path, { readOnly: true });
  try {
    db.exec(`PRAGMA busy_timeout = ${busyTimeout}`);
    return read(db);
  } catch (error) {
    // Another process opened the file in the meantime, so the data may be inconsistent. Try again.
    if (closed && !isClosed(path)) return readOnly(path, busyTimeout, read);
    throw error;
  } finally {
    db.close();
  }
}

export function examine(db: DatabaseSync, path: string): void {
  versionOf(db, path);
  if (fs.statSync(path).size > MAX_CHECKED_SIZE) return;
  const verdict = pragma(db, "quick_check(1)");
  if (verdict !== "ok") throw damaged("open", path, String(verdict));
}

function isClosed(path: string): boolean {
  return !["-wal", "-journal"].some((end) => fs.existsSync(path + end));
}

/** Changes a file that was created before version 3 of the schema, so that it can shrink. */
function makeShrinkable(db: DatabaseSync): void {
  try {
    db.exec("PRAGMA auto_vacuum = INCREMENTAL; VACUUM");
  } catch {
    // The disk has no space for the copy that this change needs. The file keeps its size and stays
    // intact.
  }
}

/**
 * OPEN-3: creates the store under a temporary name, so that a killed process leaves no partial
 * file.
 */
function create(path: string): void {
  // The log of another file would corrupt a new file. It may also be the only copy of its data, so
  // it must stay.
  const log = `${path}-wal`;
  if (!isEmpty(log)) {
    throw damaged("open", path, `the file is empty or missing, but "${log}" exists`);
  }
  const draft = `${path}.${randomUUID()}.new`;
  try {
    // OPEN-3: SQLite would create a file that other users can read. Log files get the mode of the
    // file.
    fs.closeSync(fs.openSync(draft, "wx", 0o600));
    fs.chmodSync(draft, 0o600);
    const db = new DatabaseSync(draft);
    try {
      db.exec("PRAGMA locking_mode = EXCLUSIVE");
      createSchema(db);
      db.exec("PRAGMA journal_mode = WAL");
    } finally {
      db.close();
    }
    moveIntoPlace(draft, path, isEmpty);
  } catch (cause) {
    if (/disk is full|ENOSPC/.test(String(cause))) throw storeError("open", path, cause);
    throw new StoreError(
      `Cannot open the store "${path}": it cannot be created (${
        cause instanceof Error ? cause.message : cause
      }); check the path and its permissions`,
      { cause },
    );
  } finally {
    for (const end of ["", "-journal", "-wal"]) fs.rmSync(draft + end, { force: true });
  }
}

function connect(path: string, options: { readOnly?: boolean } = {}): DatabaseSync {
  try {
    return new DatabaseSync(path, options);
  } catch (cause) {
    throw storeError("open", path, cause);
  }
}

function isEmpty(path: string): boolean {
  return !fs.existsSync(path) || fs.statSync(path).size === 0;
}
