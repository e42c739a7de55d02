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
  ahead: T | undefined;
  behind: T | undefined;
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
    one.ahead = last;
    if (last) last.behind = one;
    else this.#first = one;
    this.#last = one;
  }

  /** Whether it stood in this line. */
  remove(one: T): boolean {
    if (one.line !== this) return false;
    const { ahead, behind } = one;
    if (ahead) ahead.behind = behind;
    else this.#first = behind;
    if (behind) behind.ahead = ahead;
    else this.#last = ahead;
    one.line = one.ahead = one.behind = undefined;
    return true;
  }
}
