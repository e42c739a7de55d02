import assert from "node:assert/strict";
import { all } from "effection";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { accept, answerOf, asked, TestClient, textOf } from "../../support/modern/client.ts";
import { serving, type TestServer } from "../../support/modern/server.ts";
import { Gate } from "../../support/gate.ts";
import { echo } from "../../support/tools.ts";
import { idle, until } from "../../support/turn.ts";
import { describe, it } from "../../suite.ts";

const LOG_LEVEL = "io.modelcontextprotocol/logLevel";

const talks = createMcpTool("talks").description("Tells how it goes")
  .execute(function* (_params, ctx) {
    yield* ctx.log("debug", { detail: 1 });
    yield* ctx.notify("half", 1, 2);
    yield* ctx.log("warning", "careful", "brakes");
    yield* ctx.notify("again", 1, 2);
    yield* ctx.notify("nonsense", NaN, Infinity);
    yield* ctx.notify("done", 2, 2);
    return "said";
  });

function works(gate: Gate) {
  return createMcpTool("works").description("Works until it is let go")
    .elicits({ more: { response: z.object({ more: z.boolean() }) } })
    .execute(function* (_params, ctx) {
      yield* gate.pass();
      yield* ctx.notify("worked");
      yield* ctx.log("info", "worked");
      const answer = yield* ctx.elicit("more", { message: "More?" });
      yield* ctx.notify("asked");
      return answer.action;
    });
}

function testing(
  body: (server: TestServer & { client: TestClient; gate: Gate }) => Promise<void>,
): () => Promise<void> {
  return () => {
    const gate = new Gate();
    return serving({ serve: [talks, works(gate), echo] }, async (server) => {
      await body({ ...server, gate, client: new TestClient(server.fetch) });
    });
  };
}

/** The methods of notifications, or the response's text. */
async function story(exchange: { rest(): Promise<unknown[]> }): Promise<string> {
  // deno-lint-ignore no-explicit-any
  const messages = await exchange.rest() as any[];
  return messages.map(({ method, params, result }) => {
    if (method === "notifications/progress") return `${params.progress}/${params.total}`;
    return method === "notifications/message" ? params.level : result.resultType;
  }).join(" ");
}

describe("a call without events", () => {
  it(
    "is answered with plain JSON, at once and within the time to decide",
    testing(async ({ client, gate, clock }) => {
      const quick = await client.start("tools/call", { name: "echo", arguments: { text: "a" } });
      assert.equal(quick.isStream, false);
      assert.equal(await quick.text(), "a");
      const slow = client.start("tools/call", { name: "works" });
      await until(() => gate.waiting === 1);
      clock.advance(99);
      gate.open();
      const exchange = await slow;
      assert.equal(exchange.isStream, false);
      assert.deepEqual(asked(await exchange.result()), ["more"]);
    }),
  );

  it(
    "becomes a stream after 100 ms, which ends with the response",
    testing(async ({ client, gate, clock }) => {
      const slow = client.start("tools/call", { name: "works" });
      await until(() => gate.waiting === 1);
      clock.advance(100);
      const exchange = await slow;
      assert.equal(exchange.isStream, true);
      const { headers } = exchange.response;
      assert.equal(headers.get("x-accel-buffering"), "no");
      assert.match(headers.get("cache-control")!, /no-cache/);
      assert.deepEqual(await exchange.frame(), { comment: "" });
      gate.open();
      assert.equal(await story(exchange), "input_required");
    }),
  );

  it(
    "is answered with plain JSON in a retry too",
    testing(async ({ client, gate }) => {
      gate.open();
      const { requestState } = await client.call("works");
      const inputResponses = { more: accept({ more: true }) };
      const exchange = await client.start("tools/call", {
        name: "works",
        arguments: {},
        requestState,
        inputResponses,
      });
      assert.equal(exchange.isStream, false);
      assert.equal(await exchange.text(), "accept");
    }),
  );
});

