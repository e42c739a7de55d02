/**
 * One SQLite file, and the one way it is written: many small jobs, one commit.
 *
 * Everything that is asked for in one turn of the event loop is done in one
 * transaction, so that a disk that can be waited for a few thousand times a
 * second still carries many times as many appends. Nobody is told that a job is
 * done before its transaction is on disk.
 *
 * F1  A job either happens whole or not at all, whatever the others do.
 * F2  A file that is not ours, is damaged, or comes from a newer version is
 *     refused, and not touched.
 */
import { existsSync, statSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { clearImmediate, setImmediate } from "node:timers";
import { action, type Operation } from "effection";
import { StoreConflict, StoreError } from "../errors.ts";

/** "Prly", so that a file can be told from any other SQLite file. */
const APPLICATION_ID = 0x50726c79;
/** 2: sessions have a time to wake. */
const SCHEMA_VERSION = 2;

/** Checking a file takes as long as reading it; beyond this, damage shows when it is met. */
const LARGEST_CHECKED = 256 * 1024 * 1024;

const SCHEMA = `
  CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL,
    last_lsn INTEGER NOT NULL,
    expires_at INTEGER,
    entry TEXT NOT NULL,
    wake_at INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX sessions_by_expiry ON sessions (expires_at) WHERE expires_at IS NOT NULL;
  CREATE INDEX sessions_by_wake ON sessions (wake_at, id) WHERE wake_at IS NOT NULL;
  CREATE TABLE events (
    session_id TEXT NOT NULL,
    lsn INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (session_id, lsn)
  ) WITHOUT ROWID;
  CREATE TABLE client_sessions (
    id TEXT PRIMARY KEY,
    expires_at INTEGER NOT NULL,
    record TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX client_sessions_by_expiry ON client_sessions (expires_at);
`;

/** What leads from one version of the schema to the next, by the version that it starts from. */
const MIGRATIONS: { readonly [version: number]: string | undefined } = {
  1: `
    ALTER TABLE sessions ADD COLUMN wake_at INTEGER;
    CREATE INDEX sessions_by_wake ON sessions (wake_at, id) WHERE wake_at IS NOT NULL;
  `,
};

/** How sure a commit is: `full` outlasts a power failure, `normal` the death of the process. */
export type Durability = "full" | "normal";

interface Job {
  readonly run: () => unknown;
  readonly done: (error: unknown, value: unknown) => void;
}

export class SqliteFile {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #jobs: Job[] = [];
  #scheduled: ReturnType<typeof setImmediate> | undefined;
  #closed = false;

  constructor(path: string, durability: Durability = "full") {
    this.path = path;
    const isNew = path === ":memory:" || !existsSync(path) || statSync(path).size === 0;
    this.#db = open(path, isNew);
    try {
      this.#db.exec("PRAGMA busy_timeout = 5000");
      if (isNew) create(this.#db);
      else migrate(this.#db, check(this.#db, path));
      this.#db.exec(
        `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${
          durability === "full" ? "FULL" : "NORMAL"
        }`,
      );
    } catch (error) {
      this.#db.close();
      throw error instanceof StoreError ? error : damaged(path, error);
    }
  }

  /** A statement, prepared once. */
  prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, statement = this.#db.prepare(sql));
    return statement;
  }

  /** Does a job in the next transaction, and returns once that is on disk. */
  write<T>(run: () => T): Operation<T> {
    return action<T>((resolve, reject) => {
      if (this.#closed) {
        reject(new StoreError(`Cannot write to "${this.path}": it is closed; open it again`));
        return () => {};
      }
      this.#jobs.push({
        run,
        done: (error, value) => error === undefined ? resolve(value as T) : reject(error as Error),
      });
      // Leaving early takes nothing back: what was asked for may have happened already.
      this.#scheduled ??= setImmediate(() => this.#commit());
      return () => {};
    });
  }

  close(): void {
    if (this.#closed) return;
    if (this.#scheduled) clearImmediate(this.#scheduled);
    this.#commit();
    this.#closed = true;
    this.#statements.clear();
    this.#db.close();
  }

  #commit(): void {
    this.#scheduled = undefined;
    const jobs = this.#jobs;
    this.#jobs = [];
    if (jobs.length === 0) return;
    const results: { error: unknown; value: unknown }[] = [];
    try {
      this.#db.exec("BEGIN IMMEDIATE");
      for (const job of jobs) results.push(this.#do(job));
      this.#db.exec("COMMIT");
    } catch (cause) {
      this.#rollBack();
      const error = new StoreError(
        `Cannot write to "${this.path}": ${messageOf(cause)}; make room or check the disk`,
        { cause },
      );
      for (const { done } of jobs) done(error, undefined);
      return;
    }
    jobs.forEach(({ done }, i) => done(results[i]!.error, results[i]!.value));
  }

  /** A job that finds its condition unmet has changed nothing, and disturbs no other. */
  #do({ run }: Job): { error: unknown; value: unknown } {
    try {
      return { error: undefined, value: run() };
    } catch (error) {
      if (error instanceof StoreConflict) return { error, value: undefined };
      throw error;
    }
  }

  #rollBack(): void {
    try {
      this.#db.exec("ROLLBACK");
    } catch {
      // SQLite has rolled back by itself, as it does when the disk is full.
    }
  }
}

function open(path: string, isNew: boolean): DatabaseSync {
  try {
    return new DatabaseSync(path);
  } catch (cause) {
    const what = isNew ? "it cannot be made there" : "it cannot be read";
    throw new StoreError(
      `Cannot open the store "${path}": ${what} (${
        messageOf(cause)
      }); check the path and its permissions`,
      { cause },
    );
  }
}

function create(db: DatabaseSync): void {
  db.exec(`
    BEGIN IMMEDIATE;
    PRAGMA application_id = ${APPLICATION_ID};
    PRAGMA user_version = ${SCHEMA_VERSION};
    ${SCHEMA}
    COMMIT;
  `);
}

/** Looks before anything is written, and tells which version it is of. */
function check(db: DatabaseSync, path: string): number {
  const pragma = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
  const id = pragma("application_id");
  if (id !== APPLICATION_ID) {
    throw new StoreError(
      `Cannot open the store "${path}": it is a database, but not one of Parley's; give another path`,
    );
  }
  const version = Number(pragma("user_version"));
  if (version > SCHEMA_VERSION) {
    throw new StoreError(
      `Cannot open the store "${path}": a newer Parley wrote it (format ${version}, this one knows ${SCHEMA_VERSION}); use that one, or give another path`,
    );
  }
  if (statSync(path).size > LARGEST_CHECKED) return version;
  const verdict = pragma("quick_check(1)");
  if (verdict !== "ok") throw damaged(path, verdict);
  return version;
}

/** All the way or not at all: a file is never between two versions. */
function migrate(db: DatabaseSync, from: number): void {
  if (from === SCHEMA_VERSION) return;
  let steps = "";
  for (let version = from; version < SCHEMA_VERSION; version++) steps += MIGRATIONS[version];
  try {
    db.exec(`BEGIN IMMEDIATE; ${steps} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT;`);
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

function damaged(path: string, cause: unknown): StoreError {
  return new StoreError(
    `Cannot open the store "${path}": it is damaged (${
      messageOf(cause)
    }); restore a backup, or give another path`,
    { cause },
  );
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
