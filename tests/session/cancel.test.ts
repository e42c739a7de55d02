import assert from "node:assert/strict";
import { action, all, ensure, type Operation, run, sleep, spawn, suspend } from "effection";
import { describe, it } from "../suite.ts";
import {
  accept,
  askTool,
  ended,
  follow,
  idle,
  questionOf,
  tool,
  types,
  until,
  withRegistry,
} from "../support/registry.ts";

/** An operation that waits until the test releases it. */
function gate(): { open(): void; pass(): Operation<void> } {
  let open!: () => void;
  return {
    open: () => open(),
    pass: () =>
      action<void>((resolve) => {
        open = resolve;
        return () => {};
      }),
  };
}

describe("ToolSession.cancel()", () => {
  it(
    "halts the tool at its yield*, runs its finally, and closes every reader",
    withRegistry(async ({ open }) => {
      const log: string[] = [];
      const session = open(tool(function* (ctx) {
        try {
          yield* ctx.elicit("n", { message: "?" });
          log.push("never");
        } finally {
          log.push("finally");
        }
        return "";
      }));
      const readers = [follow(session), follow(session, 1)];
      const id = questionOf(session);
      await idle();
      await run(() => session.cancel("no longer needed"));
      assert.deepEqual(log, ["finally"]);
      assert.deepEqual(session.outcome, { status: "cancelled", reason: "no longer needed" });
      await until(() => readers.every(({ outcome }) => outcome === session.outcome));
      assert.deepEqual(readers[0]!.events, [
        readers[0]!.events[0]!,
        { lsn: 2, type: "withdrawn", requestId: id, reason: "halted" },
        { lsn: 3, type: "cancelled", reason: "no longer needed", by: "caller" },
      ]);
      assert.equal(session.respond(id, { action: "decline" }), "ended");
    }),
  );

  it(
    "waits for an asynchronous finally, and ignores an outcome that comes after it",
    withRegistry(async ({ open }) => {
      for (const promoted of [false, true]) {
        const cleaning = gate();
        const log: string[] = [];
        const session = open(tool(function* (ctx) {
          if (promoted) yield* spawn(() => suspend());
          yield* (function* () {
            try {
              yield* ctx.elicit("n", { message: "?" });
            } finally {
              log.push("begins");
              yield* cleaning.pass();
              log.push("done");
            }
          })();
          return "a result that nobody asked for any more";
        }));
        let returned = false;
        const cancel = run(() => session.cancel()).then(() => returned = true);
        await until(() => log.length > 0);
        await idle();
        assert.deepEqual([log, returned, session.outcome], [["begins"], false, undefined]);
        cleaning.open();
        await cancel;
        assert.deepEqual(log, ["begins", "done"]);
        assert.equal(session.outcome?.status, "cancelled");
        assert.ok(types(session).endsWith("withdrawn,cancelled"), types(session));
      }
    }),
  );

  it(
    "withdraws every open question of every branch",
    withRegistry(async ({ open }) => {
      const left: string[] = [];
      const session = open(tool(function* (ctx) {
        yield* ensure(() => void left.push("tool"));
        yield* all(["n", "m"].map((key) =>
          ctx.branch(function* (inner: typeof ctx) {
            try {
              yield* inner.elicit(key, { message: "?" });
            } finally {
              left.push(key);
            }
          })
        ));
        return "";
      }));
      await until(() => session.openRequests().length === 2);
      await run(() => session.cancel());
      assert.deepEqual(left.sort(), ["m", "n", "tool"]);
      assert.equal(
        types(session),
        "elicit_request,elicit_request,withdrawn,withdrawn,cancelled",
      );
    }),
  );

  it(
    "may be called by a reader inside the tool's own step, even the first",
    withRegistry(async ({ open, registry }) => {
      for (const wait of ["none", "elicit", "sleep", "spawn"]) {
        for (const first of [true, false]) {
          const log: string[] = [];
          const session = open(tool(function* (ctx) {
            if (!first) yield* ctx.elicit("m", { message: "begin?" });
            const own = registry.find(ctx.sessionId)!;
            own.log.watch(() => own.halt("seen enough"));
            try {
              yield* ctx.notify("look");
              if (wait === "elicit") yield* ctx.elicit("n", { message: "?" });
              if (wait === "sleep") yield* sleep(0);
              if (wait === "spawn") yield* spawn(() => suspend());
              if (wait !== "none") log.push("went on");
            } catch {
              log.push("caught");
            } finally {
              log.push("finally");
            }
            return "a result";
          }));
          if (!first) accept(session, { n: 1 });
          assert.deepEqual(
            await ended(session),
            { status: "cancelled", reason: "seen enough" },
            `${wait}, ${first}`,
          );
          assert.deepEqual(log, ["finally"], `${wait}, ${first}`);
        }
      }
    }),
  );

  it(
    "abandons whatever the tool enters after it was cancelled in its own step",
    withRegistry(async ({ open, registry }) => {
      for (const promoted of [false, true]) {
        const log: string[] = [];
        const session = open(tool(function* (ctx) {
          if (promoted) yield* spawn(() => suspend());
          yield* ctx.elicit("n", { message: "?" });
          registry.find(ctx.sessionId)!.halt("now");
          yield* action(() => {
            log.push("entered");
            return () => log.push("left");
          });
        }));
        await until(() => session.openRequests().length === 1);
        accept(session, { n: 1 });
        assert.equal((await ended(session)).status, "cancelled");
        assert.ok(["", "entered,left"].includes(log.join()), log.join());
      }
    }),
  );

  it(
    "may be called by the tool itself",
    withRegistry(async ({ open, registry }) => {
      const session = open(tool(function* (ctx) {
        yield* registry.find(ctx.sessionId)!.cancel("by myself");
        return "never";
      }));
      assert.deepEqual(await ended(session), { status: "cancelled", reason: "by myself" });
    }),
  );

  it(
    "does nothing to a session that has ended, and works once",
    withRegistry(async ({ open }) => {
      const session = open(askTool);
      accept(session, { n: 1 });
      await run(() => session.cancel());
      assert.equal(session.outcome?.status, "completed");

      const other = open(askTool);
      await run(() => all([other.cancel("first"), other.cancel("second")]));
      assert.deepEqual(other.outcome, { status: "cancelled", reason: "first" });
      assert.equal(types(other), "elicit_request,withdrawn,cancelled");
    }),
  );

  it(
    "reports what a finally threw, and completes all the same",
    withRegistry(async ({ open, faults }) => {
      const session = open(tool(function* (ctx) {
        try {
          yield* ctx.elicit("n", { message: "?" });
        } finally {
          // deno-lint-ignore no-unsafe-finally
          throw new Error("while cleaning up");
        }
      }));
      await run(() => session.cancel());
      assert.equal(session.outcome?.status, "cancelled");
      assert.deepEqual(faults.map(({ error }) => String(error)), ["Error: while cleaning up"]);
    }),
  );
});

