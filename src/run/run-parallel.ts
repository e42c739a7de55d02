/**
 * Several operations at once, each a strand of its own, for as long as their tool
 * needs no task. Effection's `all` does the same, at some twenty kilobytes for each
 * that waits.
 *
 * G1  The first that throws decides; the others are halted, and have run their
 *     `finally` blocks, before anybody hears of it.
 * G2  Whoever halts them waits until all have run their `finally` blocks.
 * G3  The tool never goes on from inside Effection's reducer, where a part that
 *     became a task ends.
 */
import type { Operation, Scope } from "effection";
import { isStandIn, StrandBase, type StrandOutcome } from "../lib/strand.ts";

type Failure = { readonly ok: false; readonly error: unknown };
type Result = { readonly ok: true; readonly value?: unknown } | Failure;

export interface TogetherHome {
  /** Where a part that needs a task gets one. */
  readonly scope: Scope;
  /** How many parts are at work besides the first. */
  parallel: number;
}

/** Tells whether whoever asks runs without a task. */
export const isLight: Operation<boolean> = effect((resolve, routine) => {
  resolve({ ok: true, value: isStandIn(routine) });
  return (done) => done({ ok: true });
});

/**
 * What all parts return, in order. Only for whoever `isLight`, and only for parts
 * that do nothing before their first step, as generators do.
 */
export function runParallel(
  home: TogetherHome,
  parts: readonly Operation<unknown>[],
): Operation<unknown[]> {
  return effect((resolve) => {
    const group = new Group(home, parts, resolve);
    group.start();
    return (done) => group.leave(done);
  });
}

class Group {
  readonly #home: TogetherHome;
  readonly #resolve: (result: Result) => void;
  readonly #values: unknown[];
  #strands: PartStrand[];
  #left: number;
  #failure: Failure | undefined;
  /** What a `finally` block threw while its part was being halted. */
  #spoilt: Failure | undefined;
  #leave: ((result: Result) => void) | undefined;

  constructor(
    home: TogetherHome,
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
    this.#home.parallel += this.#left - 1;
    for (const strand of this.#strands) strand.start();
  }

  /** Halts whatever is left, and says when that is done. */
  leave(done: (result: Result) => void): void {
    // How it came out has been told already.
    if (this.#left === 0) return done({ ok: true });
    this.#leave = done;
    this.#haltAll();
  }

  ended(index: number, outcome: StrandOutcome<unknown>): void {
    this.#left--;
    if (this.#left > 0) this.#home.parallel--;
    const decided = this.#failure !== undefined;
    if (outcome.type === "returned") this.#values[index] = outcome.value;
    else if (outcome.type === "threw") {
      this.#failure ??= { ok: false, error: outcome.error };
    } else if (outcome.error !== undefined) {
      this.#spoilt ??= { ok: false, error: outcome.error };
    }
    if (this.#left === 0) this.#settle();
    else if (this.#failure && !decided) this.#haltAll();
  }

  #haltAll(): void {
    // The last to be halted may end the group, which lets go of its list.
    for (const strand of this.#strands) strand.halt();
  }

  #settle(): void {
    this.#strands = [];
    if (this.#leave) this.#leave(this.#spoilt ?? { ok: true });
    else this.#resolve(this.#failure ?? this.#spoilt ?? { ok: true, value: this.#values });
  }
}

/** One part of a group. One that has become a task may be at several things itself. */
class PartStrand extends StrandBase<unknown> {
  readonly #group: Group;
  readonly #home: TogetherHome;
  readonly #part: Operation<unknown>;
  readonly #index: number;

  constructor(group: Group, home: TogetherHome, part: Operation<unknown>, index: number) {
    super(home.scope);
    this.#group = group;
    this.#home = home;
    this.#part = part;
    this.#index = index;
    this.prepare();
  }

  protected body(): Operation<unknown> {
    return this.#part;
  }

  protected override promoted(): void {
    this.#home.parallel++;
  }

  protected ended(outcome: StrandOutcome<unknown>): void {
    if (this.light) return this.#group.ended(this.#index, outcome);
    this.#home.parallel--;
    queueMicrotask(() => this.#group.ended(this.#index, outcome));
  }
}

/** An operation that is one effect; see strand.ts for what that leans on. */
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
