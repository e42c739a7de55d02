/**
 * Writes the events of one session to a store, in order. While one commit is being written, the
 * events of the next one are collected.
 */
import type { Operation, Scope } from "effection";
import type { ToolSessionEvent } from "../model/events.ts";
import { Strand } from "../lib/strand.ts";
import type { AppendChange, ToolSessionEntry, ToolSessionStore } from "../store/types.ts";

export interface JournalReader {
  /** Called when everything up to this LSN is in the store. */
  recorded(lsn: number): void;
  /** Called when the store refused a write. The journal writes nothing after that. */
  failed(error: unknown): void;
  /**
   * Returns the changes to write together with these events. `meta` replaces the `meta` of the
   * entry.
   */
  state(
    batch: readonly ToolSessionEvent[],
  ): AppendChange & { readonly meta?: ToolSessionEntry["meta"] };
}

/** The type of `this` in methods that write fields. For other code, these fields are read-only. */
type Own = { -readonly [K in keyof Journal]: Journal[K] };

export class Journal {
  readonly #home: Scope;
  readonly #store: ToolSessionStore;
  readonly #reader: JournalReader;
  #entry: ToolSessionEntry;
  #gathered: ToolSessionEvent[] = [];
  #writing = false;
  /** True if the current entry is in the store, or is being written. */
  #entryWritten: boolean;
  #broken = false;
  readonly epoch: number;
  /**
   * The time from which the store may delete the session. Includes a change that is still being
   * written.
   */
  readonly expiresAt: number;
  #whenWritten: (() => void)[] = [];

  /** `written` is true if the store already has the entry. */
  constructor(
    home: Scope,
    store: ToolSessionStore,
    entry: ToolSessionEntry,
    reader: JournalReader,
    written = false,
  ) {
    this.#home = home;
    this.#store = store;
    this.#entry = entry;
    this.#reader = reader;
    this.#entryWritten = written;
    this.epoch = entry.epoch;
    this.expiresAt = entry.expiresAt ?? 0;
  }

  write(event: ToolSessionEvent): void {
    if (this.#broken) return;
    this.#gathered.push(event);
    if (!this.#writing) this.#commit();
  }

  /**
   * Changes the entry, and writes it. If the entry was never written, the next write includes it.
   */
  update(change: Partial<ToolSessionEntry>): void {
    this.#entry = { ...this.#entry, ...change };
    (this as Own).expiresAt = this.#entry.expiresAt ?? 0;
    if (!this.#entryWritten || this.#broken) return;
    this.#entryWritten = false;
    if (!this.#writing) this.#commit();
  }

  /** Calls `then` when everything is written, including the entry. The call may be synchronous. */
  whenWritten(then: () => void): void {
    if (!this.#entryWritten && !this.#writing && !this.#broken) this.#commit();
    if (this.#writing) this.#whenWritten.push(then);
    else then();
  }

  #commit(): void {
    const batch = this.#gathered;
    this.#gathered = [];
    this.#writing = true;
    new Strand<void>(this.#home, () => this.#write(batch), (outcome) => {
      this.#writing = false;
      if (outcome.type === "returned") {
        const last = batch.at(-1);
        if (last) this.#reader.recorded(last.lsn);
        if (this.#writing) return;
        if (this.#gathered.length > 0 || !this.#entryWritten) return this.#commit();
      } else {
        this.#broken = true;
        this.#reader.failed(outcome.type === "threw" ? outcome.error : new Error("halted"));
      }
      for (const then of this.#whenWritten.splice(0)) then();
    }).start();
  }

  *#write(batch: readonly ToolSessionEvent[]): Operation<void> {
    const { id } = this.#entry;
    let entry = this.#entryWritten ? undefined : this.#entry;
    // Set this before the write, so that a change during the write causes another write.
    this.#entryWritten = true;
    if (batch.length > 0) {
      const { meta, ...state } = this.#reader.state(batch);
      (this as Own).expiresAt = state.expiresAt ?? this.expiresAt;
      if (meta) entry = this.#entry = { ...this.#entry, meta };
      yield* this.#store.append(id, batch, {
        afterLSN: batch[0]!.lsn - 1,
        epoch: this.epoch,
        ...(entry && { entry }),
        ...state,
      });
    } else if (entry) yield* this.#store.set(id, entry);
  }
}
