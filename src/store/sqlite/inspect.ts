/** Reads information about a store file. Does not change the file, and does not keep it locked. */
import * as fs from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { storeError } from "./errors.ts";
import { examine, readOnly } from "./open.ts";
import { SCHEMA_VERSION, versionOf } from "./schema.ts";

export interface StoreFacts {
  readonly format: number;
  /** The format that this program writes. An older file is migrated when a server opens it. */
  readonly newest: number;
  /** The number of calls in the store. */
  readonly calls: number;
  /**
   * The ids of the keys that the calls need. Empty if there are no calls, or the store does not
   * record its keys.
   */
  readonly keyIds: readonly string[];
}

/** Milliseconds to wait for a lock. A server holds it for as long as it runs. */
const BUSY_TIMEOUT = 200;

/**
 * Inspects a store file. Throws `StoreError` if the file is damaged, is not a store, or is in use.
 */
export function inspectStore(path: string): StoreFacts {
  try {
    return readOnly(path, BUSY_TIMEOUT, (db) => {
      examine(db, path);
      const calls = Number(db.prepare("SELECT count(*) AS calls FROM sessions").get()!.calls);
      const hasKeys = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'properties'").get();
      return {
        format: versionOf(db, path),
        newest: SCHEMA_VERSION,
        calls,
        keyIds: hasKeys === undefined || calls === 0 ? [] : keyIdsIn(db),
      };
    });
  } catch (error) {
    throw storeError("open", path, error);
  }
}

function keyIdsIn(db: DatabaseSync): string[] {
  return db.prepare(`
    SELECT value AS id FROM properties WHERE name = 'key'
    UNION SELECT substr(name, 12) FROM properties WHERE name LIKE 'former key %' AND EXISTS
      (SELECT 1 FROM sessions WHERE number <= CAST(properties.value AS INTEGER))
  `).all().map(({ id }) => String(id));
}

/** Whether this user may write to the file and create files beside it. */
export function isWritable(path: string, folder: string): boolean {
  try {
    fs.accessSync(folder, fs.constants.W_OK);
    if (fs.existsSync(path)) fs.accessSync(path, fs.constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
