import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { z } from "zod";
import {
  createMcpTool,
  type McpToolContext,
  type McpToolServerContext,
  testTool,
  type ToolReturn,
} from "../../src/mod.ts";
import { describe, it } from "../suite.ts";
import { loosely } from "../tool/loose.ts";
import { accept, outcomeOf, textOf, told, useLive } from "./live.ts";

const tool = (body: (ctx: McpToolContext) => Operation<ToolReturn>) =>
  createMcpTool("t").description("d").execute(function* (_params, ctx) {
    return yield* body(ctx);
  });

describe("ctx.client", () => {
  it("is what the client said about itself", async () => {
    const client = {
      name: "Acme",
      version: "1.2",
      protocolVersion: "2025-11-25",
      capabilities: { sampling: {} },
    };
    const { text } = await testTool(
      tool(function* (ctx) {
        return ctx.client;
      }),
      {},
      { client },
    );
    assert.deepEqual(JSON.parse(text), client);
  });
});

describe("ctx.canSample", () => {
  const asks = createMcpTool("asks").description("d").handoff({
    *before(_params, ctx) {
      return ctx.canSample;
    },
    *client(before, ctx) {
      return [before, ctx.canSample];
    },
    *after(_before, both) {
      return both.join();
    },
  });
  const provider = { name: "own", sample: () => Promise.reject(new Error("never asked")) };

  it("is true if the client or the server's own model would answer", async () => {
    const able = { capabilities: { sampling: {} } };
    const unable = { capabilities: {} };
    for (
      const [client, sampling, expected] of [
        [able, {}, true],
        [unable, {}, false],
        [unable, { provider }, true],
        [unable, { provider, answerer: "client" }, false],
        [able, { provider, answerer: "client" }, true],
        [able, { answerer: "provider" }, false],
        [unable, { provider, answerer: "provider" }, true],
      ] as const
    ) {
      const { text } = await testTool(asks, {}, { client, sampling });
      assert.equal(text, `${expected},${expected}`);
    }
  });
});

describe("ctx.notify()", () => {
  it("counts by itself, and continues from a given number", async () => {
    const { events } = await testTool(
      tool(function* (ctx) {
        yield* ctx.notify("a");
        yield* ctx.notify("b");
        yield* ctx.notify("c", 10, 20);
        yield* ctx.notify("d", undefined, 20);
        yield* ctx.branch((branch) => branch.notify("e"));
      }),
      {},
    );
    assert.deepEqual(told(events).slice(0, -1), [
      "progress 1/ a",
      "progress 2/ b",
      "progress 10/20 c",
      "progress 11/20 d",
      "progress 12/ e",
    ]);
  });

  it("may be evaluated more than once", async () => {
    const { events } = await testTool(
      tool(function* (ctx) {
        const tick = ctx.notify("tick");
        yield* tick;
        yield* tick;
      }),
      {},
    );
    assert.deepEqual(told(events).slice(0, -1), ["progress 1/ tick", "progress 2/ tick"]);
  });
});

describe("ctx.log()", () => {
  const logged = async (...data: unknown[]) => {
    const { events } = await testTool(
      tool(function* (ctx) {
        for (const item of data) yield* ctx.log("info", item);
      }),
      {},
    );
    return events.flatMap((event) => event.type === "log" ? [event.data] : []);
  };

  it("records the level, the data and the logger", async () => {
    const { events } = await testTool(
      tool(function* (ctx) {
        yield* ctx.log("warning", { seats: 2 }, "booking");
        yield* ctx.log("debug", "plain");
      }),
      {},
    );
    assert.deepEqual(events.slice(0, 2), [
      { type: "log", lsn: 1, level: "warning", data: { seats: 2 }, logger: "booking" },
      { type: "log", lsn: 2, level: "debug", data: "plain" },
    ]);
  });

  it("records a copy, whatever the tool does with the data later", async () => {
    const { events } = await testTool(
      tool(function* (ctx) {
        const board = ["-", "-"];
        yield* ctx.log("info", board);
        board[0] = "X";
        yield* ctx.log("info", board);
      }),
      {},
    );
    assert.deepEqual(told(events).slice(0, 2), ['info ["-","-"]', 'info ["X","-"]']);
  });

  it("records an error's message", async () => {
    const [error, nested] = await logged(new TypeError("x"), { why: new Error("y") });
    assert.deepEqual(error, { name: "TypeError", message: "x" });
    assert.deepEqual(nested, { why: { name: "Error", message: "y" } });
  });

  it("never throws, whatever it is given", async () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const seen = await logged(1n, undefined, circular, () => {}, Symbol("s"), {
      toJSON() {
        throw new Error("no");
      },
    });
    assert.equal(seen.length, 6);
    assert.deepEqual(seen.slice(0, 2), ["1", null]);
    JSON.stringify(seen);
  });
});

