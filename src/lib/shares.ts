/**
 * Counts how much of a limited resource each principal holds, such as sessions or bytes.
 *
 * SHARE-1  A named principal holds at most its share. The anonymous principal ("") may hold
 *          everything: on a server without named callers, all callers are this principal.
 * SHARE-2  Reading and changing what a principal holds takes constant time. Finding the largest
 *          holder takes no longer with more principals.
 * SHARE-3  `refuses` is for things that cannot be evicted, such as running calls, and keeps room
 *          for new principals. Once three fifths of the total are in use, a named principal may
 *          hold at most a quarter of what is free. So ten principals that take as much as they can
 *          leave a fifth free.
 */

export interface ShareLimits {
  /** How much all principals may hold together. */
  readonly max: number;
  /** How much each named principal may hold. */
  readonly maxPerPrincipal: number;
}

/** The limit that is reached: the `total` of all principals, or the `share` of one. */
export type Reached = "total" | "share";

/** How many holders of the same magnitude are compared to find the largest (SHARE-2). */
const MAX_COMPARED = 64;

/** If less than this part of the total is free, new principals come first (SHARE-3). */
const SCARCE = 2 / 5;
/** The part of the free amount that a named principal may hold in that case (SHARE-3). */
const PART_OF_FREE = 1 / 4;

const ANONYMOUS = "";

/** The type of `this` in methods that write fields. For other code, these fields are read-only. */
type Own = { -readonly [K in keyof Shares]: Shares[K] };

export class Shares {
  readonly limits: ShareLimits;
  /** How much all principals hold together. */
  readonly total: number = 0;
  readonly #held = new Map<string, number>();
  /** How much the anonymous principal holds. On most servers it is the only one. */
  #anonymous = 0;
  /**
   * The named principals, grouped by magnitude: the binary logarithm of what each holds, rounded down.
   */
  readonly #magnitudes: (Set<string> | undefined)[] = [];

  constructor(limits: ShareLimits) {
    this.limits = limits;
  }

  /** How much a principal holds. */
  of(principal: string): number {
    return principal === ANONYMOUS ? this.#anonymous : this.#held.get(principal) ?? 0;
  }

  /** How much a principal may hold (SHARE-1). */
  limitOf(principal: string): number {
    const { max, maxPerPrincipal } = this.limits;
    return principal === ANONYMOUS ? max : Math.min(max, maxPerPrincipal);
  }

  /**
   * Returns the limit that a principal would exceed if it held `more`, or undefined if there is
   * room.
   */
  reached(principal: string, more = 1): Reached | undefined {
    const { max, maxPerPrincipal } = this.limits;
    const held = this.of(principal);
    if (principal !== ANONYMOUS && held + more > maxPerPrincipal) return "share";
    return this.total + more > max ? "total" : undefined;
  }

  /**
   * Returns the limit that a principal has exceeded. If only the total is exceeded, a principal is
   * still allowed to hold less than half as much as the largest holder.
   */
  exceeded(principal: string): Reached | undefined {
    const { max, maxPerPrincipal } = this.limits;
    const held = this.of(principal);
    if (held > max || principal !== ANONYMOUS && held > maxPerPrincipal) return "share";
    return this.total > max && this.#isLarge(held) ? "total" : undefined;
  }

  /**
   * Returns the limit that is nearly reached, if only the fraction `spare` of it is left for this
   * principal. The principal may then not take more. The spare part of the total is reserved for
   * principals that hold less than half as much as the largest holder.
   */
  nearlyReached(principal: string, spare: number): Reached | undefined {
    const { max, maxPerPrincipal } = this.limits;
    const held = this.of(principal);
    const own = principal === ANONYMOUS ? max : Math.min(max, maxPerPrincipal);
    if (held >= own * (1 - spare)) return "share";
    if (this.total < max * (1 - spare)) return undefined;
    return this.total >= max || this.#isLarge(held) ? "total" : undefined;
  }

