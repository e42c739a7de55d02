/** A store that forgets everything with the process. It never waits. */
import { StoreConflict } from "../errors.ts";
import type { ToolSessionEvent } from "../events.ts";
import type { ToolSessionEntry, ToolSessionStore } from "./types.ts";

interface Shelf {
  entry: ToolSessionEntry;
  readonly events: ToolSessionEvent[];
}

export class InMemoryToolSessionStore implements ToolSessionStore {
  readonly #shelves = new Map<string, Shelf>();

  get size(): number {
    return this.#shelves.size;
  }

  *get(id: string) {
    return this.#shelves.get(id)?.entry ?? null;
  }

  *set(id: string, entry: ToolSessionEntry) {
    const shelf = this.#shelves.get(id);
    if (!shelf) this.#shelves.set(id, { entry, events: [] });
    else if (entry.epoch < shelf.entry.epoch) {
      throw new StoreConflict(id, `epoch ${entry.epoch} is over, ${shelf.entry.epoch} has begun`);
    } else shelf.entry = entry;
  }

  *delete(id: string) {
    this.#shelves.delete(id);
  }

  *append(
    id: string,
    events: readonly ToolSessionEvent[],
    { afterLSN, epoch }: { afterLSN: number; epoch: number },
  ) {
    const shelf = this.#shelves.get(id);
    if (!shelf) throw new StoreConflict(id, "it is not in the store");
    if (shelf.entry.epoch !== epoch) {
      throw new StoreConflict(id, `epoch ${epoch} is over, ${shelf.entry.epoch} has begun`);
    }
    const last = shelf.events.at(-1)?.lsn ?? 0;
    if (last !== afterLSN) {
      throw new StoreConflict(id, `its last event is ${last}, not ${afterLSN}`);
    }
    events.forEach((event, index) => {
      if (event.lsn !== afterLSN + 1 + index) {
        throw new StoreConflict(id, `event ${event.lsn} does not follow ${afterLSN + index}`);
      }
    });
    // Not push(...events): that puts every event on the stack.
    for (const event of events) shelf.events.push(event);
  }

  *read(id: string, afterLSN = 0) {
    const events = this.#shelves.get(id)?.events ?? [];
    // LSNs count from 1 without gaps, so an LSN is also an index.
    return events.slice(afterLSN);
  }
}
