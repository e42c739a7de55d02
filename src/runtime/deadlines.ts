/**
 * Any number of deadlines on one timer.
 *
 * A parked session may wait for hours, and there may be a million of them, so
 * none gets a timer of its own: they stand in a binary heap, and the clock is
 * asked to wake us for the earliest. Adding and cancelling cost O(log n), and
 * nothing ever walks the whole list.
 */
import type { Clock } from "./clock.ts";

export interface Deadline {
  readonly at: number;
  cancel(): void;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #heap: Entry[] = [];
  #disarm: (() => void) | undefined;
  #armedFor = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#heap.length;
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
    const entry = new Entry(this, this.#clock.now() + ms, fire, about);
    // It would stand anywhere in the heap, and nothing behind it would ever fire.
    if (Number.isNaN(entry.at)) {
      throw new TypeError(`Cannot wait ${ms} ms: it is no number; give one`);
    }
    this.#heap.push(entry);
    this.#up(this.#heap.length - 1);
    if (entry.at < this.#armedFor) this.#arm();
    return entry;
  }

  /** Forgets everything that is still to come. */
  clear(): void {
    for (const entry of this.#heap) entry.index = -1;
    this.#heap.length = 0;
    this.#arm();
  }

  /** For `Entry` alone. */
  remove(entry: Entry): void {
    const { index } = entry;
    if (index < 0) return;
    entry.index = -1;
    const last = this.#heap.pop()!;
    if (last !== entry) {
      this.#place(last, index);
      this.#up(index);
      this.#down(last.index);
    }
    // The timer stays armed for an earlier time than needed: waking once for
    // nothing is cheaper than re-arming at every answer.
    if (this.#heap.length === 0) this.#arm();
  }

  #arm(): void {
    const next = this.#heap[0]?.at ?? Infinity;
    if (next === this.#armedFor) return;
    this.#disarm?.();
    this.#disarm = undefined;
    this.#armedFor = next;
    if (next !== Infinity) {
      this.#disarm = this.#clock.after(Math.max(0, next - this.#clock.now()), () => this.#wake());
    }
  }

  #wake(): void {
    this.#armedFor = Infinity;
    this.#disarm = undefined;
    const now = this.#clock.now();
    try {
      for (let first = this.#heap[0]; first && first.at <= now; first = this.#heap[0]) {
        this.remove(first);
        first.fire(first.about);
      }
    } finally {
      this.#arm();
    }
  }

  #place(entry: Entry, index: number): void {
    this.#heap[index] = entry;
    entry.index = index;
  }

  #up(index: number): void {
    const entry = this.#heap[index]!;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#heap[parentIndex]!;
      if (parent.at <= entry.at) break;
      this.#place(parent, index);
      index = parentIndex;
    }
    this.#place(entry, index);
  }

  #down(index: number): void {
    const entry = this.#heap[index]!;
    const { length } = this.#heap;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= length) break;
      if (
        childIndex + 1 < length && this.#heap[childIndex + 1]!.at < this.#heap[childIndex]!.at
      ) childIndex++;
      const child = this.#heap[childIndex]!;
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
    readonly at: number,
    readonly fire: (about: unknown) => void,
    readonly about: unknown,
  ) {}
  cancel(): void {
    this.owner.remove(this);
  }
}
