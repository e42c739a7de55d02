import assert from "node:assert/strict";
import { McpToolDepthError, McpToolTimeoutError } from "../../src/mod.ts";
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
import { accept, outcomeOf, questions, textOf, told, useLive } from "./live.ts";

for (const [name, atOnce] of Object.entries(ways)) {
  describe(name, () => {
    it("asks in all branches at once, and returns their results in order", function* () {
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

    it("accepts no branches, one, and branches that never wait", function* () {
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

    it("halts the others when one throws, and waits for them before it throws", function* () {
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
        // The positions of later branches do not depend on how earlier ones ended.
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

    it("throws the first failure if several follow in one turn", function* () {
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

    it("fails the tool if nobody catches the error, and leaves nothing open", function* () {
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

    it("accepts a body that throws before it has made an operation", function* () {
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

    it("nests branches, down to the tool's maximum depth", function* () {
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

    it("ends when a branch times out, which halts the others", function* () {
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

    it("ends when its tool times out", function* () {
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
  });
}
