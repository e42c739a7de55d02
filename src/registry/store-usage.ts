/**
 * How many bytes are in the store, and whose they are. The store is asked at the start, and
 * whenever it has forgotten something: whose that was, nobody here knows.
 */
import type { Budget } from "./budget.ts";

export interface StoreUsageHome {
  /** Asks the store; undefined where it does not tell. */
  readonly usage: (() => Promise<ReadonlyMap<string, number>>) | undefined;
  readonly budget: Budget;
  failed(error: unknown): void;
}

export class StoreUsage {
  readonly #home: StoreUsageHome;
  #counting: Promise<void> | undefined;

  constructor(home: StoreUsageHome) {
    this.#home = home;
    home.budget.countsStore = home.usage !== undefined;
  }

  /** Asks the store, unless it is being asked. */
  count(): void {
    const { usage, budget, failed } = this.#home;
    if (!usage) return;
    this.#counting ??= usage()
      .then((bytes) => budget.store.replace(bytes), failed)
      .then(() => this.#counting = undefined);
  }

  /** Resolves once the store is not being asked any more. */
  get counted(): Promise<void> | undefined {
    return this.#counting;
  }
}
