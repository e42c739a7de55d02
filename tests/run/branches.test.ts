import assert from "node:assert/strict";
import { all, type Operation } from "effection";
import { z } from "zod";
import {
  createMcpTool,
  type McpMessage,
  type McpToolContext,
  McpToolDepthError,
  type McpToolLimits,
  McpToolTimeoutError,
  McpToolTokenError,
  type SampleResponse,
  testTool,
  type ToolScript,
} from "../../src/mod.ts";
import { describe, it } from "../suite.ts";

type Body = (ctx: McpToolContext) => Operation<unknown>;

function tool(body: Body, limits: McpToolLimits = {}) {
  return createMcpTool("branching").description("Branches.").limits(limits)
    .execute(function* (_params, ctx) {
      return (yield* body(ctx)) as string;
    });
}

async function run(body: Body, script: ToolScript = {}, limits: McpToolLimits = {}) {
  const run = await testTool(tool(body, limits), {}, script as ToolScript<Record<never, never>>);
  assert.deepEqual(run.faults, []);
  return run;
}

const user = (text: string): McpMessage => ({ role: "user", content: [{ type: "text", text }] });
const model = (text: string): McpMessage => ({
  role: "assistant",
  content: [{ type: "text", text }],
});
const said = (messages: readonly McpMessage[]) =>
  messages.map(({ content: [block] }) => block?.type === "text" ? block.text : "").join(" ");

describe("the conversation of a branch", () => {
  it("starts as a copy of its parent's, and then continues separately", async () => {
    await run(function* (ctx) {
      yield* ctx.sample({ prompt: "a" });
      const inside = yield* ctx.branch(function* (branch) {
        assert.equal(said(branch.messages), "a 1");
        yield* branch.sample({ prompt: "b" });
        return said(branch.messages);
      });
      assert.equal(inside, "a 1 b 2");
      assert.equal(said(ctx.messages), "a 1");
      yield* ctx.sample({ prompt: "c" });
      assert.equal(said(ctx.messages), "a 1 c 3");
    }, { sample: ["1", "2", "3"] });
  });

  it("is sent to the model when the branch samples with a prompt", async () => {
    const { events } = await run(function* (ctx) {
      yield* ctx.sample({ prompt: "a" });
      yield* ctx.branch((branch) => branch.sample({ prompt: "b" }));
      yield* ctx.branch((branch) => branch.sample({ prompt: "c" }), { inheritMessages: false });
    }, { sample: ["1", "2", "3"] });
    const asked = events.flatMap((event) =>
      event.type === "sample_request" ? [said(event.params.messages)] : []
    );
    assert.deepEqual(asked, ["a", "a 1 b", "c"]);
  });

  it("is empty, or the given one, if the branch inherits nothing", async () => {
    await run(function* (ctx) {
      yield* ctx.sample({ prompt: "a" });
      const look = function* (branch: McpToolContext) {
        return branch.messages;
      };
      const messages = [user("x"), model("y")];
      assert.deepEqual(yield* ctx.branch(look, { inheritMessages: false }), []);
      assert.deepEqual(yield* ctx.branch(look, { inheritMessages: false, messages }), messages);
      assert.equal(said(yield* ctx.branch(look, { messages })), "a 1 x y");
    }, { sample: "1" });
  });

  it("accepts messages whose content is a string", async () => {
    const { events } = await run(function* (ctx) {
      yield* ctx.branch((branch) => branch.sample({ prompt: "b" }), {
        messages: [{ role: "user", content: "a" }, { role: "assistant", content: "1" }],
      });
    }, { sample: "2" });
    const [request] = events;
    assert.ok(request?.type === "sample_request");
    assert.deepEqual(request.params.messages, [user("a"), model("1"), user("b")]);
  });

  it("includes the parent's messages up to the moment the branch was opened", async () => {
    await run(function* (ctx) {
      assert.deepEqual(ctx.parentMessages, []);
      yield* ctx.sample({ prompt: "a" });
      yield* ctx.branch(function* (branch) {
        yield* ctx.sample({ prompt: "b" });
        assert.equal(said(branch.parentMessages), "a 1");
        assert.equal(said(ctx.messages), "a 1 b 2");
      }, { inheritMessages: false });
    }, { sample: ["1", "2"] });
  });

  it("is separate for branches that run at the same time", async () => {
    const { result } = await run(function* (ctx) {
      const talk = (name: string) =>
        ctx.branch(function* (branch) {
          yield* branch.sample({ prompt: `${name}1` });
          yield* branch.sample({ prompt: `${name}2` });
          return said(branch.messages);
        });
      return (yield* all([talk("a"), talk("b")])).join(", ");
    }, {
      sample: ({ params }) => `(${said(params.messages.slice(-1))})`,
    });
    assert.deepEqual(result.content, [{
      type: "text",
      text: "a1 (a1) a2 (a2), b1 (b1) b2 (b2)",
    }]);
  });
});

