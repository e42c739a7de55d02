/** A point in a tool at which it waits until the test lets it go on. */
import { action, type Operation } from "effection";

/** A tool waits here until the test opens the gate. */
export class Gate {
  readonly #waiting = new Set<() => void>();
  #open = false;
  /** How many waiters were halted. */
  left = 0;

  get waiting(): number {
    return this.#waiting.size;
  }

  pass(): Operation<void> {
    return action<void>((resolve) => {
      let passed = false;
      const go = () => {
        passed = true;
        this.#waiting.delete(go);
        resolve();
      };
      if (this.#open) go();
      else this.#waiting.add(go);
      return () => {
        if (!passed) this.left++;
        this.#waiting.delete(go);
      };
    });
  }

  /** Lets everybody through from now on. */
  open(): void {
    this.#open = true;
    for (const go of [...this.#waiting]) go();
  }
}
