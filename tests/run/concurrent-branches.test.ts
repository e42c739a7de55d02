import assert from "node:assert/strict";
import { all, type Operation, race, spawn, until } from "effection";
import { z } from "zod";
import {
  createMcpTool,
  type ElicitDefinition,
  type McpToolContextWithElicits,
} from "../../src/mod.ts";
import { describe, it } from "../suite.ts";
import { accept, outcomeOf, questions, textOf, told, useLive } from "./live.ts";

type Ctx = McpToolContextWithElicits<
  { q: ElicitDefinition & { response: z.ZodObject<{ n: z.ZodNumber }> } }
>;

const asking = createMcpTool("asking").description("Asks.")
  .elicits({ q: { response: z.object({ n: z.number() }) } });

/** A branch that asks one question; `left` is called if it is left without an answer. */
function asks(ctx: Ctx, left: (path: string) => void = () => {}): Operation<number> {
  return ctx.branch(function* (branch) {
    let answered = false;
    try {
      const answer = yield* branch.elicit("q", { message: "?" });
      answered = true;
      return answer.action === "accept" ? answer.content.n : -1;
    } finally {
      if (!answered) left("left");
    }
  });
}

describe("branches in all()", () => {
  it("ask at the same time, and are answered in any order", function* () {
    const live = yield* useLive();
    const session = live.open(asking.execute(function* (_params, ctx) {
      return (yield* all([asks(ctx), asks(ctx), asks(ctx)])).join();
    }));
    yield* questions(session, "/0:q", "/1:q", "/2:q");
    const ids = session.openRequests().map(({ id }) => id);
    assert.equal(new Set(ids).size, 3);
    assert.deepEqual(session.openRequests().map(({ name }) => name), ["q", "q_2", "q_3"]);
    assert.equal(session.currentStatus(), "awaiting_elicit");
    accept(session, "/2", { n: 3 });
    accept(session, "/0", { n: 1 });
    assert.equal(session.currentStatus(), "awaiting_elicit");
    accept(session, "/1", { n: 2 });
    assert.equal(yield* textOf(session), "1,2,3");
  });

  it("are halted when a sibling fails, and the parent gets the error", function* () {
    const live = yield* useLive();
    const log: string[] = [];
    const session = live.open(asking.execute(function* (_params, ctx) {
      try {
        yield* all([
          asks(ctx, (it) => log.push(it)),
          ctx.branch(function* (branch) {
            yield* branch.elicit("q", { message: "Fail?" });
            throw new Error("sibling");
          }),
        ]);
        return "";
      } catch (error) {
        log.push("caught");
        const answer = yield* ctx.elicit("q", { message: "Go on?" });
        return `${(error as Error).message} ${answer.action}`;
      }
    }));
    yield* questions(session, "/0:q", "/1:q");
    const [first] = session.openRequests();
    accept(session, "/1", { n: 1 });
    yield* questions(session, ":q");
    assert.deepEqual(log, ["left", "caught"]);
    assert.equal(session.respond(first!.id, { action: "decline" }), "withdrawn");
    accept(session, "", { n: 1 });
    assert.equal(yield* textOf(session), "sibling accept");
    assert.deepEqual(told(session.log.after(0)), [
      "elicit_request",
      "elicit_request",
      "answer",
      "withdrawn: halted",
      "elicit_request",
      "answer",
      "result",
    ]);
  });

  it("fail the tool if nobody catches the error, and leave nothing open", function* () {
    const live = yield* useLive();
    const session = live.open(asking.execute(function* (_params, ctx) {
      yield* all([
        asks(ctx),
        asks(ctx),
        ctx.branch(function* () {
          yield* until(Promise.resolve());
          throw new Error("sibling");
        }),
      ]);
    }));
    const outcome = yield* outcomeOf(session);
    assert.equal(outcome.status, "completed");
    assert.equal((outcome as { result: { isError?: boolean } }).result.isError, true);
    assert.match(String(live.faults[0]), /sibling/);
    assert.deepEqual(session.openRequests(), []);
    assert.equal(told(session.log.after(0)).filter((it) => it === "withdrawn: halted").length, 2);
  });
});

