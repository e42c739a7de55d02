/**
 * A strand runs one operation without making an Effection task of it, for as
 * long as it needs none.
 *
 * A task costs tens of microseconds and some ten kilobytes; most tools either
 * return at once or wait for one answer at a time, and need neither. So the
 * strand steps the generator itself and enters simple effects (`action`,
 * `sleep`, `until`, a question to the person) with a stand-in for the coroutine.
 * The first effect that reaches for the real thing (`spawn`, `race`, a context,
 * a resource) is handed, with the rest of the generator, to a task of `home`.
 *
 * It leans on the shape of Effection's `Effect.enter`, which is why the version
 * is pinned and tests/lib/strand.test.ts goes through what that must do.
 *
 * S1  The outcome is reported once, after every `finally` has run.
 * S2  A halted strand ends as `halted`, whatever its generator does after that:
 *     a `yield*` inside `finally` makes JavaScript forget that it was returning.
 * S3  Nothing that the generator or its effects throw escapes from a strand.
 * S4  A strand may be halted or resumed from inside its own step.
 */
import { type Operation, type Scope, scoped, type Task } from "effection";

export type StrandOutcome<T> =
  | { readonly type: "returned"; readonly value: T }
  | { readonly type: "threw"; readonly error: unknown }
  /** `error` is what a `finally` block threw on the way out, if one did. */
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
  /** Somebody wants it halted; the generator has not been told yet. */
  halting,
  /** The generator has been told to return, and is running its `finally` blocks. */
  unwinding,
  ended,
}

const NEEDS_TASK = Symbol("this effect needs a real task");
function needsTask(): never {
  throw NEEDS_TASK;
}
/** What an effect gets for its coroutine. Touching it says that a real one is needed. */
const standIn: object = new Proxy({}, {
  get: needsTask,
  set: needsTask,
  has: needsTask,
});

/** Whether an effect was entered without a task. */
export function isStandIn(routine: unknown): boolean {
  return routine === standIn;
}

/** A strand whose kind knows by itself what to run, and whom to tell of the end. */
export abstract class StrandBase<T> {
  readonly #home: Scope;
  #steps: Steps | undefined;
  #phase = Phase.running;
  /** True while the generator, or an effect it yielded, is on the stack. */
  #stepping = false;
  /** Counts effects, so that a late resolve of an older one is ignored. */
  #turn = 0;
  #exit: Exit | undefined;
  #task: Task<void> | undefined;
  /** True from the moment that a task is being made of it: the task may run before we have it. */
  #promoted = false;
  #haltingTask = false;
  /** True once the task has touched the generator. */
  #taken = false;
  /** What was thrown on the way out of a halt, other than by the generator itself. */
  #spoilt: { readonly error: unknown } | undefined;

  constructor(home: Scope) {
    this.#home = home;
  }

  /** What is to be run. */
  protected abstract body(): Operation<T>;

  /** How it ended. */
  protected abstract ended(outcome: StrandOutcome<T>): void;

  /** It goes on as a task from here. */
  protected promoted(): void {}

  /** To be called once, before it is started. It may end here already. */
  protected prepare(): void {
    try {
      this.#steps = this.body()[Symbol.iterator]() as Steps;
    } catch (error) {
      this.#end(Step.throw, error);
    }
  }

  /** Runs the operation up to its first wait. */
  start(): void {
    if (this.#phase === Phase.running) this.#advance(Step.next, undefined);
  }

  /** True while it runs without a task, so that it waits for one thing at a time. */
  get light(): boolean {
    return !this.#promoted;
  }

  /** Stops at the current `yield*` and runs the `finally` blocks. */
  halt(): void {
    if (this.#phase !== Phase.running) return;
    this.#phase = Phase.halting;
    if (this.#stepping) return;
    if (this.#task) this.#haltTask(this.#task);
    else if (this.#exit) this.#leave({ ok: true });
    // Otherwise an effect is on its way out, and its end will find us halting.
    else if (this.#turn === 0) this.#advance(Step.return, undefined);
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

  /** Enters an effect. What comes back is its result, if it had one at once. */
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
    // `useCoroutine()` hands its coroutine out; a stand-in will not do there.
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

  /** Leaves the effect that the generator waits in, then goes on with `result`. */
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

  /** Hands the rest of the generator to a real task. */
  #promote(effect: Effect): undefined {
    this.#turn++;
    this.#promoted = true;
    this.promoted();
    const rest = { [Symbol.iterator]: () => this.#rest(effect) } as unknown as Operation<unknown>;
    const settle = (step: Step, value: unknown) => {
      // A task that is being halted still has its own end before it; see #haltTask.
      if (!this.#haltingTask) this.#end(step, value);
      else if (step === Step.throw) this.#spoilt = { error: value };
    };
    this.#task = this.#home.run(function* () {
      // `scoped` is the border: a child of the tool that fails ends the tool, and
      // not the scope that all tools share.
      try {
        settle(Step.return, yield* scoped(() => rest));
      } catch (error) {
        settle(Step.throw, error);
      }
    });
    if (this.#phase === Phase.halting) this.#haltTask(this.#task);
    return undefined;
  }

  /** The rest of the generator, beginning with an effect that it has yielded already. */
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
        // The task was halted before its first step, and the generator is where we left it.
        this.#task = undefined;
        return this.#advance(Step.return, undefined);
      }
      this.#phase = Phase.unwinding;
      if (this.#spoilt) this.#end(Step.throw, this.#spoilt.error);
      else this.#end(Step.return, undefined);
    };
    // Not from inside Effection's reducer: a task that is halted in the middle of
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

/** A strand of anything. */
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
    this.prepare();
  }

  protected body(): Operation<T> {
    return this.#body();
  }

  protected ended(outcome: StrandOutcome<T>): void {
    this.#ended(outcome);
  }
}

/** Runs an operation as a strand, for those who can only wait for a promise. */
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
