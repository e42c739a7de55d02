/**
 * A doubly linked list whose items hold the links themselves: the list allocates nothing per
 * item, and removes any item in constant time.
 *
 * A `Map` keeps the same order, but finding its first entry takes longer the more entries were
 * deleted from its front.
 */

/** An item that can be in one list at a time. Only the list writes these fields. */
export interface Linked<T extends Linked<T>> {
  list: LinkedList<T> | undefined;
  prev: T | undefined;
  next: T | undefined;
}

export class LinkedList<T extends Linked<T>> {
  #first: T | undefined;
  #last: T | undefined;

  get first(): T | undefined {
    return this.#first;
  }

  /** Appends an item. */
  add(item: T): void {
    const last = this.#last;
    item.list = this;
    item.prev = last;
    if (last) last.next = item;
    else this.#first = item;
    this.#last = item;
  }

  /** Removes an item. Returns whether it was in this list. */
  remove(item: T): boolean {
    if (item.list !== this) return false;
    const { prev, next } = item;
    if (prev) prev.next = next;
    else this.#first = next;
    if (next) next.prev = prev;
    else this.#last = prev;
    item.list = item.prev = item.next = undefined;
    return true;
  }
}
