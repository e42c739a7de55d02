/**
 * First come, first served; and whoever stands in the line can leave it at once,
 * wherever that is. They hold each other, so standing in line costs nothing more.
 *
 * A `Map` keeps the same order, but finding its first entry takes longer the more have
 * been taken from its front.
 */

/** Something that can stand in one line at a time. The line alone writes these. */
export interface Linked<T extends Linked<T>> {
  line: LinkedList<T> | undefined;
  prev: T | undefined;
  next: T | undefined;
}

export class LinkedList<T extends Linked<T>> {
  #first: T | undefined;
  #last: T | undefined;

  get first(): T | undefined {
    return this.#first;
  }

  /** Puts it behind all the others. */
  add(one: T): void {
    const last = this.#last;
    one.line = this;
    one.prev = last;
    if (last) last.next = one;
    else this.#first = one;
    this.#last = one;
  }

  /** Whether it stood in this line. */
  remove(one: T): boolean {
    if (one.line !== this) return false;
    const { prev: ahead, next: behind } = one;
    if (ahead) ahead.next = behind;
    else this.#first = behind;
    if (behind) behind.prev = ahead;
    else this.#last = ahead;
    one.line = one.prev = one.next = undefined;
    return true;
  }
}
