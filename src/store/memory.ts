/** A store that forgets everything with the process. It never waits. */
import { StoreConflictError } from "../model/errors.ts";
import type { ToolSessionEvent } from "../model/events.ts";
import type {
  AppendChange,
  AppendCondition,
  ToolSessionEntry,
  ToolSessionStore,
  Wake,
} from "./types.ts";

/** How many expired sessions one sweep removes at most. */
const SWEEP = 1_000;

interface Shelf {
  entry: ToolSessionEntry;
  readonly events: ToolSessionEvent[];
}

/**
 * Keeps the records of durable calls in memory: the default. They outlast their run,
 * for a client that comes back, but not the process.
 */
export class InMemoryToolSessionStore implements ToolSessionStore {
  readonly #shelves = new Map<string, Shelf>();
  /** Apart from the shelves: few sessions have a time to wake. */
  readonly #wakes = new Map<string, number>();
  readonly #expiries = new Expiries();

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
      throw new StoreConflictError(
        id,
        `epoch ${entry.epoch} is over, ${shelf.entry.epoch} has begun`,
      );
    } else shelf.entry = entry;
    this.#expiries.set(id, entry.expiresAt);
  }

  *take(id: string) {
    const shelf = this.#shelves.get(id);
    if (!shelf) return null;
    return shelf.entry = { ...shelf.entry, epoch: shelf.entry.epoch + 1 };
  }

  *delete(id: string) {
    this.#shelves.delete(id);
    this.#wakes.delete(id);
    this.#expiries.delete(id);
  }

  *append(
    id: string,
    events: readonly ToolSessionEvent[],
    { afterLSN, epoch, entry, expiresAt, wakeAt }: AppendCondition & AppendChange,
  ) {
    const shelf: Shelf | undefined = this.#shelves.get(id) ?? (entry && { entry, events: [] });
    if (!shelf) throw new StoreConflictError(id, "it is not in the store", true);
    if (shelf.entry.epoch !== epoch) {
      throw new StoreConflictError(id, `epoch ${epoch} is over, ${shelf.entry.epoch} has begun`);
    }
    const last = shelf.events.at(-1)?.lsn ?? 0;
    if (last !== afterLSN) {
      throw new StoreConflictError(id, `its last event is ${last}, not ${afterLSN}`);
    }
    events.forEach((event, index) => {
      if (event.lsn !== afterLSN + 1 + index) {
        throw new StoreConflictError(id, `event ${event.lsn} does not follow ${afterLSN + index}`);
      }
    });
    // Not push(...events): that puts every event on the stack.
    for (const event of events) shelf.events.push(event);
    if (entry) {
      shelf.entry = entry;
      this.#shelves.set(id, shelf);
      this.#expiries.set(id, entry.expiresAt);
    }
    if (expiresAt !== undefined) {
      shelf.entry = { ...shelf.entry, expiresAt };
      this.#expiries.set(id, expiresAt);
    }
    if (wakeAt === null) this.#wakes.delete(id);
    else if (wakeAt !== undefined) this.#wakes.set(id, wakeAt);
  }

  *read(id: string, afterLSN = 0) {
    const events = this.#shelves.get(id)?.events ?? [];
    // LSNs count from 1 without gaps, so an LSN is also an index.
    return events.slice(afterLSN);
  }

  *wakes(limit: number, after?: Wake) {
    return [...this.#wakes].map(([id, wakeAt]) => ({ id, wakeAt }))
      .filter((wake) => !after || order(wake, after) > 0)
      .sort(order).slice(0, limit);
  }

  *sweep(now: number) {
    let swept = 0;
    for (const id of this.#expiries.expired(now)) {
      yield* this.delete(id);
      if (++swept === SWEEP) break;
    }
    return swept;
  }
}

function order(one: Wake, other: Wake): number {
  if (one.wakeAt !== other.wakeAt) return one.wakeAt - other.wakeAt;
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}

const MINUTE = 60_000;

export class Expiries {
  readonly #minutes = new Map<number, Set<string>>();
  readonly #minuteOf = new Map<string, number>();

  set(id: string, expiresAt: number | undefined): void {
    // The minute after: a whole minute is over, or it is not.
    const minute = expiresAt === undefined ? undefined : Math.floor(expiresAt / MINUTE) + 1;
    const before = this.#minuteOf.get(id);
    if (before === minute) return;
    if (before !== undefined) this.delete(id);
    if (minute === undefined) return;
    this.#minuteOf.set(id, minute);
    let ids = this.#minutes.get(minute);
    if (!ids) this.#minutes.set(minute, ids = new Set());
    ids.add(id);
  }

  delete(id: string): void {
    const minute = this.#minuteOf.get(id);
    if (minute === undefined) return;
    this.#minuteOf.delete(id);
    const ids = this.#minutes.get(minute)!;
    ids.delete(id);
    if (ids.size === 0) this.#minutes.delete(minute);
  }

  /** Those whose minute is over. */
  *expired(now: number): Iterable<string> {
    for (const [minute, ids] of this.#minutes) if (minute * MINUTE <= now) yield* ids;
  }
}
