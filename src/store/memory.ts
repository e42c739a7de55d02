/**
 * The in-memory store. Its records are lost when the process ends. Its operations complete
 * synchronously.
 */
import type { Operation } from "effection";
import { StoreConflictError } from "../model/errors.ts";
import type { ToolSessionEvent } from "../model/events.ts";
import type {
  AppendChange,
  AppendCondition,
  StoredSession,
  ToolSessionEntry,
  ToolSessionStore,
  Wake,
} from "./types.ts";

/** The maximum number of expired sessions that one sweep removes. */
const SWEEP = 1_000;

interface Stored {
  entry: ToolSessionEntry;
  readonly events: ToolSessionEvent[];
}

/**
 * Stores the records of durable calls in memory. This is the default. A call can leave memory and
 * resume from its record, but the records are lost when the process ends.
 */
export class InMemoryToolSessionStore implements ToolSessionStore {
  readonly #sessions = new Map<string, Stored>();
  /** The wake-up times by session id. They have their own map, because few sessions have one. */
  readonly #wakes = new Map<string, number>();
  readonly #expiries = new Expiries();

  /** The number of sessions in the store. */
  get size(): number {
    return this.#sessions.size;
  }

  *get(id: string): Operation<ToolSessionEntry | null> {
    return this.#sessions.get(id)?.entry ?? null;
  }

  *set(id: string, entry: ToolSessionEntry): Operation<void> {
    const stored = this.#sessions.get(id);
    if (!stored) this.#sessions.set(id, { entry, events: [] });
    else if (entry.epoch < stored.entry.epoch) {
      throw new StoreConflictError(
        id,
        `epoch ${entry.epoch} has been superseded by ${stored.entry.epoch}`,
      );
    } else stored.entry = entry;
    this.#expiries.set(id, entry.expiresAt);
  }

  *take(id: string): Operation<ToolSessionEntry | null> {
    const stored = this.#sessions.get(id);
    if (!stored) return null;
    return stored.entry = { ...stored.entry, epoch: stored.entry.epoch + 1 };
  }

  *delete(id: string): Operation<void> {
    this.#sessions.delete(id);
    this.#wakes.delete(id);
    this.#expiries.delete(id);
  }

  *append(
    id: string,
    events: readonly ToolSessionEvent[],
    { afterLSN, epoch, entry, expiresAt, wakeAt }: AppendCondition & AppendChange,
  ): Operation<void> {
    const stored: Stored | undefined = this.#sessions.get(id) ?? (entry && { entry, events: [] });
    if (!stored) throw new StoreConflictError(id, "it is not in the store", true);
    if (stored.entry.epoch !== epoch) {
      throw new StoreConflictError(
        id,
        `epoch ${epoch} has been superseded by ${stored.entry.epoch}`,
      );
    }
    const last = stored.events.at(-1)?.lsn ?? 0;
    if (last !== afterLSN) {
      throw new StoreConflictError(id, `its last event is ${last}, not ${afterLSN}`);
    }
    events.forEach((event, index) => {
      if (event.lsn !== afterLSN + 1 + index) {
        throw new StoreConflictError(id, `event ${event.lsn} does not follow ${afterLSN + index}`);
      }
    });
    // Do not use `push(...events)`: a large batch would overflow the stack.
    for (const event of events) stored.events.push(event);
    if (entry) {
      stored.entry = entry;
      this.#sessions.set(id, stored);
      this.#expiries.set(id, entry.expiresAt);
    }
    if (expiresAt !== undefined) {
      stored.entry = { ...stored.entry, expiresAt };
      this.#expiries.set(id, expiresAt);
    }
    if (wakeAt === null) this.#wakes.delete(id);
    else if (wakeAt !== undefined) this.#wakes.set(id, wakeAt);
  }

  *read(
    id: string,
    afterLSN = 0,
    limit = Infinity,
  ): Operation<readonly ToolSessionEvent[]> {
    const events = this.#sessions.get(id)?.events ?? [];
    // LSNs start at 1 and have no gaps, so the event after LSN n has the index n.
    return events.slice(afterLSN, afterLSN + limit);
  }

  *wakes(limit: number, after?: Wake): Operation<readonly Wake[]> {
    return [...this.#wakes].map(([id, wakeAt]) => ({ id, wakeAt }))
      .filter((wake) => !after || order(wake, after) > 0)
      .sort(order).slice(0, limit);
  }

  *sessionsOf(principal: string): Operation<readonly string[]> {
    return [...this.#sessions.values()].map(({ entry }) => entry)
      .filter((entry) => (entry.principal ?? "") === principal).map(({ id }) => id);
  }

  *list(_limit: number, after = 0): Operation<readonly StoredSession[]> {
    // Returns all of them at once: positions would change between two parts of the list.
    if (after > 0) return [];
    let position = 0;
    return [...this.#sessions.values()].map(({ entry, events }) => (
      { position: ++position, entry, last: events.at(-1) }
    ));
  }

  *sweep(now: number): Operation<number> {
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
    // Round up to the next whole minute, so that no session expires early.
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

  /** Yields the ids of sessions that have expired, up to a minute late. */
  *expired(now: number): Iterable<string> {
    for (const [minute, ids] of this.#minutes) if (minute * MINUTE <= now) yield* ids;
  }
}
