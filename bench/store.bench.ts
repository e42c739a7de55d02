/**
 * The cost of the SQLite store: appends and commits per second, for one appender and for many at
 * once. Commits survive a power failure. The store is compared with SQLite alone, which writes the
 * same texts in the same commits.
 *
 * The cases are measured in turn, so that other load on the machine affects all of them.
 *
 *     deno task bench store
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { all, type Operation, run } from "effection";
import type { ToolSessionEvent } from "../src/model/events.ts";
import { openSqlite, type SqliteStores } from "../src/store/sqlite/stores.ts";

interface Case {
  readonly appenders: number;
  /** The number of appends of each appender. */
  readonly appends: number;
  /** The minimum ratio to the appends of a single appender. Appenders share commits. */
  readonly least: number;
}

const CASES: readonly Case[] = [
  { appenders: 1, appends: 1_000, least: 0 },
  { appenders: 10, appends: 300, least: 2 },
  { appenders: 100, appends: 100, least: 4 },
];
/** Maximum ratio to the time of SQLite alone. */
const MOST = 8;
const ROUNDS = 7;

/** A text that is about as long as a question with its form. */
const MESSAGE = "x".repeat(300);

const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
try {
  const ours: number[][] = CASES.map(() => []);
  const bare: number[][] = CASES.map(() => []);
  // The first round warms up.
  for (let round = -1; round < ROUNDS; round++) {
    for (const [i, one] of CASES.entries()) {
      const [ourTime, bareTime] = [await measure(one), measureBare(one)];
      if (round < 0) continue;
      ours[i]!.push(one.appenders * one.appends / ourTime * 1_000);
      bare[i]!.push(one.appenders * one.appends / bareTime * 1_000);
    }
  }
  CASES.forEach(({ appenders, least }, i) => {
    const perSecond = middle(ours[i]!);
    const gain = middle(ours[i]!.map((one, round) => one / ours[0]![round]!));
    const cost = middle(ours[i]!.map((one, round) => bare[i]![round]! / one));
    console.log(
      `${appenders} at once: ${count(perSecond)} appends a second in ${
        count(perSecond / appenders)
      } commits; ${gain.toFixed(1)} times one alone (at least ${least}): ${
        verdict(gain >= least)
      }; SQLite alone ${cost.toFixed(1)} times that (at most ${MOST}): ${verdict(cost <= MOST)}`,
    );
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function verdict(good: boolean): string {
  if (!good) process.exitCode = 1;
  return good ? "ok" : "TOO SLOW";
}

/** Measures the milliseconds for all appends of all appenders. */
async function measure({ appenders, appends }: Case): Promise<number> {
  const stores = openSqlite(newFile(), "full");
  try {
    const ids = Array.from({ length: appenders }, () => crypto.randomUUID());
    await run(() => all(ids.map((id) => begin(stores, id))));
    const start = performance.now();
    await run(() => all(ids.map((id) => append(stores, id, appends))));
    return performance.now() - start;
  } finally {
    stores.close();
  }
}

function* begin({ sessions }: SqliteStores, id: string): Operation<void> {
  yield* sessions.set(id, { id, toolName: "t", params: {}, createdAt: 0, epoch: 1 });
}

function* append({ sessions }: SqliteStores, id: string, appends: number): Operation<void> {
  for (let lsn = 1; lsn <= appends; lsn++) {
    yield* sessions.append(id, [event(lsn)], { afterLSN: lsn - 1, epoch: 1, expiresAt: lsn });
  }
}

function measureBare({ appenders, appends }: Case): number {
  const db = new DatabaseSync(newFile());
  try {
    db.exec(`
      PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      CREATE TABLE events (place INTEGER PRIMARY KEY, event TEXT);
    `);
    const insert = db.prepare("INSERT INTO events (event) VALUES (?)");
    const start = performance.now();
    for (let lsn = 1; lsn <= appends; lsn++) {
      db.exec("BEGIN IMMEDIATE");
      for (let one = 0; one < appenders; one++) insert.run(JSON.stringify(event(lsn)));
      db.exec("COMMIT");
    }
    return performance.now() - start;
  } finally {
    db.close();
  }
}

function event(lsn: number): ToolSessionEvent {
  return { lsn, type: "progress", progress: lsn, message: MESSAGE };
}

function newFile(): string {
  return join(folder, `${crypto.randomUUID()}.db`);
}

function middle(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en").replaceAll(",", " ");
}