describe("the depth of a branch", () => {
  const deeper = (ctx: McpToolContext, levels: number): Operation<number> =>
    levels === 0
      ? (function* () {
        return ctx.depth;
      })()
      : ctx.branch((branch) => deeper(branch, levels - 1));

  it("is one more than its parent's, and equal for siblings", async () => {
    await run(function* (ctx) {
      assert.equal(ctx.depth, 0);
      assert.equal(yield* deeper(ctx, 1), 1);
      assert.equal(yield* deeper(ctx, 1), 1);
      assert.equal(yield* deeper(ctx, 3), 3);
    });
  });

  it("is 10 at most by default", async () => {
    assert.equal((await run((ctx) => deeper(ctx, 10))).text, "10");
    assert.equal((await run((ctx) => deeper(ctx, 11))).result.isError, true);
  });

  it("can be limited by the tool", async () => {
    assert.equal((await run((ctx) => deeper(ctx, 2), {}, { maxDepth: 2 })).text, "2");
    assert.equal((await run((ctx) => deeper(ctx, 3), {}, { maxDepth: 2 })).result.isError, true);
    assert.equal((await run((ctx) => deeper(ctx, 1), {}, { maxDepth: 0 })).result.isError, true);
    assert.equal((await run((ctx) => deeper(ctx, 12), {}, { maxDepth: 12 })).text, "12");
  });

  it("can be limited by a branch, counted from there, within the tool's limit", async () => {
    const inBranch = (levels: number, maxDepth: number): Body =>
      function* (ctx) {
        return yield* ctx.branch((branch) => deeper(branch, levels), { maxDepth });
      };
    assert.equal((await run(inBranch(2, 2))).text, "3");
    assert.equal((await run(inBranch(3, 2))).result.isError, true);
    assert.equal((await run(inBranch(1, 0))).result.isError, true);
    assert.equal((await run(inBranch(2, 5), {}, { maxDepth: 2 })).result.isError, true);
  });

  it("throws an McpToolDepthError that the tool can catch, before anything runs", async () => {
    let ran = false;
    const { text } = await run(
      function* (ctx) {
        try {
          yield* ctx.branch(function* () {
            ran = true;
          });
          return "";
        } catch (error) {
          if (!(error instanceof McpToolDepthError)) throw error;
          return `${error.code} ${error.depth} ${error.maxDepth}`;
        }
      },
      {},
      { maxDepth: 0 },
    );
    assert.equal(text, "PARLEY_DEPTH 1 0");
    assert.equal(ran, false);
  });
});

describe("the tokens of a branch", () => {
  const ten: SampleResponse = {
    role: "assistant",
    content: "x",
    model: "m",
    usage: { outputTokens: 10 },
  };

  /** The maximum cost of each `ask`, until it throws; then which limit was reached. */
  function* spend(ctx: McpToolContext): Operation<string> {
    try {
      for (;;) yield* ctx.sample({ prompt: "?" });
    } catch (error) {
      if (!(error instanceof McpToolTokenError)) throw error;
      return `${error.used} of ${error.maxTokens}`;
    }
  }

  it("can be limited by the branch, and the tool may continue", async () => {
    const { text, events } = await run(function* (ctx) {
      const spent = yield* ctx.branch(spend, { maxTokens: 15 });
      yield* ctx.sample({ prompt: "after" });
      return spent;
    }, { sample: ten });
    assert.equal(text, "20 of 15");
    const asked = events.flatMap((event) =>
      event.type === "sample_request" ? [event.params.maxTokens] : []
    );
    assert.deepEqual(asked, [15, 5, 4096]);
  });

  it("count for its parents too, so that the lowest limit decides", async () => {
    const { text } = await run(
      function* (ctx) {
        const inner = yield* ctx.branch(
          (outer) => outer.branch(spend, { maxTokens: 100 }),
          { maxTokens: 25 },
        );
        return `${inner}; ${yield* spend(ctx)}`;
      },
      { sample: ten },
      { maxTokens: 45 },
    );
    assert.equal(text, "30 of 25; 50 of 45");
  });
});

