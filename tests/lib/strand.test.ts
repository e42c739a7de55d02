import assert from "node:assert/strict";
import {
  action,
  all,
  createContext,
  createScope,
  each,
  ensure,
  type Operation,
  race,
  resource,
  scoped,
  sleep,
  spawn,
  suspend,
  until,
  useScope,
} from "effection";
import { Strand, type StrandOutcome } from "../../src/lib/strand.ts";
import { describe, it } from "../suite.ts";

// This file exercises everything that a strand relies on in Effection: after an update of the
// pinned version it shows whether the driver still works.

const [home] = createScope();

function run<T>(body: () => Operation<T>) {
  let settle!: (outcome: StrandOutcome<T>) => void;
  const ended = new Promise<StrandOutcome<T>>((resolve) => settle = resolve);
  let ends = 0;
  const strand = new Strand<T>(home, body, (outcome) => {
    assert.equal(++ends, 1, "STRAND-1: the outcome is reported once");
    settle(outcome);
  });
  strand.start();
  return { strand, ended };
}

async function returned<T>(body: () => Operation<T>): Promise<T> {
  const outcome = await run(body).ended;
  assert.equal(outcome.type, "returned", JSON.stringify(outcome));
  return (outcome as { value: T }).value;
}

async function threw(body: () => Operation<unknown>): Promise<string> {
  const outcome = await run(body).ended;
  assert.equal(outcome.type, "threw");
  return (outcome as { error: Error }).error.message;
}

/** An operation that waits until `answer` is called. */
function question<T>() {
  const q = {
    answer: undefined as unknown as (value: T) => void,
    left: 0,
    ask: () =>
      action<T>((resolve) => {
        q.answer = resolve;
        return () => {
          q.left++;
        };
      }),
  };
  return q;
}

const noop = () => {};

describe("Strand, without a task", () => {
  it("runs a generator that never waits", async () => {
    let outcome: StrandOutcome<number> | undefined;
    new Strand<number>(home, function* () {
      return 1;
    }, (o) => outcome = o).start();
    assert.deepEqual(outcome, { type: "returned", value: 1 }, "and ends it in the same turn");
    assert.equal(
      await returned(function* () {
        return 1;
      }),
      1,
    );
  });

  it("reports what the generator throws", async () => {
    assert.equal(
      await threw(function* () {
        throw new Error("x");
      }),
      "x",
    );
  });

  it("reports a body that throws before it is a generator", async () => {
    assert.equal(
      await threw(() => {
        throw new Error("early");
      }),
      "early",
    );
  });

  it("runs effects that resolve at once without growing the stack", async () => {
    const sum = await returned(function* () {
      let sum = 0;
      for (let i = 0; i < 50_000; i++) {
        sum += yield* action<number>((resolve) => {
          resolve(1);
          return noop;
        });
      }
      return sum;
    });
    assert.equal(sum, 50_000);
  });

  it("waits for sleep() and until() without a task", async () => {
    const { strand, ended } = run(function* () {
      yield* sleep(0);
      return yield* until(Promise.resolve(7));
    });
    assert.deepEqual(await ended, { type: "returned", value: 7 });
    assert.equal(strand.light, true);
  });

  it("throws a rejection into the generator", async () => {
    assert.equal(
      await returned(function* () {
        try {
          yield* until(Promise.reject(new Error("n")));
          return "";
        } catch (error) {
          return (error as Error).message;
        }
      }),
      "n",
    );
  });

  it("ignores a late result of an earlier effect", async () => {
    const [a, b] = [question<number>(), question<number>()];
    const { ended } = run(function* () {
      return [yield* a.ask(), yield* b.ask()];
    });
    const first = a.answer;
    first(1);
    first(99);
    b.answer(2);
    first(98);
    assert.deepEqual(await ended, { type: "returned", value: [1, 2] });
    assert.deepEqual([a.left, b.left], [1, 1], "each effect is left once");
  });

  it("throws what an effect's cleanup throws", async () => {
    assert.equal(
      await threw(() =>
        action<void>((resolve) => {
          resolve();
          return () => {
            throw new Error("leaving");
          };
        })
      ),
      "leaving",
    );
  });
});

