/**
 * Writes the events of one session to a store, in order, one commit at a time
 * while the next batch gathers.
 */
import type { Operation, Scope } from "effection";
import type { ToolSessionEvent } from "../events.ts";
import { Strand } from "../runtime/strand.ts";
import type { ToolSessionEntry, ToolSessionStore } from "../store/types.ts";

export interface JournalReader {
  /** Everything up to this LSN is in the store. */
  recorded(lsn: number): void;
  /** The store refused; nothing further will be written. */
  failed(error: unknown): void;
}

export class Journal {
  readonly #home: Scope;
  readonly #store: ToolSessionStore;
  readonly #entry: ToolSessionEntry;
  readonly #reader: JournalReader;
  #gathered: ToolSessionEvent[] = [];
  #writing = false;
  #opened = false;
  #broken = false;

  constructor(
    home: Scope,
    store: ToolSessionStore,
    entry: ToolSessionEntry,
    reader: JournalReader,
  ) {
    this.#home = home;
    this.#store = store;
    this.#entry = entry;
    this.#reader = reader;
  }

  write(event: ToolSessionEvent): void {
    if (this.#broken) return;
    this.#gathered.push(event);
    if (!this.#writing) this.#commit();
  }

  #commit(): void {
    const batch = this.#gathered;
    this.#gathered = [];
    this.#writing = true;
    const write = () => this.#write(batch);
    new Strand<void>(this.#home, write, (outcome) => {
      this.#writing = false;
      if (outcome.type === "returned") {
        this.#reader.recorded(batch.at(-1)!.lsn);
        if (this.#gathered.length > 0 && !this.#writing) this.#commit();
      } else {
        this.#broken = true;
        this.#reader.failed(outcome.type === "threw" ? outcome.error : new Error("halted"));
      }
    }).start();
  }

  *#write(batch: readonly ToolSessionEvent[]): Operation<void> {
    const { id, epoch } = this.#entry;
    if (!this.#opened) {
      yield* this.#store.set(id, this.#entry);
      this.#opened = true;
    }
    yield* this.#store.append(id, batch, { afterLSN: batch[0]!.lsn - 1, epoch });
  }
}
