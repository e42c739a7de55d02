/**
 * A strand runs one operation without an Effection task, until the operation needs one.
 *
 * A task costs tens of microseconds and about ten kilobytes. Most tools return immediately or wait
 * for one answer at a time, and need no task. So the strand steps the generator itself, and enters
 * simple effects (`action`, `sleep`, `until`, a question) with a stand-in for the coroutine. The
 * first effect that uses the coroutine (`spawn`, `race`, a context, a resource) is passed, with the
 * rest of the generator, to a new task in the scope `home`.
 *
 * A strand depends on the shape of Effection's `Effect.enter`. That is why the version is pinned,
 * and why tests/lib/strand.test.ts tests that shape.
 *
 * STRAND-1  The outcome is reported once, after every `finally` has run.
 * STRAND-2  A halted strand ends as `halted`, whatever its generator does after that: after a
 *           `yield*` inside `finally`, JavaScript continues a generator that was returning.
 * STRAND-3  Nothing that the generator or its effects throw escapes from a strand.
 * STRAND-4  A strand may be halted or resumed from inside its own step.
 */
import { type Operation, type Scope, scoped, type Task } from "effection";

export type StrandOutcome<T> =
  | { readonly type: "returned"; readonly value: T }
  | { readonly type: "threw"; readonly error: unknown }
  /** `error` is the error that a `finally` block threw during the halt, if any. */
  | { readonly type: "halted"; readonly error?: unknown };

type Result = { ok: true; value?: unknown } | { ok: false; error: unknown };
type Exit = (done: (result: Result) => void) => void;
interface Effect {
  enter(resolve: (result: Result) => void, routine: unknown): Exit;
}
type Steps = Iterator<Effect, unknown, unknown>;

enum Step {
  next,
  throw,
  return,
}

enum Phase {
  running,
  /** `halt()` was called. The generator's `return()` has not been called yet. */
  halting,
  /** The generator's `return()` was called, and its `finally` blocks run. */
  unwinding,
  ended,
}

const NEEDS_TASK = Symbol("this effect needs a real task");
function needsTask(): never {
  throw NEEDS_TASK;
}
/**
 * The stand-in that effects receive as their coroutine. An effect that uses it needs a real
 * coroutine, and therefore a task.
 */
const standIn: object = new Proxy({}, {
  get: needsTask,
  set: needsTask,
  has: needsTask,
});

/** Returns true if an effect was entered without a task. */
export function isStandIn(routine: unknown): boolean {
  return routine === standIn;
}

/** The base class of strands. A subclass defines the operation, and is notified when it ends. */
export abstract class StrandBase<T> {
  readonly #home: Scope;
  #steps: Steps | undefined;
  #phase = Phase.running;
  /** True while the generator, or an effect it yielded, is on the stack. */
  #stepping = false;
  /** The number of the current effect. A late result of an earlier effect is ignored. */
  #turn = 0;
  #exit: Exit | undefined;
  #task: Task<void> | undefined;
  /** True while the strand runs without a task. It then waits for at most one thing at a time. */
  readonly light: boolean = true;
  #haltingTask = false;
  /** True after the task has resumed the generator for the first time. */
  #taken = false;
  /** An error during a halt that did not come from the generator itself. */
  #spoilt: { readonly error: unknown } | undefined;

  constructor(home: Scope) {
    this.#home = home;
  }

  /** The operation to run. */
  protected abstract body(): Operation<T>;

  /** Called once, when the strand has ended (STRAND-1). */
  protected abstract ended(outcome: StrandOutcome<T>): void;

  /** Called when the strand continues as a task. */
  protected promoted(): void {}

