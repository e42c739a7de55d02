import assert from "node:assert/strict";
import { all, type Operation, race } from "effection";
import { createMcpTool, type FinalizedMcpTool, type McpToolContextWithElicits } from "parley-mcp";
import { z } from "zod";
import type { Exchange } from "../../support/exchange.ts";
import { accept, asked, said, TestClient, textOf } from "../../support/modern/client.ts";
import { serving, type TestServer } from "../../support/modern/server.ts";
import { Gate } from "../../support/gate.ts";
import { idle, until } from "../../support/turn.ts";
import { describe, it } from "../../suite.ts";

const form = { response: z.object({ n: z.number() }) };
const forms = { a: form, b: form, c: form };
type Context = McpToolContextWithElicits<typeof forms>;

function tool(body: (ctx: Context) => Operation<string>): FinalizedMcpTool {
  return createMcpTool("t").description("A tool under test").elicits(forms)
    .execute(function* (_params, ctx) {
      return yield* body(ctx);
    });
}

function* number(ctx: Context, key: "a" | "b" | "c"): Operation<number> {
  const answer = yield* ctx.elicit(key, { message: `${key}?` });
  return answer.action === "accept" ? answer.content.n : NaN;
}

interface Kit extends TestServer {
  readonly client: TestClient;
  /** Starts the call, or continues it, and lets the quiet window pass. */
  round(more?: { readonly [key: string]: unknown }): Promise<Exchange>;
}

function testing(
  served: FinalizedMcpTool,
  body: (kit: Kit) => Promise<void>,
): () => Promise<void> {
  return () =>
    serving({ serve: [served] }, async (server) => {
      const client = new TestClient(server.fetch);
      await body({
        ...server,
        client,
        async round(more = {}) {
          const call = client.start("tools/call", { name: "t", arguments: {}, ...more });
          await idle();
          server.clock.advance(20);
          return await call;
        },
      });
    });
}

const keys = ["a", "b", "a"] as const;
const ways: Record<string, (ctx: Context) => Operation<number[]>> = {
  "parts of a tool": (ctx) => all(keys.map((key) => number(ctx, key))),
  "branches": (ctx) => ctx.branches(keys.map((key) => (inner: Context) => number(inner, key))),
};

for (const [name, numbers] of Object.entries(ways)) {
  describe(`${name} that ask at the same time`, () => {
    const sum = tool(function* (ctx: Context) {
      return `sum ${(yield* numbers(ctx)).reduce((x, y) => x + y)}`;
    });

    it(
      "ask in one round, after a quiet window of 20 ms",
      testing(sum, async ({ client, clock }) => {
        const call = client.start("tools/call", { name: "t" });
        let over = false;
        call.then(() => over = true);
        await idle();
        clock.advance(19);
        await idle();
        assert.equal(over, false);
        clock.advance(1);
        const exchange = await call;
        assert.equal(exchange.isStream, false);
        assert.deepEqual(asked(await exchange.result()), ["a", "b", "a_2"]);
      }),
    );

    it(
      "continue together with the answers of one retry",
      testing(sum, async ({ round }) => {
        const { requestState } = await (await round()).result();
        const inputResponses = { a: accept({ n: 1 }), b: accept({ n: 2 }), a_2: accept({ n: 3 }) };
        assert.equal(await (await round({ requestState, inputResponses })).text(), "sum 6");
      }),
    );

    it(
      "ask again only for the answers that are missing",
      testing(sum, async ({ round }) => {
        const first = await (await round()).result();
        const second = await (await round({
          requestState: first.requestState,
          inputResponses: { b: accept({ n: 2 }) },
        })).result();
        assert.deepEqual(asked(second), ["a", "a_2"]);
        const third = await (await round({
          requestState: first.requestState,
          inputResponses: { a_2: accept({ n: 3 }), a: accept({ n: "one" }) },
        })).result();
        assert.deepEqual(asked(third), ["a_3"]);
        const inputResponses = { a_3: accept({ n: 1 }) };
        const done = await round({ requestState: first.requestState, inputResponses });
        assert.equal(await done.text(), "sum 6");
      }),
    );
  });
}

