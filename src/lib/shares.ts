/**
 * Counts how much of a limited amount each principal holds: a number of things, or bytes.
 *
 * SHARE-1  A named principal holds at most its share. The anonymous principal ("") may hold
 *          everything: on a server that names no callers, it stands for all of them.
 * SHARE-2  Reading and changing what a principal holds takes constant time. Finding the largest
 *          holder takes no longer with more principals.
 */

export interface ShareLimits {
  /** How much all principals may hold together. */
  readonly max: number;
  /** How much of it each named principal may hold. */
  readonly maxPerPrincipal: number;
}

/** Which limit is reached: that of all principals together, or the share of one. */
export type Reached = "total" | "share";

/** How many holders of the same magnitude are compared to find the largest (SHARE-2). */
const MAX_COMPARED = 64;

const ANONYMOUS = "";

export class Shares {
  readonly limits: ShareLimits;
  readonly #held = new Map<string, number>();
  /** Principals by magnitude: the binary logarithm of what they hold. */
  readonly #magnitudes: (Set<string> | undefined)[] = [];
  #total = 0;

  constructor(limits: ShareLimits) {
    this.limits = limits;
  }

  /** How much all principals hold together. */
  get total(): number {
    return this.#total;
  }

  /** How much a principal holds. */
  of(principal: string): number {
    return this.#held.get(principal) ?? 0;
  }

  /** How much a principal may hold (SHARE-1). */
  limitOf(principal: string): number {
    const { max, maxPerPrincipal } = this.limits;
    return principal === ANONYMOUS ? max : Math.min(max, maxPerPrincipal);
  }

  /** The limit that a principal would exceed with so much more; undefined if there is room. */
  reached(principal: string, more = 1): Reached | undefined {
    const { max, maxPerPrincipal } = this.limits;
    if (principal !== ANONYMOUS && this.of(principal) + more > maxPerPrincipal) return "share";
    return this.#total + more > max ? "total" : undefined;
  }

  /** Adds to what a principal holds. A negative amount is subtracted. */
  take(principal: string, amount = 1): void {
    if (amount === 0) return;
    const before = this.of(principal);
    const after = Math.max(0, before + amount);
    this.#total += after - before;
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
    this.#total = 0;
    for (const [principal, amount] of amounts) this.take(principal, amount);
  }

  /**
   * The principal that holds most. If very many hold about as much, it is one of them: no other
   * principal holds twice as much.
   */
  get largest(): string | undefined {
    let magnitude = this.#magnitudes.length - 1;
    while (magnitude >= 0 && !this.#magnitudes[magnitude]?.size) magnitude--;
    let largest: string | undefined;
    let compared = 0;
    for (const principal of this.#magnitudes[magnitude] ?? []) {
      if (largest === undefined || this.of(principal) > this.of(largest)) largest = principal;
      if (++compared === MAX_COMPARED) break;
    }
    return largest;
  }
}

/** -1 for amounts below 1. */
function magnitudeOf(amount: number): number {
  return amount < 1 ? -1 : Math.floor(Math.log2(amount));
}

/** The things of each principal, in the order in which they were added. */
export class Owned<T> {
  readonly #byPrincipal = new Map<string, Set<T>>();

  /** Adds a thing after all others of its principal. */
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

  /** The things of a principal, oldest first. */
  of(principal: string): Iterable<T> {
    return this.#byPrincipal.get(principal) ?? [];
  }

  clear(): void {
    this.#byPrincipal.clear();
  }
}