  /** Returns true if no principal holds more than twice as much as `held`. */
  #isLarge(held: number): boolean {
    const { largest } = this;
    return largest === undefined || 2 * held >= this.of(largest);
  }

  /**
   * Like `reached`, for one more thing that cannot be evicted (SHARE-3). Returns `crowded` if the
   * rest is reserved for principals that hold less. This does not apply if the share of a principal
   * is the total.
   */
  refuses(principal: string): Reached | "crowded" | undefined {
    const { max, maxPerPrincipal } = this.limits;
    const free = max - this.total;
    if (principal === ANONYMOUS) return free < 1 ? "total" : undefined;
    const held = this.of(principal);
    if (held >= maxPerPrincipal) return "share";
    if (free < 1) return "total";
    if (free > SCARCE * max || maxPerPrincipal >= max) return undefined;
    return held < PART_OF_FREE * free ? undefined : "crowded";
  }

  /** Adds an amount to the amount that a principal holds. A negative amount is subtracted. */
  take(principal: string, amount = 1): void {
    if (amount === 0) return;
    const before = this.of(principal);
    const after = Math.max(0, before + amount);
    (this as Own).total += after - before;
    if (principal === ANONYMOUS) {
      this.#anonymous = after;
      return;
    }
    if (after === 0) this.#held.delete(principal);
    else this.#held.set(principal, after);
    const from = magnitudeOf(before);
    const to = magnitudeOf(after);
    if (from === to) return;
    this.#magnitudes[from]?.delete(principal);
    if (to >= 0) (this.#magnitudes[to] ??= new Set()).add(principal);
  }

  give(principal: string, amount = 1): void {
    this.take(principal, -amount);
  }

  /** Replaces all amounts. */
  replace(amounts: Iterable<readonly [principal: string, amount: number]>): void {
    this.#held.clear();
    this.#magnitudes.length = 0;
    this.#anonymous = 0;
    (this as Own).total = 0;
    for (const [principal, amount] of amounts) this.take(principal, amount);
  }

  /**
   * The principal that holds the most. If very many principals hold about the same amount, this may
   * be any of them, but no other principal holds twice as much.
   */
  get largest(): string | undefined {
    let magnitude = this.#magnitudes.length - 1;
    while (magnitude >= 0 && !this.#magnitudes[magnitude]?.size) magnitude--;
    let largest = this.#anonymous > 0 ? ANONYMOUS : undefined;
    let compared = 0;
    for (const principal of this.#magnitudes[magnitude] ?? []) {
      if (largest === undefined || this.of(principal) > this.of(largest)) largest = principal;
      if (++compared === MAX_COMPARED) break;
    }
    return largest;
  }
}

/** Returns the binary logarithm of an amount, rounded down, or -1 for amounts below 1. */
function magnitudeOf(amount: number): number {
  if (amount < 1) return -1;
  // Every call counts several amounts, and `clz32` is much faster than a logarithm.
  return amount < 2 ** 31 ? 31 - Math.clz32(amount) : Math.floor(Math.log2(amount));
}

/**
 * A collection of things by principal. The things of a principal are ordered by when they were
 * added.
 */
export class Owned<T> {
  readonly #byPrincipal = new Map<string, Set<T>>();

  /** Adds a thing to the end of its principal's list. */
  add(principal: string, thing: T): void {
    let things = this.#byPrincipal.get(principal);
    if (!things) this.#byPrincipal.set(principal, things = new Set());
    things.add(thing);
  }

  delete(principal: string, thing: T): boolean {
    const things = this.#byPrincipal.get(principal);
    if (!things?.delete(thing)) return false;
    if (things.size === 0) this.#byPrincipal.delete(principal);
    return true;
  }

  /** Returns the things of a principal, oldest first. */
  of(principal: string): Iterable<T> {
    return this.#byPrincipal.get(principal) ?? [];
  }

  clear(): void {
    this.#byPrincipal.clear();
  }
}

/**
 * A map with a limited number of entries, each of which belongs to a principal. At the limit, the
 * oldest entry of the largest holder is evicted, so that no principal can evict the entries of
 * principals that hold fewer.
 */
export class SharedMap<V> {
  readonly #entries = new Map<string, { readonly principal: string; readonly value: V }>();
  readonly #keys = new Owned<string>();
  readonly #shares: Shares;

  constructor(max: number) {
    this.#shares = new Shares({ max, maxPerPrincipal: max });
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Adds an entry as the newest, and replaces an entry with the same key. */
  set(principal: string, key: string, value: V): void {
    this.delete(key);
    this.#entries.set(key, { principal, value });
    this.#keys.add(principal, key);
    this.#shares.take(principal);
    if (this.size <= this.#shares.limits.max) return;
    const [oldest] = this.#keys.of(this.#shares.largest!);
    this.delete(oldest!);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#keys.delete(entry.principal, key);
    this.#shares.give(entry.principal);
  }

  /** Returns the values of a principal, oldest first. */
  *of(principal: string): Generator<V> {
    for (const key of this.#keys.of(principal)) yield this.#entries.get(key)!.value;
  }
}