  /** Runs the operation up to its first wait. Does nothing if the strand was halted before. */
  start(): void {
    if (this.#phase !== Phase.running) return;
    // `body()` is author code too, and may halt the strand.
    this.#stepping = true;
    try {
      this.#steps = this.body()[Symbol.iterator]() as Steps;
    } catch (error) {
      return this.#end(Step.throw, error);
    }
    this.#advance(Step.next, undefined);
  }

  /** Stops at the current `yield*` and runs the `finally` blocks. */
  halt(): void {
    if (this.#phase !== Phase.running) return;
    this.#phase = Phase.halting;
    if (this.#stepping) return;
    if (this.#task) this.#haltTask(this.#task);
    else if (this.#exit) this.#leave({ ok: true });
    else if (!this.#steps) this.#end(Step.return, undefined);
    // In the remaining case an effect is being left, and `#advance` handles the halt after that.
  }

  #advance(step: Step, value: unknown): void {
    const steps = this.#steps!;
    for (;;) {
      this.#stepping = true;
      if (this.#phase === Phase.halting) {
        this.#phase = Phase.unwinding;
        step = Step.return;
      }
      let taken: IteratorResult<Effect, unknown>;
      try {
        if (step === Step.next) taken = steps.next(value);
        else if (step === Step.throw) {
          if (!steps.throw) throw value;
          taken = steps.throw(value);
        } else taken = steps.return ? steps.return(undefined) : DONE;
      } catch (error) {
        return this.#end(Step.throw, error);
      }
      if (taken.done) return this.#end(Step.return, taken.value);
      if ((this.#phase as Phase) === Phase.halting) continue;

      const settled = this.#enter(taken.value);
      this.#stepping = false;
      if (settled === undefined) {
        if ((this.#phase as Phase) === Phase.halting && this.#exit) this.#leave({ ok: true });
        return;
      }
      step = settled.ok ? Step.next : Step.throw;
      value = settled.ok ? settled.value : settled.error;
    }
  }

  /** Enters an effect. Returns its result if the effect completes synchronously. */
  #enter(effect: Effect): Result | undefined {
    const turn = ++this.#turn;
    let early: Result | undefined;
    let entering = true;
    const resolve = (result: Result) => {
      if (this.#turn !== turn) return;
      if (entering) early ??= result;
      else this.#leave(result);
    };
    let exit: Exit;
    try {
      exit = effect.enter(resolve, standIn);
    } catch (error) {
      if (error === NEEDS_TASK) return this.#promote(effect);
      this.#turn++;
      return { ok: false, error };
    }
    entering = false;
    this.#exit = exit;
    if (early === undefined) return undefined;
    // `useCoroutine()` returns the coroutine itself, which must be a real one.
    if (early.ok && early.value === standIn) {
      this.#exit = undefined;
      return this.#promote(effect);
    }
    this.#turn++;
    this.#exit = undefined;
    let left: Result | undefined;
    let exiting = true;
    try {
      exit((result) => {
        if (left !== undefined) return;
        left = result.ok ? early! : result;
        if (!exiting) this.#resume(left);
      });
    } catch (error) {
      left ??= { ok: false, error };
    }
    exiting = false;
    return left;
  }

  /** Leaves the effect that the generator waits in, then continues with `result`. */
  #leave(result: Result): void {
    const exit = this.#exit!;
    this.#exit = undefined;
    this.#turn++;
    let exited = false;
    const done = (left: Result) => {
      if (exited) return;
      exited = true;
      if (!left.ok && this.#phase === Phase.halting) this.#spoilt ??= left;
      this.#resume(left.ok ? result : left);
    };
    try {
      exit(done);
    } catch (error) {
      done({ ok: false, error });
    }
  }

  #resume(result: Result): void {
    if (this.#phase === Phase.ended) return;
    this.#advance(result.ok ? Step.next : Step.throw, result.ok ? result.value : result.error);
  }

  /** Passes the rest of the generator to a real task. */
  #promote(effect: Effect): undefined {
    this.#turn++;
    // Set this first, because the task may run before `#task` is set.
    (this as { light: boolean }).light = false;
    this.promoted();
    const rest = { [Symbol.iterator]: () => this.#rest(effect) } as unknown as Operation<unknown>;
    const settle = (step: Step, value: unknown) => {
      // A task that is being halted ends in `#haltTask`.
      if (!this.#haltingTask) this.#end(step, value);
      else if (step === Step.throw) this.#spoilt = { error: value };
    };
    this.#task = this.#home.run(function* () {
      // STRAND-3: `scoped` contains failures, so that a failing child task ends its tool, but not
      // the scope that all tools share.
      try {
        settle(Step.return, yield* scoped(() => rest));
      } catch (error) {
        settle(Step.throw, error);
      }
    });
    if (this.#phase === Phase.halting) this.#haltTask(this.#task);
    return undefined;
  }

  /** The rest of the generator, starting with an effect that it has already yielded. */
  #rest(first: Effect): Steps {
    const steps = this.#steps!;
    const take = () => {
      const fresh = !this.#taken;
      this.#taken = true;
      return fresh;
    };
    return {
      next: (value) => take() ? { done: false, value: first } : steps.next(value),
      throw: (error) => {
        take();
        if (!steps.throw) throw error;
        return steps.throw(error);
      },
      return: () => {
        take();
        return steps.return ? steps.return(undefined) : DONE;
      },
    };
  }

  #haltTask(task: Task<void>): void {
    const halted = () => {
      if (this.#phase === Phase.ended) return;
      if (!this.#taken) {
        // The task was halted before its first step, so the generator is still where it was.
        this.#task = undefined;
        return this.#advance(Step.return, undefined);
      }
      this.#phase = Phase.unwinding;
      if (this.#spoilt) this.#end(Step.throw, this.#spoilt.error);
      else this.#end(Step.return, undefined);
    };
    // STRAND-4: do not halt the task from inside Effection's reducer. A task that is halted during
    // its own step would enter one more effect and never leave it.
    queueMicrotask(() => {
      this.#haltingTask = true;
      task.halt().then(halted, (error) => {
        this.#spoilt ??= { error };
        halted();
      });
    });
  }

  #end(step: Step, value: unknown): void {
    if (this.#phase === Phase.ended) return;
    // STRAND-2: after a halt, the result of the generator is ignored.
    const halted = this.#phase !== Phase.running;
    this.#phase = Phase.ended;
    this.#stepping = false;
    this.#steps = undefined;
    this.#exit = undefined;
    const spoilt = step === Step.throw ? { error: value } : this.#spoilt;
    if (halted) this.ended(spoilt ? { type: "halted", error: spoilt.error } : HALTED);
    else if (step === Step.throw) this.ended({ type: "threw", error: value });
    else this.ended({ type: "returned", value: value as T });
  }
}

/** Runs any operation as a strand. */
export class Strand<T> extends StrandBase<T> {
  readonly #body: () => Operation<T>;
  readonly #ended: (outcome: StrandOutcome<T>) => void;

  constructor(
    home: Scope,
    body: () => Operation<T>,
    ended: (outcome: StrandOutcome<T>) => void,
  ) {
    super(home);
    this.#body = body;
    this.#ended = ended;
  }

  protected body(): Operation<T> {
    return this.#body();
  }

  protected ended(outcome: StrandOutcome<T>): void {
    this.#ended(outcome);
  }
}

/** Runs an operation as a strand, and returns a promise for its result. */
export function promised<T>(home: Scope, operation: () => Operation<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    new Strand<T>(home, operation, (outcome) => {
      if (outcome.type === "returned") resolve(outcome.value);
      else reject(outcome.type === "threw" ? outcome.error : new Error("halted"));
    }).start();
  });
}

const HALTED: StrandOutcome<never> = { type: "halted" };
const DONE: IteratorResult<Effect, unknown> = { done: true, value: undefined };
