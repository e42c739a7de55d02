/** `--store`: what outlasts the program, and the key that belongs to it. */
import { type Operation, resource, until } from "effection";
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { StoreError } from "../errors.ts";
import type { SqliteStores } from "../store/sqlite.ts";
import { messageOf, Problem } from "./problem.ts";

export interface OpenStore {
  readonly stores: SqliteStores;
  /** Seals what is secret in the store; it lives in a file beside it. */
  readonly key: string;
}

/** Opens the store at an address, for as long as the surrounding scope lives. */
export function useStore(address: string): Operation<OpenStore> {
  return resource(function* (provide) {
    const { openStore } = yield* until(import("../store/open.ts"));
    let stores: SqliteStores;
    try {
      stores = yield* until(openStore(address));
    } catch (error) {
      if (error instanceof StoreError) throw new Problem(error.message);
      throw error;
    }
    try {
      // Only now: there is a store, and it is ours.
      yield* provide({ stores, key: keyBeside(address.slice(address.indexOf(":") + 1)) });
    } finally {
      stores.close();
    }
  });
}

/** The key in `PATH.key`, made where there is none, and readable by nobody else. */
function keyBeside(path: string): string {
  const file = resolve(`${path}.key`);
  try {
    if (!existsSync(file)) writeNew(file, randomBytes(32).toString("base64url"));
    const key = readFileSync(file, "utf8").trim();
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

function writeNew(file: string, text: string): void {
  // Fails if somebody else was faster; then theirs is the key.
  const handle = openSync(file, "wx", 0o600);
  try {
    writeSync(handle, `${text}\n`);
  } finally {
    closeSync(handle);
  }
}
