/** Lets stores forget what is over, a little at a time. */
import type { Operation, Scope } from "effection";
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import { Strand } from "../lib/strand.ts";

/** Between two looks, where the first found nothing more to forget. */
const INTERVAL = 60_000;

/** What can be swept. */
export interface Sweepable {
  sweep(now: number): Operation<number>;
}

export interface SweeperHome {
  readonly scope: Scope;
  readonly deadlines: Deadlines;
  /** Whether there may be something to forget later. */
  isWorthwhile(): boolean;
  /** Renews what is not over, so that it is not forgotten, and ends what is. */
  prepare(now: number): Promise<void>;
  /** Something that was over by then has been forgotten. */
  swept(now: number): void;
  failed(error: unknown): void;
}

export class Sweeper {
  readonly #home: SweeperHome;
  readonly #stores: readonly Sweepable[];
  #deadline: Deadline | undefined;
  #sweeping: Promise<void> | undefined;
  #stopped = false;

  constructor(home: SweeperHome, stores: readonly Sweepable[]) {
    this.#home = home;
    this.#stores = stores;
  }

  /** Begins to look from time to time. */
  start(): void {
    if (this.#deadline || this.#sweeping || this.#stopped || !this.#home.isWorthwhile()) return;
    this.#deadline = this.#home.deadlines.add(INTERVAL, () => {
      this.#deadline = undefined;
      this.#sweeping = this.#sweep().then(() => {
        this.#sweeping = undefined;
        this.start();
      });
    });
  }

  /** Resolves once nothing is being swept any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#deadline?.cancel();
    await this.#sweeping;
  }

  async #sweep(): Promise<void> {
    // One time for both: nothing grows too old between them.
    const now = this.#home.deadlines.now();
    await this.#home.prepare(now);
    let swept = false;
    for (const store of this.#stores) {
      while (!this.#stopped && await this.#some(store, now) > 0) swept = true;
    }
    if (swept && !this.#stopped) this.#home.swept(now);
  }

  #some(store: Sweepable, now: number): Promise<number> {
    const { scope, failed } = this.#home;
    return new Promise((resolve) => {
      new Strand<number>(scope, () => store.sweep(now), (outcome) => {
        if (outcome.type === "threw") failed(outcome.error);
        resolve(outcome.type === "returned" ? outcome.value : 0);
      }).start();
    });
  }
}
