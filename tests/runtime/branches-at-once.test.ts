import assert from "node:assert/strict";
import { all, type Operation, race, sleep, spawn, until } from "effection";
import { z } from "zod";
import {
  createMcpTool,
  type ElicitDefinition,
  type McpToolBranchOptions,
  type McpToolContextWithElicits,
  McpToolDepthError,
  McpToolTimeoutError,
} from "../../src/mod.ts";
import type { LiveToolSession } from "../../src/session/tool-session.ts";
import { describe, it } from "../suite.ts";
import { accept, outcomeOf, questions, textOf, told, useLive } from "./live.ts";

type Ctx = McpToolContextWithElicits<
  { q: ElicitDefinition & { response: z.ZodObject<{ n: z.ZodNumber }> } }
>;
type Body = (ctx: Ctx) => Operation<unknown>;
type Way = (ctx: Ctx, bodies: Body[], options?: McpToolBranchOptions) => Operation<unknown[]>;

const asking = createMcpTool("asking").description("Asks.")
  .elicits({ q: { response: z.object({ n: z.number() }) } });

function* number(ctx: Ctx): Operation<number> {
  const answer = yield* ctx.elicit("q", { message: "?" });
  return answer.action === "accept" ? answer.content.n : -1;
}

/** A part that fails once it has been answered. */
function* fails(ctx: Ctx): Operation<never> {
  throw new Error(`failed with ${yield* number(ctx)}`);
}

/** A part that needs a task, for what it does at the same time. */
function* needsTask(ctx: Ctx): Operation<number> {
  const task = yield* spawn(() => number(ctx));
  return yield* task;
}

/** Something that is waited for until it is let go. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: () => until(promise), open: () => resolve() };
}

/** Lets everything happen that can without anybody's help. */
function* idle(): Operation<void> {
  for (let turn = 0; turn < 50; turn++) yield* until(Promise.resolve());
}

/** Waits until so many questions are open. */
function* asked(session: LiveToolSession, count: number): Operation<void> {
  const events = yield* session.getEvents();
  while (session.openRequests().length < count) {
    assert.ok(!(yield* events.next()).done, "it ended before it asked");
  }
}

const message = (error: unknown) => (error as Error).message;

// One list of promises, and three ways to keep them.
const ways: Record<string, Way> = {
  "ctx.branches()": (ctx, bodies, options) => ctx.branches(bodies, options),
  "ctx.branches() of a tool that is a task": function* (ctx, bodies, options) {
    yield* spawn(function* () {});
    return yield* ctx.branches(bodies, options);
  },
  "all() of ctx.branch()": (ctx, bodies, options) =>
    all(bodies.map((body) => ctx.branch(body, options))),
};