describe("progress", () => {
  it(
    "is sent to clients that gave a token, and always grows",
    testing(async ({ client }) => {
      for (const progressToken of ["a", 7, 0, ""]) {
        const exchange = await client.start("tools/call", { name: "talks" }, {
          meta: { progressToken },
        });
        assert.equal(exchange.isStream, true);
        const messages = await exchange.rest();
        const progress = messages.slice(0, -1).map(({ params }) => params);
        assert.deepEqual(progress, [
          { progressToken, progress: 1, total: 2, message: "half" },
          { progressToken, progress: 1.001, total: 2, message: "again" },
          { progressToken, progress: 1.001 + 0.001, message: "nonsense" },
          { progressToken, progress: 2, total: 2, message: "done" },
        ]);
      }
    }),
  );

  it(
    "is not sent without a token, nor for an invalid one",
    testing(async ({ client }) => {
      for (const meta of [{}, { progressToken: 1.5 }, { progressToken: null }]) {
        const exchange = await client.start("tools/call", { name: "talks" }, { meta });
        assert.equal(exchange.isStream, false);
        assert.equal(await exchange.text(), "said");
      }
    }),
  );

  it(
    "is the heartbeat for clients that gave a token; the others get a comment",
    testing(async ({ client, gate, clock }) => {
      const meta = { progressToken: "p" };
      const calls = [{ meta }, {}].map((options) =>
        client.start("tools/call", { name: "works" }, options)
      );
      await until(() => gate.waiting === 2);
      clock.advance(100);
      const [asked, plain] = await Promise.all(calls);
      const seen: string[][] = [[], []];
      const readers = [asked!, plain!].map(async (exchange, i) => {
        for (let frame = await exchange.frame(); frame; frame = await exchange.frame()) {
          const { method, params } = frame.data ? JSON.parse(frame.data) : {};
          seen[i]!.push(frame.comment ?? (params ? `${method} ${params.progress}` : "response"));
        }
      });
      for (let beats = 1; beats <= 6; beats++) {
        await until(() => seen.every(({ length }) => length === beats));
        await idle();
        clock.advance(8_000);
      }
      await until(() => seen.every(({ length }) => length === 7));
      gate.open();
      await Promise.all(readers);
      const beat = "keep-alive";
      const progress = "notifications/progress";
      assert.deepEqual(seen[0], [
        "",
        beat,
        beat,
        `${progress} 0`,
        beat,
        beat,
        `${progress} 0.001`,
        `${progress} 1`,
        "response",
      ]);
      assert.deepEqual(seen[1], ["", beat, beat, beat, beat, beat, beat, "response"]);
    }),
  );
});

describe("log messages", () => {
  it(
    "are sent from the level that the request asks for, and never without one",
    testing(async ({ client }) => {
      const levels: [object, string][] = [
        [{}, "complete"],
        [{ [LOG_LEVEL]: "debug" }, "debug warning complete"],
        [{ [LOG_LEVEL]: "info" }, "warning complete"],
        [{ [LOG_LEVEL]: "error" }, "complete"],
      ];
      for (const [meta, expected] of levels) {
        assert.equal(
          await story(await client.start("tools/call", { name: "talks" }, { meta })),
          expected,
        );
      }
      const exchange = await client.start("tools/call", { name: "talks" }, {
        meta: { [LOG_LEVEL]: "warning" },
      });
      assert.deepEqual((await exchange.message())?.params, {
        level: "warning",
        logger: "brakes",
        data: "careful",
      });
      await exchange.rest();
    }),
  );

  it(
    "and progress keep their order, and nothing follows the result",
    testing(async ({ client }) => {
      const meta = { [LOG_LEVEL]: "debug", progressToken: 1 };
      const exchange = await client.start("tools/call", { name: "talks" }, { meta });
      assert.equal(
        await story(exchange),
        `debug 1/2 warning 1.001/2 ${1.001 + 0.001}/undefined 2/2 complete`,
      );
    }),
  );

  it(
    "of the retry are sent on the retry's own response",
    testing(async ({ client, gate }) => {
      gate.open();
      const meta = { [LOG_LEVEL]: "debug", progressToken: 1 };
      const first = await client.start("tools/call", { name: "works" }, { meta });
      const { result } = await (async () => {
        assert.equal((await first.message())?.method, "notifications/progress");
        assert.equal((await first.message())?.method, "notifications/message");
        return await answerOf(first);
      })();
      const { requestState } = result;
      const inputResponses = { more: accept({ more: true }) };
      const params = { name: "works", arguments: {}, requestState, inputResponses };
      const second = await client.start("tools/call", params, { meta });
      assert.equal(await story(second), "2/undefined complete");
      const again = await client.start("tools/call", params, { meta });
      assert.equal(await story(again), "2/undefined complete", "and on that of a duplicate");
    }),
  );

  it(
    "that came while no request was open are sent to the retry",
    testing(async ({ fetch, parley, clock }) => {
      const gate = new Gate();
      parley.add(
        createMcpTool("busy").description("Asks, and works on")
          .elicits({ more: { response: z.object({ more: z.boolean() }) } })
          .execute(function* (_params, ctx) {
            yield* all([
              ctx.elicit("more", { message: "More?" }),
              (function* () {
                yield* gate.pass();
                yield* ctx.log("info", "meanwhile");
              })(),
            ]);
            return "both";
          }),
      );
      const client = new TestClient(fetch, { meta: { [LOG_LEVEL]: "info" } });
      const first = client.start("tools/call", { name: "busy" });
      await until(() => gate.waiting === 1);
      clock.advance(20);
      const { requestState } = await (await first).result();
      gate.open();
      await idle();
      const inputResponses = { more: accept({ more: true }) };
      const retry = await client.start("tools/call", {
        name: "busy",
        arguments: {},
        requestState,
        inputResponses,
      });
      const messages = await retry.rest();
      assert.deepEqual(messages[0]?.params, { level: "info", data: "meanwhile" });
      assert.equal(textOf(messages.at(-1)!.result), "both");
    }),
  );
});
