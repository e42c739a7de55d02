/**
 * What expires when, by the minute: however many there are, finding the expired
 * ones takes as long as there are minutes with something in them.
 */
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