describe("Strand, when it becomes a task,", () => {
  it("does so for spawn()", async () => {
    const { strand, ended } = run(function* () {
      const child = yield* spawn(function* () {
        yield* sleep(0);
        return 5;
      });
      return yield* child;
    });
    assert.deepEqual(await ended, { type: "returned", value: 5 });
    assert.equal(strand.light, false);
  });

  it("does so after having waited without one", async () => {
    const q = question<number>();
    const { strand, ended } = run(function* () {
      const n = yield* q.ask();
      const [, m] = yield* all([sleep(0), until(Promise.resolve(n))]);
      return m;
    });
    assert.equal(strand.light, true);
    q.answer(9);
    assert.deepEqual(await ended, { type: "returned", value: 9 });
  });

  it("fails with a child that fails, and leaves the shared scope alone", async () => {
    assert.equal(
      await threw(function* () {
        yield* spawn(function* () {
          yield* sleep(0);
          throw new Error("child");
        });
        yield* suspend();
      }),
      "child",
    );
    assert.equal(await returned(() => scoped(() => until(Promise.resolve(1)))), 1);
  });

  it("keeps the parent's scope alive when a tool under createScope(parent) fails", async () => {
    const [parent, destroy] = createScope();
    const alive = parent.run(function* () {
      yield* suspend();
    });
    const [child] = createScope(parent);
    const outcome = await new Promise<StrandOutcome<void>>((resolve) => {
      new Strand<void>(child, function* () {
        yield* spawn(function* () {
          throw new Error("child");
        });
        yield* suspend();
      }, resolve).start();
    });
    assert.equal(outcome.type, "threw");
    let ended = false;
    alive.then(() => ended = true, () => ended = true);
    await Promise.resolve();
    assert.equal(ended, false);
    await alive.halt();
    await destroy();
  });

  it("halts the loser of a race()", async () => {
    const log: string[] = [];
    await returned(function* () {
      yield* race([
        sleep(0),
        (function* () {
          try {
            yield* suspend();
          } finally {
            log.push("lost");
          }
        })(),
      ]);
    });
    assert.deepEqual(log, ["lost"]);
  });

  it("reads the contexts of its home, useScope(), resources, scoped() and ensure()", async () => {
    const Name = createContext<string>("name");
    home.set(Name, "ctx");
    const log: string[] = [];
    const seen = await returned(function* () {
      yield* ensure(() => {
        log.push("ensured");
      });
      const name = yield* Name.expect();
      const number = yield* scoped(function* () {
        return yield* resource<number>(function* (provide) {
          yield* provide(3);
        });
      });
      return [name, number, typeof (yield* useScope())];
    });
    assert.deepEqual(seen, ["ctx", 3, "object"]);
    assert.deepEqual(log, ["ensured"]);
  });

  it("runs each()", async () => {
    const stream = resource<{ next(): Operation<IteratorResult<number, void>> }>(
      function* (provide) {
        let n = 0;
        yield* provide({
          *next() {
            return ++n > 3 ? { done: true, value: undefined } : { done: false, value: n };
          },
        });
      },
    );
    const seen = await returned(function* () {
      const seen: number[] = [];
      for (const n of yield* each(stream)) {
        seen.push(n);
        yield* each.next();
      }
      return seen;
    });
    assert.deepEqual(seen, [1, 2, 3]);
  });
});

