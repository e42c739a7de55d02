/** Lets operations wait until something holds that other code makes true. */
import { action, type Operation } from "effection";

export class Condition {
  readonly #waiting = new Set<() => void>();

  /** Call this after a change that may make something true that an operation waits for. */
  changed(): void {
    for (const look of this.#waiting) look();
  }

  /** Waits until `holds` returns true. It is asked now, and after each change. */
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
