/**
 * Any number of deadlines on one timer.
 *
 * A parked session may wait for hours, and there may be a million of them, so
 * none gets a timer of its own: they stand in a binary heap, and the clock is
 * asked to wake us for the earliest. Adding and cancelling cost O(log n), and
 * nothing ever walks the whole list.
 *
 * There are two heaps, one for what is due soon: every request has a deadline for a
 * moment, and would otherwise pass all those that are parked on its way in and out.
 */
import { action, type Operation } from "effection";
import type { Clock, Timer } from "./clock.ts";

export interface Deadline {
  readonly at: number;
  cancel(): void;
}

/** Milliseconds up to which a deadline is soon. A request is; a call that is kept is not. */
const SOON = 45_000;

export class Deadlines {
  readonly #clock: Clock;
  readonly #near = new Heap();
  readonly #far = new Heap();
  #timer: Timer | undefined;
  #armedFor = Infinity;
  /** The timer is set although there is nothing to wait for. */
  #forNothing = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#near.size + this.#far.size;
  }

  now(): number {
    return this.#clock.now();
  }

  /**
   * Calls `fire` once when `ms` have passed, unless it is cancelled before. What it
   * is about can be handed over, so that many deadlines may share one function.
   */
  add(ms: number, fire: () => void): Deadline;
  add<T>(ms: number, fire: (about: T) => void, about: T): Deadline;
  add(ms: number, fire: (about: unknown) => void, about?: unknown): Deadline {
    const heap = ms <= SOON ? this.#near : this.#far;
    const entry = new Entry(this, heap, this.#clock.now() + ms, fire, about);
    // It would stand anywhere in the heap, and nothing behind it would ever fire.
    if (Number.isNaN(entry.at)) {
      throw new TypeError(`Cannot wait ${ms} ms: it is no number; give one`);
    }
    heap.add(entry);
    if (entry.at < this.#armedFor) this.#arm();
    else if (this.#forNothing) this.#matters(true);
    return entry;
  }

  /** Forgets everything that is still to come. */
  clear(): void {
    this.#near.clear();
    this.#far.clear();
    this.#arm();
  }

  /** For `Entry` alone. */
  remove(entry: Entry): void {
    if (!entry.heap.remove(entry)) return;
    // The timer stays armed for an earlier time than needed: waking once for
    // nothing is cheaper than re-arming at every answer. The program need not wait for it.
    if (this.size > 0) return;
    if (this.#timer?.matters) this.#matters(false);
    else this.#arm();
  }

  #matters(matters: boolean): void {
    this.#forNothing = !matters;
    this.#timer?.matters?.(matters);
  }

  get #first(): Entry | undefined {
    const near = this.#near.first;
    const far = this.#far.first;
    return near && far ? near.at <= far.at ? near : far : near ?? far;
  }

  #arm(): void {
    const next = this.#first?.at ?? Infinity;
    if (next === this.#armedFor) return;
    this.#timer?.();
    this.#timer = undefined;
    this.#forNothing = false;
    this.#armedFor = next;
    if (next !== Infinity) {
      this.#timer = this.#clock.after(
        Math.max(0, next - this.#clock.now()),
        () => this.#wake(),
      );
    }
  }

  #wake(): void {
    this.#armedFor = Infinity;
    this.#timer = undefined;
    this.#forNothing = false;
    const now = this.#clock.now();
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
  readonly #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  get first(): Entry | undefined {
    return this.#entries[0];
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    this.#up(this.#entries.length - 1);
  }

  /** Whether it was there. */
  remove(entry: Entry): boolean {
    const { index } = entry;
    if (index < 0) return false;
    entry.index = -1;
    const last = this.#entries.pop()!;
    if (last !== entry) {
      this.#place(last, index);
      this.#up(index);
      this.#down(last.index);
    }
    return true;
  }

  clear(): void {
    for (const entry of this.#entries) entry.index = -1;
    this.#entries.length = 0;
  }

  #place(entry: Entry, index: number): void {
    this.#entries[index] = entry;
    entry.index = index;
  }

  #up(index: number): void {
    const entry = this.#entries[index]!;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#entries[parentIndex]!;
      if (parent.at <= entry.at) break;
      this.#place(parent, index);
      index = parentIndex;
    }
    this.#place(entry, index);
  }

  #down(index: number): void {
    const entry = this.#entries[index]!;
    const { length } = this.#entries;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= length) break;
      if (
        childIndex + 1 < length &&
        this.#entries[childIndex + 1]!.at < this.#entries[childIndex]!.at
      ) childIndex++;
      const child = this.#entries[childIndex]!;
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

/** Waits until `ms` have passed on the clock that all deadlines share. */
export function deadline(deadlines: Deadlines, ms: number): Operation<undefined> {
  return action<undefined>((resolve) => {
    const due = deadlines.add(ms, () => resolve(undefined));
    return () => due.cancel();
  });
}