describe("Strand.halt()", () => {
  it("leaves the effect, then runs the finally blocks", async () => {
    const log: string[] = [];
    const { strand, ended } = run(function* () {
      try {
        yield* action(() => () => {
          log.push("exit");
        });
      } finally {
        log.push("finally");
      }
    });
    strand.halt();
    strand.halt();
    assert.deepEqual(await ended, { type: "halted" });
    assert.deepEqual(log, ["exit", "finally"]);
  });

  it("waits for asynchronous cleanup", async () => {
    const q = question<void>();
    const log: string[] = [];
    const { strand, ended } = run(function* () {
      try {
        yield* suspend();
      } finally {
        yield* q.ask();
        yield* spawn(function* () {
          log.push("a child in finally");
        });
        yield* sleep(0);
        log.push("done");
      }
    });
    strand.halt();
    assert.deepEqual(log, []);
    q.answer();
    assert.deepEqual(await ended, { type: "halted" });
    assert.deepEqual(log, ["a child in finally", "done"]);
  });

  it("ends as halted even if the generator went on after its finally (STRAND-2)", async () => {
    for (const promoted of [false, true]) {
      const { strand, ended } = run(function* () {
        if (promoted) yield* useScope();
        yield* (function* () {
          try {
            yield* suspend();
          } finally {
            yield* sleep(0);
          }
        })();
        return "a result that nobody asked for any more";
      });
      strand.halt();
      assert.deepEqual(await ended, { type: "halted" });
    }
  });

  it("reports what a finally block threw", async () => {
    for (const promoted of [false, true]) {
      const { strand, ended } = run(function* () {
        if (promoted) yield* useScope();
        try {
          yield* suspend();
        } finally {
          // deno-lint-ignore no-unsafe-finally
          throw new Error("while cleaning up");
        }
      });
      strand.halt();
      const outcome = await ended;
      assert.equal(outcome.type, "halted");
      assert.match(String((outcome as { error?: unknown }).error), /while cleaning up/);
    }
  });

  it("halts the children of a task, then the tool", async () => {
    const log: string[] = [];
    const { strand, ended } = run(function* () {
      yield* spawn(function* () {
        try {
          yield* suspend();
        } finally {
          log.push("child");
        }
      });
      try {
        yield* suspend();
      } finally {
        log.push("parent");
      }
    });
    await Promise.resolve();
    strand.halt();
    assert.deepEqual(await ended, { type: "halted" });
    assert.deepEqual(log.sort(), ["child", "parent"]);
  });

  it("may be called from inside the strand's own step (STRAND-4)", async () => {
    const log: string[] = [];
    for (const promoted of [false, true]) {
      // deno-lint-ignore prefer-const
      let strand!: Strand<unknown>;
      let settle!: (outcome: StrandOutcome<unknown>) => void;
      const ended = new Promise<StrandOutcome<unknown>>((resolve) => settle = resolve);
      strand = new Strand<unknown>(home, function* () {
        try {
          if (promoted) yield* useScope();
          strand.halt();
          log.push("goes on to its next yield*");
          yield* suspend();
          log.push("never");
        } finally {
          log.push("finally");
        }
      }, settle);
      strand.start();
      assert.deepEqual(await ended, { type: "halted" });
    }
    assert.deepEqual(log, [
      "goes on to its next yield*",
      "finally",
      "goes on to its next yield*",
      "finally",
    ]);
  });

  it("may be called from inside an effect that is being entered (STRAND-4)", async () => {
    const log: string[] = [];
    // deno-lint-ignore prefer-const
    let strand!: Strand<unknown>;
    let settle!: (outcome: StrandOutcome<unknown>) => void;
    const ended = new Promise<StrandOutcome<unknown>>((resolve) => settle = resolve);
    strand = new Strand<unknown>(home, function* () {
      yield* action(() => {
        strand.halt();
        return () => {
          log.push("left");
        };
      });
    }, settle);
    strand.start();
    assert.deepEqual(await ended, { type: "halted" });
    assert.deepEqual(log, ["left"]);
  });

  it("returns a half-run generator whose task never took a step", async () => {
    // Inside Effection's reducer a new task starts only after the current step: late enough to halt
    // it first.
    const log: string[] = [];
    const q = question<void>();
    const { strand, ended } = run(function* () {
      try {
        yield* q.ask();
        yield* spawn(function* () {});
        yield* suspend();
      } finally {
        log.push("finally");
      }
    });
    await home.run(function* () {
      q.answer();
      strand.halt();
    });
    assert.deepEqual(await ended, { type: "halted" });
    assert.deepEqual(log, ["finally"]);
  });

  it("does nothing to a strand that has ended, or has not started", async () => {
    const done = run(function* () {
      return 1;
    });
    done.strand.halt();
    assert.deepEqual(await done.ended, { type: "returned", value: 1 });

    let ran = false;
    const outcomes: unknown[] = [];
    const idle = new Strand<void>(home, function* () {
      ran = true;
    }, (outcome) => outcomes.push(outcome));
    idle.halt();
    idle.start();
    assert.equal(ran, false);
    assert.deepEqual(outcomes, [{ type: "halted" }]);
  });
});
