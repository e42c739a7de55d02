/** A store that a test drives by hand. */
import assert from "node:assert/strict";
import { action, run } from "effection";
import type { ToolSessionEvent } from "../../src/model/events.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import type {
  AppendChange,
  AppendCondition,
  ToolSessionEntry,
  ToolSessionStore,
  Wake,
} from "../../src/store/types.ts";

interface Commit {
  readonly id: string;
  readonly events: readonly ToolSessionEvent[];
  commit(): void;
  fail(error: unknown): void;
}

/** A store whose appends wait until the test lets them through. */
export class HandStore implements ToolSessionStore {
  readonly inner = new InMemoryToolSessionStore();
  /** The appends that wait, oldest first. */
  readonly commits: Commit[] = [];
  /** The deletions that wait; only if `slowDelete` is set. */
  readonly deletions: (() => void)[] = [];
  slowDelete = false;
  /** The take() calls that wait; only if `slowTake` is set. */
  readonly takes: (() => void)[] = [];
  slowTake = false;
  /** If true, nothing waits any more. */
  #open = false;

  get(id: string) {
    return this.inner.get(id);
  }

  set(id: string, entry: ToolSessionEntry) {
    return this.inner.set(id, entry);
  }

  *delete(id: string) {
    if (this.slowDelete && !this.#open) {
      yield* action<void>((resolve) => {
        this.deletions.push(resolve);
        return () => {};
      });
    }
    yield* this.inner.delete(id);
  }

  *append(
    id: string,
    events: readonly ToolSessionEvent[],
    condition: AppendCondition & AppendChange,
  ) {
    if (!this.#open) {
      yield* action<void>((resolve, reject) => {
        this.commits.push({
          id,
          events,
          commit: () => resolve(),
          fail: (error) => reject(error as Error),
        });
        return () => {};
      });
    }
    yield* this.inner.append(id, events, condition);
  }

  read(id: string, afterLSN?: number) {
    return this.inner.read(id, afterLSN);
  }

  *take(id: string) {
    if (this.slowTake) {
      yield* action<void>((resolve) => {
        this.takes.push(resolve);
        return () => {};
      });
    }
    return yield* this.inner.take(id);
  }

  wakes(limit: number, after?: Wake) {
    return this.inner.wakes(limit, after);
  }

  sweep(now: number) {
    return this.inner.sweep(now);
  }

  /** Lets the oldest append through. */
  commit(): void {
    const first = this.commits.shift();
    assert.ok(first, "nothing waits to be committed");
    first.commit();
  }

  /** Lets all waiting appends through, including those that follow from them. */
  commitAll(): void {
    while (this.commits.length > 0) this.commit();
  }

  /** Lets everything through from now on. */
  release(): void {
    this.#open = true;
    for (const resolve of this.deletions.splice(0)) resolve();
    this.commitAll();
  }

  /** The events that were let through for a session. */
  async stored(id: string): Promise<readonly ToolSessionEvent[]> {
    return await run(() => this.inner.read(id));
  }
}
