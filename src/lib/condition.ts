/** Lets operations wait for a condition that other code makes true. */
import { action, type Operation } from "effection";

export class Condition {
  readonly #waiting = new Set<() => void>();

  /**
   * Checks the conditions that operations wait for. Call this after each change that may affect
   * one.
   */
  changed(): void {
    for (const look of this.#waiting) look();
  }

  /** Waits until `holds` returns true. `holds` is called immediately, and after each change. */
  *until(holds: () => boolean): Operation<void> {
    if (holds()) return;
    yield* action<void>((resolve) => {
      const look = () => {
        if (holds()) resolve();
      };
      this.#waiting.add(look);
      return () => void this.#waiting.delete(look);
    });
  }
}
