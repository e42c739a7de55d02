/**
 * Runs several operations concurrently, each as a strand, for a tool that runs without a task.
 * Effection's `all` does the same with tasks, but needs about 20 KB for each waiting operation.
 *
 * PARALLEL-1  The first operation that throws decides the outcome. The outcome is reported after
 *             all others have been halted, and have run their `finally` blocks.
 * PARALLEL-2  Halting the group completes when all operations have run their `finally` blocks.
 * PARALLEL-3  The tool never continues from inside Effection's reducer. An operation that became a
 *             task ends there.
 */
import type { Operation, Scope } from "effection";
import { isStandIn, StrandBase, type StrandOutcome } from "../lib/strand.ts";

type Failure = { readonly ok: false; readonly error: unknown };
type Result = { readonly ok: true; readonly value?: unknown } | Failure;

export interface ParallelHome {
  /** The scope for a part that needs a task. */
  readonly scope: Scope;
  /** Adds `parts` to the number of concurrent parts that run without a task of their own. */
  addParallel(parts: number): void;
}

/** An operation that returns true if its caller runs without a task. */
export const isLight: Operation<boolean> = effect((resolve, routine) => {
  resolve({ ok: true, value: isStandIn(routine) });
  return (done) => done({ ok: true });
});

/**
 * Runs all parts, and returns their results in order. The caller must run without a task (see
 * `isLight`). A part must do nothing before its first step, which is true for generators.
 */
export function runParallel(
  home: ParallelHome,
  parts: readonly Operation<unknown>[],
): Operation<unknown[]> {
  return effect((resolve) => {
    const group = new Group(home, parts, resolve);
    group.start();
    return (done) => group.leave(done);
  });
}

class Group {
  readonly #home: ParallelHome;
  readonly #resolve: (result: Result) => void;
  readonly #values: unknown[];
  #strands: PartStrand[];
  #left: number;
  #failure: Failure | undefined;
  /** The error of a `finally` block that threw during a halt. */
  #cleanupError: Failure | undefined;
  #leave: ((result: Result) => void) | undefined;

  constructor(
    home: ParallelHome,
    parts: readonly Operation<unknown>[],
    resolve: (result: Result) => void,
  ) {
    this.#home = home;
    this.#resolve = resolve;
    this.#left = parts.length;
    this.#values = new Array(parts.length);
    this.#strands = parts.map((part, index) => new PartStrand(this, home, part, index));
  }

  start(): void {
    if (this.#left === 0) return this.#settle();
    this.#home.addParallel(this.#left - 1);
    for (const strand of this.#strands) strand.start();
  }

  /** Halts the parts that still run, and calls `done` when all have ended. */
  leave(done: (result: Result) => void): void {
    // The outcome has been reported already.
    if (this.#left === 0) return done({ ok: true });
    this.#leave = done;
    this.#haltAll();
  }

  ended(index: number, outcome: StrandOutcome<unknown>): void {
    this.#left--;
    if (this.#left > 0) this.#home.addParallel(-1);
    const decided = this.#failure !== undefined;
    if (outcome.type === "returned") this.#values[index] = outcome.value;
    else if (outcome.type === "threw") {
      this.#failure ??= { ok: false, error: outcome.error };
    } else if (outcome.error !== undefined) {
      this.#cleanupError ??= { ok: false, error: outcome.error };
    }
    // PARALLEL-1, PARALLEL-2: report the outcome only after the last part has ended.
    if (this.#left === 0) this.#settle();
    else if (this.#failure && !decided) this.#haltAll();
  }

  #haltAll(): void {
    // This is safe although the list may change: halting the last part may end the group, which
    // clears the list.
    for (const strand of this.#strands) strand.halt();
  }

  #settle(): void {
    this.#strands = [];
    if (this.#leave) this.#leave(this.#cleanupError ?? { ok: true });
    else this.#resolve(this.#failure ?? this.#cleanupError ?? { ok: true, value: this.#values });
  }
}

/** One part of a group. A part that has become a task may run several things concurrently. */
class PartStrand extends StrandBase<unknown> {
  readonly #group: Group;
  readonly #home: ParallelHome;
  readonly #part: Operation<unknown>;
  readonly #index: number;

  constructor(group: Group, home: ParallelHome, part: Operation<unknown>, index: number) {
    super(home.scope);
    this.#group = group;
    this.#home = home;
    this.#part = part;
    this.#index = index;
  }

  protected body(): Operation<unknown> {
    return this.#part;
  }

  protected override promoted(): void {
    this.#home.addParallel(1);
  }

  protected ended(outcome: StrandOutcome<unknown>): void {
    if (this.light) return this.#group.ended(this.#index, outcome);
    this.#home.addParallel(-1);
    // PARALLEL-3: a part that became a task ends inside the reducer, so report it later.
    queueMicrotask(() => this.#group.ended(this.#index, outcome));
  }
}

/**
 * Returns an operation that consists of one effect. It relies on the Effection internals that
 * `lib/strand.ts` describes.
 */
function effect<T>(
  enter: (
    resolve: (result: Result) => void,
    routine: unknown,
  ) => (done: (result: Result) => void) => void,
): Operation<T> {
  return {
    *[Symbol.iterator]() {
      return (yield { description: "together", enter } as never) as T;
    },
  };
}
