/**
 * Stores the final event of calls that failed because their record could not be written. The caller
 * has received an error and may have called again, so the failed call must not resume by itself
 * when the store works again.
 *
 * FINAL-1  Each final event is retried until the store accepts it, or until the session has a new
 *          owner. The run of the new owner then decides how the session ends.
 * FINAL-2  The number of final events that wait is limited. The oldest are dropped first.
 */
import { type Operation, until } from "effection";
import { promised } from "../lib/strand.ts";
import { StoreConflictError } from "../model/errors.ts";
import { isFinal, type ToolSessionEvent } from "../model/events.ts";
import type { RegistryParts } from "./parts.ts";

interface End {
  readonly id: string;
  /** The epoch of the owner that ran the session. Only that owner may end the session. */
  readonly epoch: number;
  readonly event: ToolSessionEvent;
}

export class FinalEvents {
  readonly #parts: RegistryParts;
  /** The final events that wait to be stored, by session id, oldest first. */
  readonly #ends = new Map<string, End>();
  #writing: Promise<void> | undefined;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
  }

  get isWriting(): boolean {
    return this.#writing !== undefined;
  }

  /** Returns true if the final event of a session waits to be stored. */
  has(id: string): boolean {
    return this.#ends.has(id);
  }

  /** Stores a final event now, or in a later `retry` if the store fails. */
  record(end: End): void {
    const ends = this.#ends;
    ends.set(end.id, end);
    // FINAL-2: drop the oldest.
    if (ends.size > this.#parts.live.max) {
      const [oldest] = ends.keys();
      ends.delete(oldest!);
    }
    this.#write();
  }

  /** Retries the final events that could not be stored. */
  *retry(): Operation<void> {
    if (this.#ends.size > 0) this.#write();
    if (this.#writing) yield* until(this.#writing);
  }

  /**
   * Makes the last attempt to store the final events. If it fails, reports the failure to the
   * operator.
   */
  *stop(): Operation<void> {
    if (this.#writing) yield* until(this.#writing);
    const failure = yield* this.#writeAll();
    if (!failure) return;
    this.#ends.clear();
    const what = "the final events of failed calls could not be stored";
    this.#parts.report({ what, toolName: "-", sessionId: "-", error: failure.error });
  }

  #write(): void {
    const { scope, activity } = this.#parts;
    this.#writing ??= promised(scope, () => this.#writeAll()).then(() => {
      this.#writing = undefined;
      activity.changed();
    });
  }

  /** Stores all final events that wait. Returns the error that the store threw, if any. */
  *#writeAll(): Operation<{ readonly error: unknown } | undefined> {
    for (;;) {
      const [end] = this.#ends.values();
      if (!end) return undefined;
      try {
        yield* this.#writeOne(end);
      } catch (error) {
        if (!(error instanceof StoreConflictError)) return { error };
      }
      if (this.#ends.get(end.id) === end) this.#ends.delete(end.id);
    }
  }

  *#writeOne({ id, epoch, event }: End): Operation<void> {
    const { store } = this.#parts;
    const entry = yield* store.get(id);
    // FINAL-1: the session has a new owner, whose run decides how it ends.
    if (entry?.epoch !== epoch) return;
    // The store may have written events although it reported an error.
    const more = yield* store.read(id, event.lsn - 1);
    const last = more.at(-1);
    if (last && isFinal(last)) return;
    const afterLSN = last?.lsn ?? event.lsn - 1;
    yield* store.append(id, [{ ...event, lsn: afterLSN + 1 }], { afterLSN, epoch, wakeAt: null });
  }
}
