/**
 * Puts on record how a call ended whose record could not be written any more. Whoever
 * made it was told that it failed, and may have made it anew: it must not go on by
 * itself when the store is well again.
 *
 * E1  It is tried from time to time until the store takes it, or somebody has taken the
 *     session up: what becomes of it is then told by that run.
 * E2  What is to be recorded yet is bounded; the oldest are given up first.
 */
import type { Operation } from "effection";
import { StoreConflictError } from "../model/errors.ts";
import { isFinal, type ToolSessionEvent } from "../model/events.ts";
import type { ToolSessionStore } from "../store/types.ts";

export interface FinalEventsHome {
  readonly store: ToolSessionStore;
  /** How many may wait to be recorded. */
  readonly most: number;
  run<T>(operation: () => Operation<T>): Promise<T>;
  /** Nothing is being written here any more. */
  settled(): void;
  /** It is given up: the call may go on by itself. */
  failed(error: unknown): void;
}

interface End {
  readonly id: string;
  /** Whose session it was: only that owner may end it. */
  readonly epoch: number;
  readonly event: ToolSessionEvent;
}

export class FinalEvents {
  readonly #home: FinalEventsHome;
  /** Oldest first. */
  readonly #ends = new Map<string, End>();
  #trying: Promise<void> | undefined;
  #stopped = false;

  constructor(home: FinalEventsHome) {
    this.#home = home;
  }

  /** True while something is being written. */
  get busy(): boolean {
    return this.#trying !== undefined;
  }

  /** True for one that is over, although the store does not know. */
  has(id: string): boolean {
    return this.#ends.has(id);
  }

  /** Records an end, now or later. */
  record(end: End): void {
    const ends = this.#ends;
    ends.set(end.id, end);
    if (ends.size > this.#home.most) {
      const [oldest] = ends.keys();
      ends.delete(oldest!);
    }
    this.#try();
  }

  /** Tries again what could not be recorded. */
  async retry(): Promise<void> {
    if (this.#ends.size > 0) this.#try();
    await this.#trying;
  }

  /** Tries for the last time, and resolves once nothing is being written. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#trying;
    await this.retry();
  }

  #try(): void {
    this.#trying ??= this.#recordAll().then((error) => {
      this.#trying = undefined;
      if (error !== undefined && this.#stopped) {
        this.#ends.clear();
        this.#home.failed(error);
      }
      this.#home.settled();
    });
  }

  /** What was against it, if something was. */
  async #recordAll(): Promise<unknown> {
    for (;;) {
      const [end] = this.#ends.values();
      if (!end) return undefined;
      try {
        await this.#home.run(() => this.#recordOne(end));
      } catch (error) {
        if (!(error instanceof StoreConflictError)) return error ?? new Error("halted");
      }
      if (this.#ends.get(end.id) === end) this.#ends.delete(end.id);
    }
  }

  *#recordOne({ id, epoch, event }: End): Operation<void> {
    const { store } = this.#home;
    const entry = yield* store.get(id);
    if (entry?.epoch !== epoch) return;
    // What the store seemed to refuse may be there all the same.
    const more = yield* store.read(id, event.lsn - 1);
    const last = more.at(-1);
    if (last && isFinal(last)) return;
    const afterLSN = last?.lsn ?? event.lsn - 1;
    yield* store.append(id, [{ ...event, lsn: afterLSN + 1 }], { afterLSN, epoch, wakeAt: null });
  }
}