describe("handoff()", () => {
  const half = createMcpTool("booking").description("Books.")
    .parameters(z.object({ to: z.string() }))
    .elicits({ pick: { response: z.object({ n: z.number() }) } });

  it("runs before, client and after in order, once each, and keeps what before returned", async () => {
    const log: string[] = [];
    const kept = { price: 5 };
    const tool = half.handoff({
      *before({ to }, ctx) {
        log.push(`before ${to}`);
        yield* ctx.notify("looking");
        return kept;
      },
      *client(handoff, ctx) {
        log.push("client");
        assert.equal(handoff, kept);
        for (let i = 0; i < 2; i++) yield* ctx.elicit("pick", { message: "Which?" });
        return "picked";
      },
      *after(handoff, picked, ctx) {
        log.push(`after ${picked}`);
        assert.equal(handoff, kept);
        yield* ctx.log("info", "booked");
        return `paid ${handoff.price}`;
      },
    });
    const { text, events } = await testTool(tool, { to: "Rome" }, {
      elicit: { pick: { action: "accept", content: { n: 1 } } },
    });
    assert.equal(text, "paid 5");
    assert.deepEqual(log, ["before Rome", "client", "after picked"]);
    assert.deepEqual(events.map(({ type }) => type), [
      "progress",
      "elicit_request",
      "answer",
      "elicit_request",
      "answer",
      "log",
      "result",
    ]);
  });

  it("gives before and after a context that cannot ask", async () => {
    const seen: McpToolServerContext[] = [];
    const tool = half.handoff({
      *before(_params, ctx) {
        seen.push(ctx);
      },
      *client(_handoff, ctx) {
        assert.equal(typeof ctx.elicit, "function");
      },
      *after(_handoff, _client, ctx) {
        seen.push(ctx);
      },
    });
    await testTool(tool, { to: "Rome" });
    assert.equal(seen.length, 2);
    for (const ctx of seen) {
      for (const ask of ["elicit", "elicitUrl", "sample", "branch"]) assert.ok(!(ask in ctx), ask);
      assert.notEqual(ctx.sessionId, "");
      assert.ok(ctx.client.capabilities);
    }
  });

  it("keeps `this` for the author's object", async () => {
    class Booking {
      readonly airline = "Acme";
      *before() {
        return this.airline;
      }
      *client(airline: string) {
        return `${airline} ${this.airline}`;
      }
      *after(_airline: string, talked: string) {
        return `${talked} ${this.airline}`;
      }
    }
    const { text } = await testTool(half.handoff(new Booking()), { to: "Rome" });
    assert.equal(text, "Acme Acme Acme");
  });

  it("ends if a phase throws", async () => {
    for (const part of ["before", "client", "after"] as const) {
      const log: string[] = [];
      const step = (name: string) =>
        function* () {
          log.push(name);
          if (name === part) throw new Error("x");
        };
      const tool = half.handoff({
        before: step("before"),
        client: step("client"),
        after: step("after"),
      });
      const { faults } = await testTool(tool, { to: "Rome" });
      assert.equal(faults.length, 1);
      assert.equal(log.at(-1), part);
    }
  });

  it("never runs after if client was cancelled, even if its finally waits", function* () {
    const live = yield* useLive();
    for (const waits of [false, true]) {
      const log: string[] = [];
      const session = live.open(
        half.handoff({
          *before() {},
          *client(_handoff, ctx) {
            try {
              yield* ctx.elicit("pick", { message: "?" });
            } finally {
              if (waits) yield* until(Promise.resolve());
              log.push("cleaned up");
            }
          },
          *after() {
            log.push("after");
          },
        }),
        { to: "Rome" },
      );
      yield* session.cancel();
      assert.equal(session.outcome?.status, "cancelled");
      assert.deepEqual(log, ["cleaned up"]);
    }
  });

  it("never runs client if before was cancelled, even if its finally waits", function* () {
    const live = yield* useLive();
    const log: string[] = [];
    const session = live.open(
      half.handoff({
        *before() {
          try {
            yield* until(new Promise(() => {}));
          } finally {
            yield* until(Promise.resolve());
            log.push("cleaned up");
          }
        },
        *client() {
          log.push("client");
        },
        *after() {
          log.push("after");
        },
      }),
      { to: "Rome" },
    );
    yield* session.cancel();
    assert.deepEqual(log, ["cleaned up"]);
  });
});

describe("the timeout of a tool", () => {
  const asking = createMcpTool("asking").description("Asks.")
    .elicits({ q: { response: z.object({ n: z.number() }) } })
    .limits({ timeout: 1_000 });

  it("halts it, waits for its finally, and reports the timeout to the model", function* () {
    const live = yield* useLive();
    const log: string[] = [];
    const session = live.open(asking.execute(function* (_params, ctx) {
      try {
        yield* ctx.elicit("q", { message: "?" });
      } finally {
        log.push("cleaned up");
      }
    }));
    live.clock.advance(999);
    assert.equal(session.outcome, undefined);
    live.clock.advance(1);
    const outcome = yield* outcomeOf(session);
    assert.deepEqual(log, ["cleaned up"]);
    assert.equal(outcome.status, "completed");
    assert.equal((outcome as { result: { isError?: boolean } }).result.isError, true);
    assert.deepEqual(told(session.log.after(0)), ["elicit_request", "withdrawn: halted", "result"]);
  });

  it("has no effect on a tool that ends in time", function* () {
    const live = yield* useLive();
    const session = live.open(asking.execute(function* (_params, ctx) {
      const { action } = yield* ctx.elicit("q", { message: "?" });
      return action;
    }));
    live.clock.advance(999);
    accept(session, "", { n: 1 });
    assert.equal(yield* textOf(session), "accept");
    live.clock.advance(5_000);
    assert.equal(yield* textOf(session), "accept");
  });
});

describe("a body that is not an operation", () => {
  it("is reported to the operator", async () => {
    for (const returned of [undefined, "text", 5, [], Promise.resolve(), {}]) {
      const execute = loosely("t").description("d").execute(() => returned);
      const { faults } = await testTool(execute, {});
      assert.match(String(faults[0]), /^TypeError: Cannot run execute: /);
      const parts = { *before() {}, client: () => returned, *after() {} };
      const handoff = loosely("t").description("d").handoff(parts);
      assert.match(
        String((await testTool(handoff, {})).faults[0]),
        /^TypeError: Cannot run client: /,
      );
    }
  });
});
