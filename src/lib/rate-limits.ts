/**
 * Limits the number of requests per minute for each name. After a pause, a name may make all
 * requests of a minute at once. After that, its requests must be spread evenly.
 */

/** How many names are remembered. Beyond that, names whose allowance is full are forgotten. */
const MAX_NAMES = 10_000;

export class RateLimits {
  readonly #perMinute: number;
  /** When the allowance of each name is full again, in milliseconds since the epoch. */
  readonly #fullAt = new Map<string, number>();

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /**
   * Counts a request. Returns 0 if it is allowed, or the number of milliseconds to wait before the
   * next request.
   */
  take(name: string, now: number): number {
    const each = 60_000 / this.#perMinute;
    const fullAt = Math.max(now, this.#fullAt.get(name) ?? 0) + each;
    const wait = fullAt - now - 60_000;
    // Ignore a tiny wait, because sums of fractions are not exact.
    if (wait > 1e-6) return Math.max(1, Math.ceil(wait));
    if (this.#fullAt.size >= MAX_NAMES && !this.#fullAt.has(name)) this.#forget(now);
    this.#fullAt.set(name, fullAt);
    return 0;
  }

  /** Forgets names whose allowance is full. If there are none, forgets the oldest name. */
  #forget(now: number): void {
    for (const [name, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(name);
    if (this.#fullAt.size < MAX_NAMES) return;
    this.#fullAt.delete(this.#fullAt.keys().next().value!);
  }
}