describe("a run that starts several branches", () => {
  it("is waited for, also by requests that watched it before", async () => {
    const gate = new Gate();
    const served = tool(function* (ctx: Context) {
      yield* gate.pass();
      const [a, b] = yield* all([number(ctx, "a"), number(ctx, "b")]);
      return `${a + b}`;
    });
    await testing(served, async ({ client, clock }) => {
      const call = client.start("tools/call", { name: "t" });
      await until(() => gate.waiting === 1);
      clock.advance(100);
      const exchange = await call;
      // The reader waits already, and would get the first question at once.
      const result = exchange.result();
      await idle();
      gate.open();
      await idle();
      clock.advance(20);
      assert.deepEqual(asked(await result), ["a", "b"]);
    })();
  });
});

describe("a branch that asks later", () => {
  const gate = new Gate();
  const late = tool(function* (ctx: Context) {
    const numbers = yield* all([
      number(ctx, "a"),
      (function* (): Operation<number> {
        yield* gate.pass();
        return yield* number(ctx, "b");
      })(),
    ]);
    return `sum ${numbers[0] + numbers[1]}`;
  });

  it(
    "does not delay the others, and joins the next round",
    testing(late, async ({ round }) => {
      const first = await (await round()).result();
      assert.deepEqual(asked(first), ["a"]);
      gate.open();
      await idle();
      const second = await (await round({ requestState: first.requestState })).result();
      assert.deepEqual(asked(second), ["a", "b"]);
      const inputResponses = { a: accept({ n: 1 }), b: accept({ n: 2 }) };
      const done = await round({ requestState: first.requestState, inputResponses });
      assert.equal(await done.text(), "sum 3");
    }),
  );

  it("is waited for while it runs and nothing is asked", async () => {
    const working = new Gate();
    const served = tool(function* (ctx: Context) {
      const [a] = yield* all([number(ctx, "a"), working.pass()]);
      return `a ${a}`;
    });
    await testing(served, async ({ client, round, clock }) => {
      const { requestState } = await (await round()).result();
      const inputResponses = { a: accept({ n: 1 }) };
      const call = client.start("tools/call", {
        name: "t",
        arguments: {},
        requestState,
        inputResponses,
      });
      await idle();
      clock.advance(99);
      working.open();
      assert.equal(await (await call).text(), "a 1");
    })();
  });
});

describe("race()", () => {
  const first = tool(function* (ctx: Context) {
    const winner = yield* race([number(ctx, "a"), number(ctx, "b")]);
    const last = yield* number(ctx, "c");
    return `${winner} ${last}`;
  });

  it(
    "withdraws the other question when one is answered",
    testing(first, async ({ round }) => {
      const one = await (await round()).result();
      assert.deepEqual(asked(one), ["a", "b"]);
      const { requestState } = one;
      const two = await (await round({ requestState, inputResponses: { b: accept({ n: 2 }) } }))
        .result();
      assert.deepEqual(asked(two), ["c"]);
      const late = await round({ requestState, inputResponses: { a: accept({ n: 9 }) } });
      assert.deepEqual(asked(await late.result()), ["c"], "an answer too late is ignored");
      const done = await round({ requestState, inputResponses: { c: accept({ n: 3 }) } });
      assert.equal(await done.text(), "2 3");
    }),
  );

  it(
    "is won by the first answer of a retry that answers both",
    testing(first, async ({ round }) => {
      const { requestState } = await (await round()).result();
      const inputResponses = { a: accept({ n: 1 }), b: accept({ n: 2 }), c: accept({ n: 3 }) };
      const two = await (await round({ requestState, inputResponses })).result();
      assert.deepEqual(asked(two), ["c"], "what was not asked yet is not answered yet");
      const done = await round({ requestState: two.requestState, inputResponses });
      assert.equal(await done.text(), "1 3");
    }),
  );
});

describe("a question with a timeout", () => {
  it("that expires while no request is open lets the run continue", async () => {
    const served = createMcpTool("t").description("Waits a minute").elicits(forms)
      .execute(function* (_params, ctx) {
        const answer = yield* ctx.elicit("a", { message: "a?" }, { timeout: 60_000 });
        const { text } = yield* ctx.sample({ prompt: "Well?" });
        return `${answer.action} ${text}`;
      });
    await testing(served, async ({ client, clock }) => {
      const { requestState } = await client.call("t");
      clock.advance(60_000);
      const inputResponses = { a: accept({ n: 1 }) };
      const next = await client.call("t", {}, { requestState, inputResponses });
      assert.deepEqual(asked(next), ["sample"]);
      const last = { requestState, inputResponses: { sample: said("Well.") } };
      assert.equal(textOf(await client.call("t", {}, last)), "timeout Well.");
    })();
  });
});