describe("a tool that is being halted", () => {
  it(
    "can no longer ask, notify or log",
    withRegistry(async ({ open }) => {
      const refused: unknown[] = [];
      const session = open(tool(function* (ctx) {
        try {
          yield* ctx.elicit("n", { message: "?" });
        } finally {
          yield* ctx.notify("halfway");
          yield* ctx.log("info", "cleaning up");
          for (
            const ask of [
              () => ctx.elicit("m", { message: "sure?" }),
              () => ctx.sample({ prompt: "sure?" }),
              () => ctx.branch((inner: typeof ctx) => inner.elicit("m", { message: "sure?" })),
            ]
          ) {
            try {
              yield* ask();
            } catch (error) {
              refused.push((error as { code: string }).code);
            }
          }
        }
        return "";
      }));
      await run(() => session.cancel());
      assert.deepEqual(refused, Array(3).fill("PARLEY_SESSION_HALTED"));
      assert.equal(types(session), "elicit_request,withdrawn,cancelled");
    }),
  );
});

describe("a tool's timeout", () => {
  const slow = (cleaning: Operation<void>, log: string[]) =>
    tool(function* (ctx) {
      try {
        yield* ctx.elicit("n", { message: "?" });
      } finally {
        yield* cleaning;
        log.push("finally");
      }
      return "";
    }, { timeout: 5_000 });

  const nothing: Operation<void> = {
    *[Symbol.iterator]() {},
  };

  it(
    "halts the tool, runs its finally, and reports the timeout to the model",
    withRegistry(async ({ open, clock }) => {
      const log: string[] = [];
      const session = open(slow(nothing, log));
      clock.advance(4_999);
      assert.equal(session.currentStatus(), "awaiting_elicit");
      clock.advance(1);
      const outcome = await ended(session);
      assert.equal(outcome.status, "completed");
      assert.equal((outcome as { result: { isError?: boolean } }).result.isError, true);
      assert.deepEqual(log, ["finally"]);
      assert.equal(types(session), "elicit_request,withdrawn,result");
    }),
  );

  it(
    "keeps running while questions are answered, and leaves no timer",
    withRegistry(async ({ open, clock, registry }) => {
      const session = open(slow(nothing, []));
      registry.hold(session);
      clock.advance(4_999);
      accept(session, { n: 1 });
      assert.equal((await ended(session)).status, "completed");
      assert.equal(registry.counts.deadlines, 0);
    }),
  );

  it(
    "changes nothing for a tool that is already being cancelled",
    withRegistry(async ({ open, clock }) => {
      const cleaning = gate();
      const session = open(slow({
        *[Symbol.iterator]() {
          yield* cleaning.pass();
        },
      }, []));
      const cancel = run(() => session.cancel("enough"));
      await idle();
      clock.advance(10_000);
      cleaning.open();
      await cancel;
      assert.deepEqual(session.outcome, { status: "cancelled", reason: "enough" });
    }),
  );

  it(
    "stays the reason if somebody cancels while the tool is being halted",
    withRegistry(async ({ open, clock }) => {
      const cleaning = gate();
      const session = open(slow({
        *[Symbol.iterator]() {
          yield* cleaning.pass();
        },
      }, []));
      clock.advance(5_000);
      const cancel = run(() => session.cancel("too late"));
      await idle();
      cleaning.open();
      await cancel;
      assert.equal(session.outcome?.status, "completed");
    }),
  );
});
