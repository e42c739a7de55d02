/**
 * One SQLite file, and the one way it is written: many small jobs, one commit.
 *
 * Everything that is asked for in one turn of the event loop is done in one
 * transaction, so that a disk that can be waited for a few thousand times a
 * second still carries many times as many appends. Nobody is told that a job is
 * done before its transaction is on disk.
 *
 * F1  A job either happens whole or not at all, whatever the others do.
 * F2  What fails is told in words, and what comes after it is tried anew.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { clearImmediate, setImmediate } from "node:timers";
import { action, type Operation } from "effection";
import { StoreConflictError, StoreError } from "../../model/errors.ts";
import { storeError } from "./errors.ts";
import { type Durability, openDatabase } from "./open.ts";
import { pragma, rollBack } from "./schema.ts";

export type { Durability } from "./open.ts";

/** How many pages are given back to the disk in one commit. */
const PAGES_AT_ONCE = 256;

/** How many free pages are not worth the work, if they are not a tenth of the file either. */
const SPARE_PAGES = 64;

/** The part of a database that is used here. */
export type Connection = Pick<DatabaseSync, "exec" | "prepare" | "close">;

interface Job {
  readonly run: () => unknown;
  readonly done: (error: unknown, value: unknown) => void;
}

export class SqliteFile {
  readonly path: string;
  readonly #db: Connection;
  readonly #statements = new Map<string, StatementSync>();
  #jobs: Job[] = [];
  #scheduled: ReturnType<typeof setImmediate> | undefined;
  #closed = false;

  /** `through` puts something between this and the file, such as a disk that fails. */
  constructor(
    path: string,
    durability: Durability = "full",
    through: (db: Connection) => Connection = (db) => db,
    busyTimeout?: number,
  ) {
    this.path = path;
    this.#db = through(openDatabase(path, durability, busyTimeout));
  }

  /** A statement, prepared once. */
  prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, statement = this.#db.prepare(sql));
    return statement;
  }

  /** Looks something up, as it is on disk. */
  read<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      throw storeError("read", this.path, error);
    }
  }

  /**
   * Does a job in the next transaction, and returns once that is on disk. A job may be
   * begun twice, if another one fails beside it: it changes nothing but the file.
   */
  write<T>(run: () => T): Operation<T> {
    return action<T>((resolve, reject) => {
      if (this.#closed) {
        reject(
          new StoreError(`Cannot write to the store "${this.path}": it is closed; open it again`),
        );
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

  /** Gives back to the disk what has become free, a piece at a time so that nobody waits long. */
  *compact(): Operation<void> {
    let free = this.#free();
    const before = free;
    while (free > 0) {
      yield* this.write(() => this.#db.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`));
      const left = this.#free();
      // A file that came from an older version keeps what it has, for what comes next.
      if (left >= free) break;
      free = left;
    }
    // The file itself is cut only when the log is carried over to it.
    if (free < before) this.read(() => this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  }

  close(): void {
    if (this.#closed) return;
    if (this.#scheduled) clearImmediate(this.#scheduled);
    this.#commit();
    this.#closed = true;
    this.#statements.clear();
    this.#db.close();
  }

  /** Pages that could be given back: all that are free, or none where that is few. */
  #free(): number {
    return this.read(() => {
      const free = Number(pragma(this.#db, "freelist_count"));
      const spare = Math.max(SPARE_PAGES, Number(pragma(this.#db, "page_count")) / 10);
      return free > spare ? free : 0;
    });
  }

  #commit(): void {
    this.#scheduled = undefined;
    const jobs = this.#jobs;
    this.#jobs = [];
    if (jobs.length > 0) this.#transact(jobs);
  }

  #transact(jobs: readonly Job[]): void {
    const outcomes: Outcome[] = [];
    try {
      this.#db.exec("BEGIN IMMEDIATE");
      for (const job of jobs) outcomes.push(perform(job));
      this.#db.exec("COMMIT");
    } catch (cause) {
      rollBack(this.#db);
      // One of them failed: the others are not to blame, and get each a transaction of its own.
      if (jobs.length > 1 && outcomes.length < jobs.length) {
        for (const job of jobs) this.#transact([job]);
        return;
      }
      const error = storeError("write to", this.path, cause);
      for (const { done } of jobs) done(error, undefined);
      return;
    }
    jobs.forEach(({ done }, i) => done(outcomes[i]!.error, outcomes[i]!.value));
  }
}

interface Outcome {
  readonly error?: unknown;
  readonly value?: unknown;
}

/** A job that finds its condition unmet has changed nothing, and disturbs no other. */
function perform({ run }: Job): Outcome {
  try {
    return { value: run() };
  } catch (error) {
    if (error instanceof StoreConflictError) return { error };
    throw error;
  }
}
