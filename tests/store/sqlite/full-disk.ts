/**
 * What a store does on a file system of one megabyte, in its own process: prints what happened as
 * one line of JSON.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { all, main, type Operation } from "effection";
import { StoreError } from "../../../src/model/errors.ts";
import { openSqlite, type SqliteStores } from "../../../src/store/sqlite/stores.ts";
import { entry, event, failure, tryOpen } from "./kit.ts";

export interface FullDiskReport {
  /** What was acknowledged before the first failure. */
  readonly before: number;
  /** The messages of the failures, without duplicates. */
  readonly errors: readonly string[];
  /** How many attempts on the full disk failed without one being acknowledged. */
  readonly failed: number;
  /**
   * Whether everything acknowledged was there: on the full disk, after reopening on it, and at the
   * end.
   */
  readonly whole: readonly boolean[];
  /** The message for a new store on the full disk. */
  readonly another: string;
  /** What was acknowledged once there was room again, and after a sweep. */
  readonly after: readonly number[];
}

const IDS = ["a", "b", "c", "d"];
const TEXT = "x".repeat(1_500);

const [folder] = process.argv.slice(2);
const path = join(folder!, "store.db");
const ballast = join(folder!, "ballast");

await main(function* () {
  writeFileSync(ballast, new Uint8Array(512 * 1024));
  let stores = openSqlite(path);
  const lasts = new Map(IDS.map((id) => [id, 0]));
  const errors = new Set<string>();
  yield* all(IDS.map((id) => stores.sessions.set(id, { ...entry(id), expiresAt: 1 })));

  /** Appends to each session at once; returns how many were acknowledged. */
  function* appendToAll(): Operation<number> {
    const outcomes = yield* all(IDS.map(function* (id): Operation<number> {
      const afterLSN = lasts.get(id)!;
      const batch = [event(afterLSN + 1, TEXT), event(afterLSN + 2, TEXT)];
      const error = yield* failure(() => stores.sessions.append(id, batch, { afterLSN, epoch: 1 }));
      if (!error) lasts.set(id, afterLSN + 2);
      else errors.add(error instanceof StoreError ? error.message : `NOT IN WORDS: ${error}`);
      return error ? 0 : 1;
    }));
    return outcomes.reduce((sum, one) => sum + one);
  }

  function* isWhole({ sessions }: SqliteStores): Operation<boolean> {
    for (const [id, last] of lasts) {
      if ((yield* sessions.read(id)).length !== last) return false;
    }
    return true;
  }

  let before = 0;
  for (let done; (done = yield* appendToAll()) > 0;) before += done;
  let failed = 0;
  for (let i = 0; i < 10; i++) failed += IDS.length - (yield* appendToAll());
  const whole = [yield* isWhole(stores)];
  const refused = tryOpen(join(folder!, "another.db"));
  const another = refused instanceof StoreError ? refused.message : "";
  stores.close();
  stores = openSqlite(path);
  whole.push(yield* isWhole(stores));
  // Fill what closing has freed.
  while ((yield* appendToAll()) > 0);
  rmSync(ballast);
  const after = [yield* appendToAll()];
  whole.push(yield* isWhole(stores));
  yield* stores.sessions.set("kept", entry("kept"));
  yield* stores.sessions.sweep(2);
  for (const id of IDS) lasts.set(id, 0);
  yield* all(IDS.map((id) => stores.sessions.set(id, entry(id))));
  after.push(yield* appendToAll());
  whole.push(yield* isWhole(stores));
  stores.close();
  const report: FullDiskReport = { before, errors: [...errors], failed, whole, another, after };
  console.log(JSON.stringify(report));
});
