/** A background loop that runs only while it has something to do. */
import type { Operation, Scope, Task } from "effection";

export class LazyLoop {
  readonly #scope: Scope;
  readonly #body: () => Operation<void>;
  #task: Task<void> | undefined;
  /**
   * True while the loop runs. `#task` does not show this, because a body may return before it is
   * set.
   */
  #isRunning = false;
  #isStopped = false;

  /** `body` runs in `scope`. It returns when nothing is left to do. */
  constructor(scope: Scope, body: () => Operation<void>) {
    this.#scope = scope;
    this.#body = body;
  }

  /** True after `stop`. The loop then never starts again. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Starts the loop, unless it is running or was stopped. */
  start(): void {
    if (this.#isRunning || this.#isStopped) return;
    this.#isRunning = true;
    this.#task = this.#scope.run(() => this.#run());
  }

  /** Halts the loop for good. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#task?.halt();
  }

  *#run(): Operation<void> {
    try {
      yield* this.#body();
    } finally {
      this.#isRunning = false;
    }
  }
}
