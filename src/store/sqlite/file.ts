/**
 * One SQLite file. Writes are batched: many small jobs share one commit.
 *
 * All jobs that are requested in one turn of the event loop share one transaction. So the number of
 * appends per second can be many times the number of syncs that the disk can do. A job is reported
 * as done only after its transaction is on disk.
 *
 * FILE-1  A job is applied completely or not at all, whatever happens to other jobs.
 * FILE-2  A failed commit is reported as a `StoreError`. It does not affect later jobs.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { clearImmediate, setImmediate } from "node:timers";
import { action, type Operation } from "effection";
import { StoreConflictError, StoreError } from "../../model/errors.ts";
import { storeError } from "./errors.ts";
import { type Durability, openDatabase } from "./open.ts";
import { pragma, rollBack } from "./schema.ts";

export type { Durability } from "./open.ts";

/** How many free pages one commit returns to the file system. */
const PAGES_PER_COMMIT = 256;

/** Free pages stay in the file if they are fewer than this, or less than a tenth of the file. */
const SPARE_PAGES = 64;

/** The database methods that this class uses. */
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

  /** `through` can wrap the connection. Tests use it to simulate a failing disk. */
  constructor(
    path: string,
    durability: Durability = "full",
    through: (db: Connection) => Connection = (db) => db,
    busyTimeout?: number,
  ) {
    this.path = path;
    this.#db = through(openDatabase(path, durability, busyTimeout));
  }

  /** From now on, deleted data is overwritten with zeros. */
  overwriteDeleted(): void {
    this.read(() => this.#db.exec("PRAGMA secure_delete = ON"));
  }

  /** Returns a statement that is prepared once and then reused. */
  prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, statement = this.#db.prepare(sql));
    return statement;
  }

  /** Runs a query. It sees committed data only. */
  read<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      throw storeError("read", this.path, error);
    }
  }

  /**
   * Runs a job in the next transaction, and returns when the transaction is on disk. If another job
   * of the transaction fails, this job runs again, so it must not change anything but the file.
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
      // Halting the operation does not cancel the job, which may have run already.
      this.#scheduled ??= setImmediate(() => this.#commit());
      return () => {};
    });
  }

  /** Returns free pages to the file system, in small steps, so that no other job waits long. */
  *compact(): Operation<void> {
    let free = this.#free();
    const before = free;
    while (free > 0) {
      yield* this.write(() => this.#db.exec(`PRAGMA incremental_vacuum(${PAGES_PER_COMMIT})`));
      const left = this.#free();
      // The file cannot shrink, because an older version created it. It reuses its free pages
      // later.
      if (left >= free) break;
      free = left;
    }
    // The file shrinks only when the write-ahead log is checkpointed.
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

  /** The number of pages to return, or 0 if there are only a few. */
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
      // FILE-1: one job failed, so run each job in a separate transaction.
      if (jobs.length > 1 && outcomes.length < jobs.length) {
        for (const job of jobs) this.#transact([job]);
        return;
      }
      // FILE-2: report the failure. The next commit is a new transaction.
      const error = storeError("write to", this.path, cause);
      for (const { done } of jobs) done(error, undefined);
      return;
    }
    for (const [i, { done }] of jobs.entries()) done(outcomes[i]!.error, outcomes[i]!.value);
  }
}

interface Outcome {
  readonly error?: unknown;
  readonly value?: unknown;
}

/**
 * Runs a job. A job that throws a `StoreConflictError` has changed nothing, so the transaction
 * continues.
 */
function perform({ run }: Job): Outcome {
  try {
    return { value: run() };
  } catch (error) {
    if (error instanceof StoreConflictError) return { error };
    throw error;
  }
}