for (const [name, atOnce] of Object.entries(ways)) {
  describe(name, () => {
    it("asks in all branches at once, and returns what they return in their order", function* () {
      const live = yield* useLive();
      const session = live.open(asking.execute(function* (_params, ctx) {
        return (yield* atOnce(ctx, [number, number, number])).join();
      }));
      yield* questions(session, "/0:q", "/1:q", "/2:q");
      accept(session, "/2", { n: 3 });
      accept(session, "/0", { n: 1 });
      accept(session, "/1", { n: 2 });
      assert.equal(yield* textOf(session), "1,2,3");
    });

    it("takes none, one, and those that never wait", function* () {
      const live = yield* useLive();
      const session = live.open(asking.execute(function* (_params, ctx) {
        const none = yield* atOnce(ctx, []);
        const one = yield* atOnce(ctx, [number]);
        const ready = yield* atOnce(ctx, [function* ({ depth }) {
          return depth;
        }, function* () {}]);
        return JSON.stringify([none, one, ready]);
      }));
      yield* questions(session, "/0:q");
      accept(session, "/0", { n: 1 });
      assert.equal(yield* textOf(session), "[[],[1],[1,null]]");
    });

    it("halts the others when one throws, and waits for them before anybody hears", function* () {
      const live = yield* useLive();
      const log: string[] = [];
      const cleaned = gate();
      const session = live.open(asking.execute(function* (_params, ctx) {
        try {
          yield* atOnce(ctx, [
            function* (branch) {
              try {
                yield* number(branch);
              } finally {
                log.push("leaving");
                yield* cleaned.passed();
                log.push("left");
              }
            },
            fails,
          ]);
        } catch (error) {
          log.push(message(error));
        }
        // The places of those that follow do not depend on how those before ended.
        return (yield* atOnce(ctx, [number, number])).join();
      }));
      yield* questions(session, "/0:q", "/1:q");
      accept(session, "/1", { n: 7 });
      yield* idle();
      assert.deepEqual(log, ["leaving"]);
      cleaned.open();
      yield* questions(session, "/2:q", "/3:q");
      assert.deepEqual(log, ["leaving", "left", "failed with 7"]);
      accept(session, "/3", { n: 3 });
      accept(session, "/2", { n: 2 });
      assert.equal(yield* textOf(session), "2,3");
      assert.deepEqual(live.faults, []);
      assert.equal(told(session.log.after(0)).filter((it) => it === "withdrawn: halted").length, 1);
    });

    it("hears of the first failure where several follow in one turn", function* () {
      const live = yield* useLive();
      const session = live.open(asking.execute(function* (_params, ctx) {
        try {
          return (yield* atOnce(ctx, [fails, fails, number])).join();
        } catch (error) {
          return message(error);
        }
      }));
      yield* questions(session, "/0:q", "/1:q", "/2:q");
      const [first, second] = session.openRequests();
      session.respondAll([second!, first!].map(({ id }, n) => ({
        requestId: id,
        response: { action: "accept", content: { n } },
      })));
      assert.equal(yield* textOf(session), "failed with 0");
      assert.deepEqual(session.openRequests(), []);
    });

    it("fails the tool where nobody catches, and leaves nothing open", function* () {
      const live = yield* useLive();
      const session = live.open(asking.execute(function* (_params, ctx) {
        yield* atOnce(ctx, [number, needsTask, fails]);
      }));
      yield* asked(session, 3);
      accept(session, "/2", { n: 1 });
      const outcome = yield* outcomeOf(session);
      assert.equal((outcome as { result: { isError?: boolean } }).result.isError, true);
      assert.match(String(live.faults), /failed with 1/);
      assert.deepEqual(session.openRequests(), []);
      assert.equal(told(session.log.after(0)).filter((it) => it === "withdrawn: halted").length, 2);
    });

    it("takes a body that throws before it has made an operation", function* () {
      const live = yield* useLive();
      const session = live.open(asking.execute(function* (_params, ctx) {
        try {
          yield* atOnce(ctx, [number, () => {
            throw new Error("no operation");
          }, number]);
          return "";
        } catch (error) {
          return `${message(error)}, ${yield* number(ctx)}`;
        }
      }));
      yield* questions(session, ":q");
      accept(session, "", { n: 1 });
      assert.equal(yield* textOf(session), "no operation, 1");
    });

    it("opens branches within branches, down to the tool's depth", function* () {
      const live = yield* useLive();
      const two: Body = (ctx) => atOnce(ctx, [number, number]);
      const session = live.open(
        asking.limits({ maxDepth: 2 }).execute(function* (_params, ctx) {
          const deep = yield* atOnce(ctx, [two, two]);
          try {
            yield* atOnce(ctx, [(inner) => atOnce(inner, [two])]);
          } catch (error) {
            assert.ok(error instanceof McpToolDepthError);
            return JSON.stringify(deep);
          }
          return "";
        }),
      );
      yield* asked(session, 4);
      for (const path of ["/1/1", "/0/0", "/1/0", "/0/1"]) {
        accept(session, path, { n: Number(path.replaceAll("/", "")) });
      }
      assert.equal(yield* textOf(session), "[[0,1],[10,11]]");
    });

    it("gives every branch its options", function* () {
      const live = yield* useLive();
      const session = live.open(asking.execute(function* (_params, ctx) {
        const seen: Body = function* ({ messages }) {
          return messages.length;
        };
        const messages = [{ role: "user", content: "hello" }] as const;
        const lengths = yield* atOnce(ctx, [seen, seen], { messages: [...messages] });
        try {
          yield* atOnce(ctx, [function* () {}], { maxTokens: -1 });
          return "";
        } catch (error) {
          return `${lengths} ${(error as Error).name}`;
        }
      }));
      assert.equal(yield* textOf(session), "1,1 TypeError");
    });

    it("ends by the timeout of a branch, which halts the others", function* () {
      const live = yield* useLive();
      const session = live.open(asking.execute(function* (_params, ctx) {
        try {
          yield* atOnce(ctx, [number, number], { timeout: 100 });
          return "";
        } catch (error) {
          assert.ok(error instanceof McpToolTimeoutError);
          return message(error);
        }
      }));
      yield* asked(session, 2);
      accept(session, "/0", { n: 1 });
      yield* idle();
      live.clock.advance(100);
      assert.match(yield* textOf(session), /branch \/1/);
    });

    it("ends by the timeout of its tool", function* () {
      const live = yield* useLive();
      let left = 0;
      const leaving: Body = function* (ctx) {
        try {
          yield* number(ctx);
        } finally {
          left++;
        }
      };
      const session = live.open(
        asking.limits({ timeout: 100 }).execute(function* (_params, ctx) {
          yield* atOnce(ctx, [leaving, leaving]);
        }),
      );
      yield* asked(session, 2);
      live.clock.advance(100);
      assert.match(yield* textOf(session), /100/);
      assert.equal(left, 2);
      assert.deepEqual(session.openRequests(), []);
    });

    it("has parts that need a task, beside others that need none", function* () {
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

    it("is halted by a part that is a task and fails", function* () {
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

    it("may be halted by one of its parts", function* () {
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
  it("is concurrent while more than one of them is at work", function* () {
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

  it("may evaluate them more than once, and they are others each time", function* () {
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
