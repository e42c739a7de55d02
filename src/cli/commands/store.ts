/** `--store`: the store for durable calls, and its key. */
import * as fs from "node:fs";
import { randomBytes, randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { type Operation, resource, until } from "effection";
import { messageOf } from "../../lib/message-of.ts";
import { moveIntoPlace } from "../../lib/move-file.ts";
import { StoreError } from "../../model/errors.ts";
import type { SqliteStores } from "../../store/sqlite/stores.ts";
import { Problem } from "../problem.ts";

export interface OpenStore {
  readonly stores: SqliteStores;
  /** The key from the key file next to the store. Undefined if there is no file and none is needed. */
  readonly key: string | undefined;
}

/**
 * Opens the store for as long as the surrounding scope lives. `keyGiven` is true if PARLEY_KEY has
 * a key. In that case, the key file may be missing, and is not created.
 */
export function useStore(address: string, keyGiven = false): Operation<OpenStore> {
  return resource(function* (provide) {
    const { openStore } = yield* until(import("../../store/open.ts"));
    let stores: SqliteStores;
    try {
      stores = yield* until(openStore(address));
    } catch (error) {
      if (error instanceof StoreError) throw new Problem(error.message);
      throw error;
    }
    try {
      // Open the store first, so that no key is written for a store that cannot be used.
      const path = address.slice(address.indexOf(":") + 1);
      const key = keyGiven && !fs.existsSync(`${path}.key`)
        ? undefined
        : keyBeside(path, stores.sessions.isEmpty);
      yield* provide({ stores, key });
    } finally {
      stores.close();
    }
  });
}

/** Reads the key from `PATH.key`, or creates it. Only the owner can read the file. */
function keyBeside(path: string, mayBeNew: boolean): string {
  // A store in memory is lost when the program ends, so its key need not be kept.
  if (path === ":memory:") return newKey();
  const file = resolve(`${path}.key`);
  if (!mayBeNew && !fs.existsSync(file)) {
    throw new Problem(
      `Cannot use the store "${path}": its key file "${file}" is missing, and waiting calls cannot continue without it; restore it from a backup, set PARLEY_KEY to the key, or use another store`,
    );
  }
  try {
    if (!fs.existsSync(file)) writeNew(file, newKey());
    const key = fs.readFileSync(file, "utf8").trim();
    if (key.length < 32) throw new Error("it does not contain a key");
    return key;
  } catch (error) {
    throw new Problem(
      `Cannot use the key file "${file}" of the store: ${
        messageOf(error)
      }; restore the file, or set PARLEY_KEY to the key`,
    );
  }
}

function newKey(): string {
  return randomBytes(32).toString("base64url");
}

/**
 * Writes a draft, flushes it to disk, then renames it. If the process is killed, the file contains
 * the whole key or does not exist. A power failure cannot lose a key that is in use.
 */
function writeNew(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}.new`;
  try {
    const handle = fs.openSync(draft, "wx", 0o600);
    try {
      fs.writeSync(handle, `${text}\n`);
      fs.fsyncSync(handle);
    } finally {
      fs.closeSync(handle);
    }
    moveIntoPlace(draft, file, (path) => !fs.existsSync(path));
  } finally {
    fs.rmSync(draft, { force: true });
  }
}
