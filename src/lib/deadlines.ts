/**
 * Runs any number of deadlines on one timer.
 *
 * A million parked sessions may wait for hours, so sessions have no separate timers. Deadlines are
 * kept in a binary heap, and one timer is set for the earliest. Adding and cancelling cost
 * O(log n), and nothing walks the whole heap.
 *
 * Deadlines that are due soon have a second heap. Every request sets a short deadline, which would
 * otherwise be sorted among the deadlines of all parked sessions.
 *
 * If the clock is set back, no deadline is delayed: deadlines use a separate time (`elapsed`),
 * which follows the clock but never goes back. If the clock is set forward, for example when a
 * machine wakes up, deadlines become due.
 */
import { action, type Operation } from "effection";
import { type Clock, systemClock, type Timer } from "./clock.ts";

export interface Deadline {
  readonly at: number;
  cancel(): void;
}

/** Deadlines within this many milliseconds go into the heap for short deadlines. */
const SOON = 45_000;
/**
 * The longest delay of a timer, in milliseconds. A timer with a longer delay would fire
 * immediately.
 */
const LONGEST = 2 ** 31 - 1;
/** If a timer fires this many milliseconds early, the clock was set back. */
const SET_BACK = 50;

export class Deadlines {
  readonly #clock: Clock;
  readonly #near = new Heap();
  readonly #far = new Heap();
  #timer: Timer | undefined;
  #armedFor = Infinity;
  /**
   * The number of milliseconds by which the clock was set back. It is added to the time of the
   * clock.
   */
  #behind = 0;
  #latest = -Infinity;
  /** True while the timer is set although no deadline is left. */
  #forNothing = false;

  /** The time on the clock, in milliseconds since the epoch. */
  readonly now: () => number;

  constructor(clock: Clock) {
    this.#clock = clock;
    // `Date.now` needs no receiver, and a bound function is slower on Bun.
    this.now = clock === systemClock ? clock.now : clock.now.bind(clock);
  }

  get size(): number {
    return this.#near.entries.length + this.#far.entries.length;
  }

  /** Returns a time in milliseconds that never goes back. Use it only to measure differences. */
  elapsed(): number {
    const time = this.now() + this.#behind;
    if (time >= this.#latest) return this.#latest = time;
    this.#behind += this.#latest - time;
    return this.#latest;
  }

  /**
   * Calls `fire` once after `ms`, unless the deadline is cancelled first. `fire` receives `about`,
   * so that many deadlines can share one function.
   */
  add(ms: number, fire: () => void): Deadline;
  add<T>(ms: number, fire: (about: T) => void, about: T): Deadline;
  add(ms: number, fire: (about: unknown) => void, about?: unknown): Deadline {
    const heap = ms <= SOON ? this.#near : this.#far;
    const entry = new Entry(this, heap, this.elapsed() + ms, fire, about);
    // NaN would break the order of the heap, and later deadlines would never fire.
    if (Number.isNaN(entry.at)) {
      throw new TypeError(
        `Cannot wait ${ms} ms: the delay is not a number; pass a number of milliseconds`,
      );
    }
    heap.add(entry);
    if (entry.at < this.#armedFor) this.#arm();
    else if (this.#forNothing) this.#matters(true);
    return entry;
  }

  /** Cancels all deadlines. */
  clear(): void {
    this.#near.clear();
    this.#far.clear();
    this.#arm();
  }

  /** Removes a deadline. Only `Entry` calls this. */
  remove(entry: Entry): void {
    if (!entry.heap.remove(entry)) return;
    // The timer stays, although it may now fire too early: one needless wake-up is cheaper than a
    // new timer for every answer. But a timer without deadlines must not keep the program alive.
    if (this.#near.entries.length + this.#far.entries.length > 0) return;
    if (this.#timer?.matters) this.#matters(false);
    else this.#arm();
  }

  #matters(matters: boolean): void {
    this.#forNothing = !matters;
    this.#timer?.matters?.(matters);
  }

  get #first(): Entry | undefined {
    const near = this.#near.entries[0];
    const far = this.#far.entries[0];
    return near && far ? near.at <= far.at ? near : far : near ?? far;
  }

  #arm(): void {
    const next = this.#first?.at ?? Infinity;
    if (next === this.#armedFor) return;
    this.#timer?.();
    this.#timer = undefined;
    this.#forNothing = false;
    this.#armedFor = next;
    if (next === Infinity) return;
    const now = this.elapsed();
    const delay = Math.max(0, next - now);
    const until = now + Math.min(delay, LONGEST);
    this.#timer = this.#clock.after(Math.min(delay, LONGEST), () => this.#wake(until));
  }

  /** Called when the timer that was set for the time `until` fires. */
  #wake(until: number): void {
    this.#armedFor = Infinity;
    this.#timer = undefined;
    this.#forNothing = false;
    let now = this.elapsed();
    if (now < until - SET_BACK) {
      this.#latest = until;
      now = this.elapsed();
    }
    try {
      for (
        let first = this.#first;
        first && first.at <= now;
        first = this.#first
      ) {
        this.remove(first);
        first.fire(first.about);
      }
    } finally {
      this.#arm();
    }
  }
}

class Heap {
  /** Only the heap writes this array. The earliest entry comes first. */
  readonly entries: Entry[] = [];

  add(entry: Entry): void {
    this.entries.push(entry);
    this.#up(this.entries.length - 1);
  }

  /** Returns whether the entry was in the heap. */
  remove(entry: Entry): boolean {
    const { index } = entry;
    if (index < 0) return false;
    entry.index = -1;
    const last = this.entries.pop()!;
    if (last !== entry) {
      this.#place(last, index);
      this.#up(index);
      this.#down(last.index);
    }
    return true;
  }

  clear(): void {
    for (const entry of this.entries) entry.index = -1;
    this.entries.length = 0;
  }

  #place(entry: Entry, index: number): void {
    this.entries[index] = entry;
    entry.index = index;
  }

  #up(index: number): void {
    const entry = this.entries[index]!;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.entries[parentIndex]!;
      if (parent.at <= entry.at) break;
      this.#place(parent, index);
      index = parentIndex;
    }
    this.#place(entry, index);
  }

  #down(index: number): void {
    const entry = this.entries[index]!;
    const { length } = this.entries;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= length) break;
      if (
        childIndex + 1 < length &&
        this.entries[childIndex + 1]!.at < this.entries[childIndex]!.at
      ) childIndex++;
      const child = this.entries[childIndex]!;
      if (child.at >= entry.at) break;
      this.#place(child, index);
      index = childIndex;
    }
    this.#place(entry, index);
  }
}

class Entry implements Deadline {
  index = -1;
  constructor(
    readonly owner: Deadlines,
    readonly heap: Heap,
    readonly at: number,
    readonly fire: (about: unknown) => void,
    readonly about: unknown,
  ) {}
  cancel(): void {
    this.owner.remove(this);
  }
}

/** Waits for `ms` milliseconds, measured by the clock of `deadlines`. */
export function deadline(deadlines: Deadlines, ms: number): Operation<undefined> {
  return action<undefined>((resolve) => {
    const due = deadlines.add(ms, () => resolve(undefined));
    return () => due.cancel();
  });
}
