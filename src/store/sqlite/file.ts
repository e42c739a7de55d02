/**
 * One SQLite file. All writes go through batches: many small jobs, one commit.
 *
 * All jobs that are requested in one turn of the event loop share one transaction. A disk that
 * can sync a few thousand times per second therefore carries many times as many appends. A job is
 * reported as done only after its transaction is on disk.
 *
 * FILE1  A job is applied completely or not at all, whatever happens to other jobs.
 * FILE2  A failed commit is reported as a `StoreError`. Later jobs are tried again.
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

/** Fewer free pages than this, or less than a tenth of the file, are not worth returning. */
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

  /** `through` wraps the connection, for example to simulate a failing disk. */
  constructor(
    path: string,
    durability: Durability = "full",
    through: (db: Connection) => Connection = (db) => db,
    busyTimeout?: number,
  ) {
    this.path = path;
    this.#db = through(openDatabase(path, durability, busyTimeout));
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
   * Runs a job in the next transaction and returns when that is on disk. If another job of the
   * transaction fails, the job runs again: it must change nothing but the file.
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
      // Halting the operation does not withdraw the job: it may be done already.
      this.#scheduled ??= setImmediate(() => this.#commit());
      return () => {};
    });
  }

  /**
   * Returns free pages to the file system, in small steps so that other jobs need not wait long.
   */
  *compact(): Operation<void> {
    let free = this.#free();
    const before = free;
    while (free > 0) {
      yield* this.write(() => this.#db.exec(`PRAGMA incremental_vacuum(${PAGES_PER_COMMIT})`));
      const left = this.#free();
      // A file that an older version created keeps its free pages for later use.
      if (left >= free) break;
      free = left;
    }
    // The file only shrinks when the write-ahead log is checkpointed.
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
      // FILE1: one job failed, so run each job in a separate transaction.
      if (jobs.length > 1 && outcomes.length < jobs.length) {
        for (const job of jobs) this.#transact([job]);
        return;
      }
      // FILE2: report the failure; the next commit starts afresh.
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

/** A job whose condition is not met has changed nothing, so the transaction continues. */
function perform({ run }: Job): Outcome {
  try {
    return { value: run() };
  } catch (error) {
    if (error instanceof StoreConflictError) return { error };
    throw error;
  }
}
