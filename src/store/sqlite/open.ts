/**
 * Opens a file for one owner.
 *
 * O1  A file that is not ours, is damaged, or comes from a newer version is
 *     refused, and not touched.
 * O2  One owner at a time. The lock is the operating system's and goes with the
 *     process, however that ends. It also goes when this process opens and closes
 *     the file by any other way than SQLite: nothing here may do that.
 * O3  A file is there as a whole or not at all, and only its owner may read it.
 */
import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { StoreError } from "../../model/errors.ts";
import { damaged, storeError } from "./errors.ts";
import { createSchema, migrate, pragma, versionOf } from "./schema.ts";

/** How sure a commit is: `full` outlasts a power failure, `normal` the death of the process. */
export type Durability = "full" | "normal";

/** Checking a file takes as long as reading it; beyond this, damage shows when it is met. */
const LARGEST_CHECKED = 256 * 1024 * 1024;

/** Default: how many milliseconds to wait for a lock that the former owner still holds. */
const BUSY_TIMEOUT = 5_000;

/** What a log that has grown large is cut back to, in bytes. */
const LARGEST_LOG = 8 * 1024 * 1024;

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
    // Before the first read, which takes the lock. What others share is then not needed either.
    db.exec(`PRAGMA busy_timeout = ${busyTimeout}; PRAGMA locking_mode = EXCLUSIVE`);
    if (!inspected) examine(db, path);
    const isOlder = !inMemory && migrate(db, path);
    if (inMemory) createSchema(db);
    db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA journal_size_limit = ${LARGEST_LOG};
      PRAGMA synchronous = ${durability === "full" ? "FULL" : "NORMAL"};
    `);
    // Left by those that read it before it had this owner; nobody else can be there now.
    if (!inMemory) fs.rmSync(`${path}-shm`, { force: true });
    if (isOlder) makeShrinkable(db);
    return db;
  } catch (error) {
    db.close();
    throw storeError("open", path, error);
  }
}

/**
 * Looks at a file before anything is written, by a connection that cannot write. Tells
 * whether it could: beside a log, that takes a little room on the disk.
 */
function inspect(path: string, busyTimeout: number): boolean {
  const closed = isClosed(path);
  // Reading would put files beside it; one that nobody has open can be read without.
  const db = connect(closed ? `${pathToFileURL(path).href}?immutable=1` : path, { readOnly: true });
  try {
    db.exec(`PRAGMA busy_timeout = ${busyTimeout}`);
    examine(db, path);
    return true;
  } catch (error) {
    // Somebody opened it under our eyes: what we saw may be half of what they wrote.
    if (closed && !isClosed(path)) return inspect(path, busyTimeout);
    if (!closed && /disk I\/O error|disk is full/.test(String(error))) return false;
    throw storeError("open", path, error);
  } finally {
    db.close();
  }
}

function examine(db: DatabaseSync, path: string): void {
  versionOf(db, path);
  if (fs.statSync(path).size > LARGEST_CHECKED) return;
  const verdict = pragma(db, "quick_check(1)");
  if (verdict !== "ok") throw damaged("open", path, String(verdict));
}

function isClosed(path: string): boolean {
  return !["-wal", "-journal"].some((end) => fs.existsSync(path + end));
}

/** Before version 3, files could only grow. */
function makeShrinkable(db: DatabaseSync): void {
  try {
    db.exec("PRAGMA auto_vacuum = INCREMENTAL; VACUUM");
  } catch {
    // There is no room for a second copy: it stays as large as it is, and is whole.
  }
}

/** Elsewhere first: whoever is killed here leaves no half of a store behind. */
function create(path: string): void {
  // Carried over to a new file, a log of another would spoil it; and it may be all that is left.
  const log = `${path}-wal`;
  if (!isEmpty(log)) {
    throw damaged("open", path, `the file is empty or gone, but "${log}" is there`);
  }
  const draft = `${path}.${randomUUID()}.new`;
  try {
    // Not by SQLite, which would let others read it; what it puts beside a file is as the file is.
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
    moveTo(path, draft);
  } catch (cause) {
    if (/disk is full|ENOSPC/.test(String(cause))) throw storeError("open", path, cause);
    throw new StoreError(
      `Cannot open the store "${path}": it cannot be made there (${
        cause instanceof Error ? cause.message : cause
      }); check the path and its permissions`,
      { cause },
    );
  } finally {
    for (const end of ["", "-journal", "-wal"]) fs.rmSync(draft + end, { force: true });
  }
}

/** Somebody else may have made one at the same time: the first one counts. */
function moveTo(path: string, draft: string): void {
  try {
    fs.linkSync(draft, path);
  } catch {
    // Either it is there, or the file system knows no links.
    if (isEmpty(path)) fs.renameSync(draft, path);
  }
  // A name outlasts a power failure only with its folder; Windows sees to that itself.
  if (process.platform === "win32") return;
  const folder = fs.openSync(dirname(path), "r");
  try {
    fs.fsyncSync(folder);
  } finally {
    fs.closeSync(folder);
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
