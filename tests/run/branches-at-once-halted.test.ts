import assert from "node:assert/strict";
import { race, sleep, spawn, until } from "effection";
import { describe, it } from "../suite.ts";
import {
  asked,
  asking,
  type Body,
  fails,
  gate,
  idle,
  message,
  needsTask,
  number,
  ways,
} from "./at-once.ts";
import { accept, outcomeOf, questions, textOf, useLive } from "./live.ts";

for (const [name, atOnce] of Object.entries(ways)) {
  describe(`${name}, when it has tasks or is halted`, () => {
    it("runs branches that need a task beside others that need none", function* () {
      const live = yield* useLive();
      const session = live.open(asking.execute(function* (_params, ctx) {
        const values = yield* atOnce(ctx, [
          needsTask,
          number,
          (branch) => race([number(branch), sleep(60_000)]),
          (branch) => atOnce(branch, [needsTask, number]),
        ]);
        return `${values} ${yield* number(ctx)}`;
      }));
      yield* asked(session, 5);
      for (const path of ["/3/0", "/2", "/0", "/1", "/3/1"]) {
        accept(session, path, { n: Number(path.replaceAll("/", "")) });
        yield* idle();
      }
      yield* questions(session, ":q");
      accept(session, "", { n: 9 });
      assert.equal(yield* textOf(session), "0,1,2,30,31 9");
    });

    it("is halted when a branch that is a task fails", function* () {
      const live = yield* useLive();
      const session = live.open(asking.execute(function* (_params, ctx) {
        try {
          yield* atOnce(ctx, [number, function* (branch) {
            yield* spawn(() => fails(branch));
            yield* sleep(60_000);
          }]);
          return "";
        } catch (error) {
          return `${message(error)}, ${yield* number(ctx)}`;
        }
      }));
      yield* asked(session, 2);
      accept(session, "/1", { n: 5 });
      yield* questions(session, ":q");
      accept(session, "", { n: 1 });
      assert.equal(yield* textOf(session), "failed with 5, 1");
    });

    it("cleans up in every branch when the session is cancelled", function* () {
      const live = yield* useLive();
      const log: string[] = [];
      const leaving = (name: string, body: Body): Body =>
        function* (ctx) {
          try {
            return yield* body(ctx);
          } finally {
            yield* idle();
            log.push(name);
          }
        };
      const tool: Body = (ctx) =>
        atOnce(ctx, [
          leaving("light", number),
          leaving("task", needsTask),
          leaving("deep", (inner) => atOnce(inner, [leaving("deeper", number)])),
        ]);
      const session = live.open(asking.execute(function* (_params, ctx) {
        yield* leaving("tool", tool)(ctx);
      }));
      yield* asked(session, 3);
      yield* session.cancel();
      assert.equal(session.outcome?.status, "cancelled");
      assert.deepEqual(log.toSorted(), ["deep", "deeper", "light", "task", "tool"]);
      assert.deepEqual(session.openRequests(), []);
      assert.deepEqual(live.faults, []);
    });

    it("may be cancelled while it cleans up after a failure", function* () {
      const live = yield* useLive();
      const log: string[] = [];
      const cleaned = gate();
      const session = live.open(asking.execute(function* (_params, ctx) {
        try {
          yield* atOnce(ctx, [fails, function* (branch) {
            try {
              yield* number(branch);
            } finally {
              yield* cleaned.passed();
              log.push("left");
            }
          }]);
        } catch {
          log.push("caught");
        }
      }));
      yield* asked(session, 2);
      accept(session, "/0", { n: 1 });
      yield* idle();
      const cancelling = yield* spawn(() => session.cancel());
      yield* idle();
      assert.equal(session.outcome, undefined);
      cleaned.open();
      yield* cancelling;
      assert.equal(session.outcome!.status, "cancelled");
      assert.deepEqual(log, ["left"]);
    });

    it("reports what a finally block throws when the session is cancelled", function* () {
      const live = yield* useLive();
      const session = live.open(asking.execute(function* (_params, ctx) {
        yield* atOnce(ctx, [number, function* (branch) {
          try {
            yield* number(branch);
          } finally {
            // deno-lint-ignore no-unsafe-finally
            throw new Error("on the way out");
          }
        }]);
      }));
      yield* asked(session, 2);
      yield* session.cancel();
      assert.equal(session.outcome?.status, "cancelled");
      assert.deepEqual(live.faults.map(message), ["on the way out"]);
    });

    it("may be halted by one of its branches", function* () {
      const live = yield* useLive();
      const session = live.open(asking.execute(function* (_params, ctx) {
        yield* atOnce(ctx, [number, function* () {
          yield* until(Promise.resolve());
          session.halt("it has had enough", "server");
          yield* sleep(60_000);
        }, number]);
      }));
      yield* outcomeOf(session);
      assert.equal(session.outcome?.status, "cancelled");
      assert.deepEqual(session.openRequests(), []);
      assert.deepEqual(live.faults, []);
    });
  });
}

describe("a tool with ctx.branches()", () => {
  it("is concurrent while more than one branch is running", function* () {
    const live = yield* useLive();
    const session = live.open(asking.execute(function* (_params, ctx) {
      yield* ctx.branches([number, number, (inner) => inner.branches([number, number])]);
      yield* number(ctx);
      yield* ctx.branches([needsTask]);
      yield* number(ctx);
    }));
    const steps: boolean[] = [];
    for (const path of ["/0", "/1", "/2/0", "/2/1", "", "/3", ""]) {
      yield* idle();
      steps.push(session.concurrent);
      accept(session, path, { n: 1 });
    }
    yield* outcomeOf(session);
    assert.deepEqual(steps, [true, true, true, false, false, true, false]);
    assert.equal(session.parallel, 0);
  });

  it("cleans up from the inside out when it is cancelled", function* () {
    const live = yield* useLive();
    const log: string[] = [];
    const session = live.open(asking.execute(function* (_params, ctx) {
      const leaving: Body = function* (branch) {
        try {
          yield* number(branch);
        } finally {
          log.push("left");
        }
      };
      try {
        yield* ctx.branches([leaving, leaving]);
      } finally {
        log.push("tool");
      }
    }));
    yield* session.cancel();
    assert.deepEqual(log, ["left", "left", "tool"]);
    assert.equal(session.parallel, 0);
  });

  it("may be evaluated more than once, with new branches each time", function* () {
    const live = yield* useLive();
    const session = live.open(asking.execute(function* (_params, ctx) {
      const both = ctx.branches([number, number]);
      return [...(yield* both), ...(yield* both)].join();
    }));
    for (const paths of [["/0", "/1"], ["/2", "/3"]]) {
      yield* questions(session, ...paths.map((path) => `${path}:q`));
      for (const path of paths) accept(session, path, { n: Number(path.slice(1)) });
    }
    assert.equal(yield* textOf(session), "0,1,2,3");
  });
});
