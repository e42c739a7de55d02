/** `--store`: what outlasts the program, and the key that belongs to it. */
import * as fs from "node:fs";
import process from "node:process";
import { randomBytes, randomUUID } from "node:crypto";
import { dirname, resolve } from "node:path";
import { type Operation, resource, until } from "effection";
import { messageOf } from "../../lib/message-of.ts";
import { StoreError } from "../../model/errors.ts";
import type { SqliteStores } from "../../store/sqlite/stores.ts";
import { Problem } from "../problem.ts";

export interface OpenStore {
  readonly stores: SqliteStores;
  /** Seals what is secret in the store; it lives in a file beside it. */
  readonly key: string;
}

/**
 * Opens the store at an address, for as long as the surrounding scope lives. `keyGiven` says
 * that there is a key for it besides the one in the file.
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
      // Only now: there is a store, and it is ours.
      const path = address.slice(address.indexOf(":") + 1);
      const mayBeNew = keyGiven || stores.sessions.isEmpty;
      yield* provide({ stores, key: keyBeside(path, mayBeNew) });
    } finally {
      stores.close();
    }
  });
}

/** The key in `PATH.key`, made where there is none, and readable by nobody else. */
function keyBeside(path: string, mayBeNew: boolean): string {
  // What it seals is gone with the program.
  if (path === ":memory:") return newKey();
  const file = resolve(`${path}.key`);
  if (!mayBeNew && !fs.existsSync(file)) {
    throw new Problem(
      `Cannot use the store "${path}": its key "${file}" is missing, and calls that wait cannot go on without it; restore it from a backup, give the key in PARLEY_KEY, or start with another store`,
    );
  }
  try {
    if (!fs.existsSync(file)) writeNew(file, newKey());
    const key = fs.readFileSync(file, "utf8").trim();
    if (key.length < 32) throw new Error("it holds no key");
    return key;
  } catch (error) {
    throw new Problem(
      `Cannot use the key of the store, "${file}": ${
        messageOf(error)
      }; restore it, or give the key in PARLEY_KEY`,
    );
  }
}

function newKey(): string {
  return randomBytes(32).toString("base64url");
}

/**
 * Elsewhere first, and to the disk: whoever is killed here leaves a whole key or none,
 * and nothing is ever sealed with a key that a power failure takes away.
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
    moveTo(file, draft);
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/** If somebody else was faster, theirs is the key. */
function moveTo(file: string, draft: string): void {
  try {
    fs.linkSync(draft, file);
  } catch {
    // Either it is there, or the file system knows no links.
    if (!fs.existsSync(file)) fs.renameSync(draft, file);
  }
  // A name outlasts a power failure only with its folder; Windows sees to that itself.
  if (process.platform === "win32") return;
  const folder = fs.openSync(dirname(file), "r");
  try {
    fs.fsyncSync(folder);
  } finally {
    fs.closeSync(folder);
  }
}