describe("branches in race()", () => {
  it("are won by the first answer; the loser's question is withdrawn", function* () {
    const live = yield* useLive();
    const log: string[] = [];
    const session = live.open(asking.execute(function* (_params, ctx) {
      return yield* race([asks(ctx, (it) => log.push(it)), asks(ctx)]);
    }));
    yield* questions(session, "/0:q", "/1:q");
    const [loser] = session.openRequests();
    accept(session, "/1", { n: 2 });
    assert.equal(yield* textOf(session), "2");
    assert.deepEqual(log, ["left"]);
    assert.equal(session.respond(loser!.id, { action: "decline" }), "ended");
    assert.deepEqual(told(session.log.after(0)), [
      "elicit_request",
      "elicit_request",
      "answer",
      "withdrawn: halted",
      "result",
    ]);
  });

  it("may be abandoned by the tool, which continues", function* () {
    const live = yield* useLive();
    const session = live.open(asking.execute(function* (_params, ctx) {
      const first = yield* race([asks(ctx), asks(ctx)]);
      const second = yield* ctx.elicit("q", { message: "?" });
      return `${first} ${second.action}`;
    }));
    yield* questions(session, "/0:q", "/1:q");
    accept(session, "/0", { n: 7 });
    yield* questions(session, ":q");
    accept(session, "", { n: 1 });
    assert.equal(yield* textOf(session), "7 accept");
  });
});

describe("a halted branch", () => {
  it("withdraws its questions when the tool ends before it", function* () {
    const live = yield* useLive();
    const session = live.open(asking.execute(function* (_params, ctx) {
      yield* spawn(() => asks(ctx));
      const answer = yield* ctx.elicit("q", { message: "?" });
      return answer.action;
    }));
    yield* questions(session, ":q", "/0:q");
    accept(session, "", { n: 1 });
    assert.equal(yield* textOf(session), "accept");
    assert.deepEqual(told(session.log.after(0)).slice(-3), [
      "answer",
      "withdrawn: halted",
      "result",
    ]);
  });

  it("withdraws its questions when its task is halted", function* () {
    const live = yield* useLive();
    const session = live.open(asking.execute(function* (_params, ctx) {
      const task = yield* spawn(() => asks(ctx));
      yield* ctx.elicit("q", { message: "Stop it?" });
      yield* task.halt();
      const answer = yield* ctx.elicit("q", { message: "?" });
      return answer.action;
    }));
    yield* questions(session, ":q", "/0:q");
    accept(session, "", { n: 1 });
    yield* questions(session, ":q");
    accept(session, "", { n: 1 });
    assert.equal(yield* textOf(session), "accept");
  });

  it("cleans up from the inside out when the session is cancelled", function* () {
    const live = yield* useLive();
    const log: string[] = [];
    const session = live.open(asking.execute(function* (_params, ctx) {
      try {
        yield* ctx.branch(function* (outer) {
          try {
            yield* asks(outer, (it) => log.push(it));
            log.push("never");
          } finally {
            log.push("outer");
          }
        });
        log.push("never");
      } finally {
        log.push("tool");
      }
    }));
    yield* session.cancel();
    assert.equal(session.outcome?.status, "cancelled");
    assert.deepEqual(log, ["left", "outer", "tool"]);
  });

  it("cleans up together with its siblings when the session is cancelled", function* () {
    const live = yield* useLive();
    const log: string[] = [];
    const session = live.open(asking.execute(function* (_params, ctx) {
      try {
        yield* ctx.branch(function* (outer) {
          try {
            yield* all([
              asks(outer, (it) => log.push(it)),
              asks(outer, (it) => log.push(it)),
            ]);
            log.push("never");
          } finally {
            log.push("outer");
          }
        });
        log.push("never");
      } finally {
        log.push("tool");
      }
    }));
    yield* questions(session, "/0/0:q", "/0/1:q");
    yield* session.cancel();
    assert.equal(session.outcome?.status, "cancelled");
    // Effection halts a task before the tasks that it spawned.
    assert.deepEqual(log, ["outer", "tool", "left", "left"]);
    assert.deepEqual(session.openRequests(), []);
    assert.deepEqual(live.faults, []);
  });

  it("can neither ask nor notify while it cleans up after a cancellation", function* () {
    const live = yield* useLive();
    const thrown: unknown[] = [];
    const session = live.open(asking.execute(function* (_params, ctx) {
      try {
        yield* asks(ctx);
      } finally {
        yield* ctx.notify("too late");
        yield* ctx.log("info", "too late");
        try {
          yield* ctx.elicit("q", { message: "too late?" });
        } catch (error) {
          thrown.push((error as { code: string }).code);
        }
      }
    }));
    yield* session.cancel();
    assert.deepEqual(thrown, ["PARLEY_SESSION_HALTED"]);
    assert.deepEqual(told(session.log.after(0)), [
      "elicit_request",
      "withdrawn: halted",
      "cancelled",
    ]);
  });
});