describe("the timeout of a branch", () => {
  const asking = createMcpTool("asking").description("Asks.")
    .elicits({ q: { response: z.object({ n: z.number() }) } });
  const yes = { action: "accept", content: { n: 1 } } as const;

  it("throws an McpToolTimeoutError that the parent can catch, after the branch has cleaned up", async () => {
    const log: string[] = [];
    const tool = asking.execute(function* (_params, ctx) {
      try {
        yield* ctx.branch(function* (branch) {
          try {
            yield* branch.elicit("q", { message: "?" });
          } finally {
            log.push("cleaned up");
          }
        }, { timeout: 500 });
      } catch (error) {
        if (!(error instanceof McpToolTimeoutError)) throw error;
        log.push(`${error.code} ${error.timeout}`);
      }
      const again = yield* ctx.elicit("q", { message: "Still there?" });
      return again.action;
    });
    const { text, events } = await testTool(tool, {}, { elicit: { q: ["timeout", yes] } });
    assert.equal(text, "accept");
    assert.deepEqual(log, ["cleaned up", "PARLEY_TIMEOUT 500"]);
    assert.deepEqual(events.map(({ type }) => type), [
      "elicit_request",
      "withdrawn",
      "elicit_request",
      "answer",
      "result",
    ]);
  });

  it("is reported to the model if nobody catches it", async () => {
    const { result } = await run(function* (ctx) {
      yield* ctx.branch((branch) => branch.sample({ prompt: "?" }), { timeout: 500 });
    }, { sample: { timeout: true } });
    assert.equal(result.isError, true);
  });

  it("has no effect on a branch that ends in time, and leaves no timer", async () => {
    const tool = asking.execute(function* (_params, ctx) {
      const one = yield* ctx.branch((branch) => branch.elicit("q", { message: "?" }), {
        timeout: 500,
      });
      // If the first timer were still set, it would be the next to fire.
      const two = yield* ctx.elicit("q", { message: "?" }, { timeout: 9_000 });
      return `${one.action} ${two.action}`;
    });
    const { text } = await testTool(tool, {}, { elicit: { q: [yes, "timeout"] } });
    assert.equal(text, "accept timeout");
  });

  it("of an outer branch ends the inner ones", async () => {
    const { text } = await run(function* (ctx) {
      try {
        return yield* ctx.branch(
          (outer) =>
            outer.branch((inner) => inner.sample({ prompt: "?" }), {
              timeout: 10_000,
            }),
          { timeout: 100 },
        );
      } catch (error) {
        if (!(error instanceof McpToolTimeoutError)) throw error;
        return error.timeout;
      }
    }, { sample: { timeout: true } });
    assert.equal(text, "100");
  });

  it("passes through what the branch returns or throws", async () => {
    const { text } = await run(function* (ctx) {
      const value = yield* ctx.branch(function* () {
        return undefined;
      }, { timeout: 100 });
      assert.equal(value, undefined);
      try {
        yield* ctx.branch(function* () {
          throw new Error("mine");
        }, { timeout: 100 });
        return "";
      } catch (error) {
        return (error as Error).message;
      }
    });
    assert.equal(text, "mine");
  });
});

describe("ctx.branch()", () => {
  it("rejects limits that are not numbers of 0 or more", async () => {
    for (const key of ["maxDepth", "maxTokens", "timeout"]) {
      for (const wrong of [NaN, -1, "1", null]) {
        const broken = tool((ctx) => ctx.branch(function* () {}, { [key]: wrong }));
        const { faults } = await testTool(broken, {});
        assert.ok(faults[0] instanceof TypeError, `${key}: ${wrong}`);
      }
    }
  });

  it("may be evaluated more than once, with a new branch each time", async () => {
    const { text, events } = await run(function* (ctx) {
      let runs = 0;
      const operation = ctx.branch(function* (branch) {
        yield* branch.sample({ prompt: "?" });
        return ++runs;
      });
      return [yield* operation, yield* operation].join();
    }, { sample: "x" });
    assert.equal(text, "1,2");
    const places = events.flatMap((event) =>
      event.type === "sample_request" ? [event.place.branch] : []
    );
    assert.deepEqual(places, ["/0", "/1"]);
  });
});
