/**
 * Maintains the store while a server runs: renews the records of live sessions, retries final
 * events, deletes expired records in small batches, and counts the remaining bytes.
 *
 * SWEEP-1  The loop runs only while there may be records to delete: always if the store outlasts
 *          the registry, otherwise while the in-memory store has suspended sessions.
 * SWEEP-2  A sweep renews records before it deletes any, and uses the same time for both.
 * SWEEP-3  The sweeper reads the store's usage at the start and after each deletion: only the store
 *          knows which callers the deleted records belonged to.
 */
import type { Operation } from "effection";
import { deadline } from "../lib/deadlines.ts";
import { LazyLoop } from "../lib/lazy-loop.ts";
import { promised } from "../lib/strand.ts";
import type { FinalEvents } from "./final-events.ts";
import type { RegistryParts } from "./parts.ts";
import type { SessionRecords } from "./records.ts";
import type { Resting } from "./resting.ts";

/** Milliseconds between two sweeps. */
const INTERVAL = 60_000;

/** A store that can be swept. */
export interface Sweepable {
  /**
   * Deletes some of the records that have expired by `now`. Returns their number, or 0 if none are
   * left.
   */
  sweep(now: number): Operation<number>;
}

export class Sweeper {
  readonly #parts: RegistryParts;
  readonly #records: SessionRecords;
  readonly #finalEvents: FinalEvents;
  readonly #resting: Resting | undefined;
  readonly #stores: readonly Sweepable[];
  readonly #loop: LazyLoop;
  #counting: Promise<void> | undefined;

  constructor(
    parts: RegistryParts,
    records: SessionRecords,
    finalEvents: FinalEvents,
    resting: Resting | undefined,
  ) {
    this.#parts = parts;
    this.#records = records;
    this.#finalEvents = finalEvents;
    this.#resting = resting;
    this.#stores = [parts.store, parts.server];
    this.#loop = new LazyLoop(parts.scope, () => this.#run());
    parts.budget.countsStore = parts.outlasts && parts.store.usage !== undefined;
  }

  /** Starts the loop, unless it is running or is not needed (SWEEP-1). */
  start(): void {
    if (this.#isNeeded) this.#loop.start();
  }

  /** Stops the loop. Resolves when no sweep and no count is in progress. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#counting;
  }

  /** Reads from the store how many bytes the records of each caller use (SWEEP-3). */
  countUsage(): void {
    const { scope, store, budget } = this.#parts;
    if (!budget.countsStore) return;
    this.#counting ??= promised(scope, () => store.usage!())
      .then(
        (bytes) => budget.store.replace(bytes),
        (error) => this.#report("the bytes in the store could not be counted", error),
      )
      .then(() => this.#counting = undefined);
  }

  get #isNeeded(): boolean {
    return this.#parts.outlasts || this.#resting!.size > 0;
  }

  *#run(): Operation<void> {
    while (this.#isNeeded) {
      yield* deadline(this.#parts.deadlines, INTERVAL);
      yield* this.#sweep(this.#parts.deadlines.now());
    }
  }

  *#sweep(now: number): Operation<void> {
    // SWEEP-2: renew records first.
    yield* this.#records.renew(now);
    yield* this.#finalEvents.retry();
    let swept = false;
    for (const store of this.#stores) {
      try {
        while ((yield* store.sweep(now)) > 0) swept = true;
      } catch (error) {
        this.#report("expired records could not be deleted", error);
      }
    }
    if (!swept) return;
    this.#resting?.expire(now);
    this.countUsage();
  }

  #report(what: string, error: unknown): void {
    this.#parts.report({ what, toolName: "-", sessionId: "-", error });
  }
}
