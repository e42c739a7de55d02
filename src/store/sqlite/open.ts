/**
 * Opens a store file for one owner.
 *
 * OPEN1  A file is refused and left untouched if it is not a Parley store, is damaged, or comes
 *        from a newer version.
 * OPEN2  A file has one owner at a time. The operating system holds the lock and releases it when
 *        the process ends, however it ends. The lock is also lost if this process opens and
 *        closes the file other than through SQLite: no code here may do that.
 * OPEN3  A file exists completely or not at all, and only its owner can read it.
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

/** Checking a file takes as long as reading it. In larger files, damage is found on access. */
const MAX_CHECKED_SIZE = 256 * 1024 * 1024;

/** Default: how many milliseconds to wait for a lock that the former owner still holds. */
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
    // OPEN2: set this before the first read, which takes the lock. Exclusive mode needs no
    // shared-memory file.
    db.exec(`PRAGMA busy_timeout = ${busyTimeout}; PRAGMA locking_mode = EXCLUSIVE`);
    if (!inspected) examine(db, path);
    const isOlder = !inMemory && migrate(db, path);
    if (inMemory) createSchema(db);
    db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA journal_size_limit = ${MAX_LOG_SIZE};
      PRAGMA synchronous = ${durability === "full" ? "FULL" : "NORMAL"};
    `);
    // Readers left this file before this process became the owner. No other process can use it now.
    if (!inMemory) fs.rmSync(`${path}-shm`, { force: true });
    if (isOlder) makeShrinkable(db);
    return db;
  } catch (error) {
    db.close();
    throw storeError("open", path, error);
  }
}

/**
 * OPEN1: inspects a file through a read-only connection before anything is written. Returns false
 * if that was not possible: reading a file that has a log needs some disk space.
 */
function inspect(path: string, busyTimeout: number): boolean {
  const closed = isClosed(path);
  // Reading would create files beside it. A file that no process has open can be read as immutable.
  const db = connect(closed ? `${pathToFileURL(path).href}?immutable=1` : path, { readOnly: true });
  try {
    db.exec(`PRAGMA busy_timeout = ${busyTimeout}`);
    examine(db, path);
    return true;
  } catch (error) {
    // Another process opened the file meanwhile, so this read may be inconsistent. Try again.
    if (closed && !isClosed(path)) return inspect(path, busyTimeout);
    if (!closed && /disk I\/O error|disk is full/.test(String(error))) return false;
    throw storeError("open", path, error);
  } finally {
    db.close();
  }
}

function examine(db: DatabaseSync, path: string): void {
  versionOf(db, path);
  if (fs.statSync(path).size > MAX_CHECKED_SIZE) return;
  const verdict = pragma(db, "quick_check(1)");
  if (verdict !== "ok") throw damaged("open", path, String(verdict));
}

function isClosed(path: string): boolean {
  return !["-wal", "-journal"].some((end) => fs.existsSync(path + end));
}

/** Files from before version 3 could only grow. Enables them to shrink. */
function makeShrinkable(db: DatabaseSync): void {
  try {
    db.exec("PRAGMA auto_vacuum = INCREMENTAL; VACUUM");
  } catch {
    // There is no space for a second copy. The file keeps its size and stays intact.
  }
}

/**
 * OPEN3: creates the store under a temporary name, so that a killed process leaves no partial
 * file.
 */
function create(path: string): void {
  // A foreign log would corrupt a new file, and it may be the only copy of its data.
  const log = `${path}-wal`;
  if (!isEmpty(log)) {
    throw damaged("open", path, `the file is empty or missing, but "${log}" exists`);
  }
  const draft = `${path}.${randomUUID()}.new`;
  try {
    // OPEN3: SQLite would make the file readable for others. Its log files get the mode of the
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
