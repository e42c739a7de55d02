/** Tells everyone who listens what has changed on the server. */
import type { ServerChange } from "../model/events.ts";

export class Changes {
  readonly #listeners = new Set<(change: ServerChange) => void>();

  get listeners(): number {
    return this.#listeners.size;
  }

  listen(hear: (change: ServerChange) => void): () => void {
    const listener = (change: ServerChange) => hear(change);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  announce(change: ServerChange): void {
    for (const listener of [...this.#listeners]) listener(change);
  }
}
