import assert from "node:assert/strict";
import { all, until } from "effection";
import { z } from "zod";
import { createManualClock, createMcpTool, ProtocolError, testTool } from "../../src/mod.ts";
import { describe, it } from "../suite.ts";

const asking = createMcpTool("asking").description("Asks for numbers until it is told to stop.")
  .elicits({
    number: { response: z.object({ n: z.number() }) },
    other: { response: z.object({ s: z.string() }) },
  });

/** Adds up the person's numbers, until they decline. */
const summing = asking.execute(function* (_params, ctx) {
  let sum = 0;
  for (;;) {
    const answer = yield* ctx.elicit("number", { message: `${sum} so far; more?` });
    if (answer.action !== "accept") return sum;
    sum += answer.content.n;
  }
});

const chatting = createMcpTool("chatting").description("Asks the model twice.")
  .execute(function* (_params, ctx) {
    const one = yield* ctx.sample({ prompt: "one" });
    const two = yield* ctx.sample({ prompt: "two" });
    return `${one.text} ${two.text}`;
  });

const say = (n: number) => ({ action: "accept", content: { n } }) as const;

describe("testTool() answers", () => {
  it("from a list, one after the other", async () => {
    const run = await testTool(summing, {}, { elicit: { number: [say(1), say(2), "decline"] } });
    assert.equal(run.text, "3");
    assert.equal((await testTool(chatting, {}, { sample: ["a", "b"] })).text, "a b");
  });

  it("with the same answer every time", async () => {
    assert.equal((await testTool(summing, {}, { elicit: { number: "cancel" } })).text, "0");
    assert.equal((await testTool(chatting, {}, { sample: "a" })).text, "a a");
  });

  it("with what a function computes from the question", async () => {
    const run = await testTool(summing, {}, {
      elicit: {
        number: ({ params }, nth) => params.message.startsWith("3") ? "decline" : say(nth + 1),
      },
    });
    assert.equal(run.text, "3");
    const echo = await testTool(chatting, {}, {
      sample: ({ params }, nth) => `${nth}:${params.messages.length}`,
    });
    assert.equal(echo.text, "0:1 1:3");
  });

  it("with what a promise resolves to", async () => {
    const run = await testTool(summing, {}, {
      elicit: { number: (_, nth) => Promise.resolve(nth < 2 ? say(5) : "decline") },
    });
    assert.equal(run.text, "10");
  });

  it("with a separate list for each key", async () => {
    const tool = asking.execute(function* (_params, ctx) {
      const seen = [];
      for (const key of ["number", "other", "number", "other"] as const) {
        const answer = yield* ctx.elicit(key, { message: key });
        seen.push(answer.action === "accept" ? Object.values(answer.content)[0] : answer.action);
      }
      return seen.join();
    });
    const run = await testTool(tool, {}, {
      elicit: {
        number: [say(1), say(2)],
        other: ["decline", { action: "accept", content: { s: "b" } }],
      },
    });
    assert.equal(run.text, "1,decline,2,b");
  });

  it('with the text "timeout" from a model', async () => {
    assert.equal((await testTool(chatting, {}, { sample: "timeout" })).text, "timeout timeout");
  });

  it("for the client's roots", async () => {
    const tool = createMcpTool("roots").description("d").execute(function* (_params, ctx) {
      return (yield* ctx.roots()).map(({ uri }) => uri).join();
    });
    const roots = [{ uri: "file:///a" }, { uri: "file:///b", name: "b" }];
    assert.equal((await testTool(tool, {}, { roots })).text, "file:///a,file:///b");
    await assert.rejects(testTool(tool, {}), /roots/);
  });
});

describe("testTool() without an answer", () => {
  it("rejects, and names the question", async () => {
    await assert.rejects(testTool(summing, {}), /"number"/);
    await assert.rejects(testTool(chatting, {}), /sample/);
    await assert.rejects(
      testTool(summing, {}, { elicit: { number: [say(1)] } }),
      /answer number 2/,
    );
    const url = createMcpTool("t").description("d").execute(function* (_params, ctx) {
      yield* ctx.elicitUrl({ message: "Go?", url: "https://example.com" });
    });
    await assert.rejects(testTool(url, {}), /elicitUrl/);
  });

  it("rejects with what a computed answer throws", async () => {
    const elicit = {
      number: () => {
        throw new Error("mine");
      },
    };
    await assert.rejects(testTool(summing, {}, { elicit }), /mine/);
  });

  it("halts the tool, which cleans up", async () => {
    let cleaned = false;
    const tool = asking.execute(function* (_params, ctx) {
      try {
        yield* ctx.elicit("number", { message: "?" });
      } finally {
        yield* until(Promise.resolve());
        cleaned = true;
      }
    });
    await assert.rejects(testTool(tool, {}));
    assert.ok(cleaned);
  });
});

describe("testTool() with a timeout", () => {
  it("advances the clock to the question's timeout", async () => {
    const clock = createManualClock();
    const start = clock.now();
    const tool = asking.execute(function* (_params, ctx) {
      const answer = yield* ctx.elicit("number", { message: "?" }, { timeout: 7_000 });
      return answer.action;
    });
    const run = await testTool(tool, {}, { elicit: { number: "timeout" }, clock });
    assert.equal(run.text, "timeout");
    assert.equal(clock.now() - start, 7_000);
    assert.deepEqual(run.conversation.map(({ answered }) => answered), ["timeout"]);
  });

  it("or to any other deadline that ends the wait", async () => {
    const tool = createMcpTool("t").description("d").limits({ timeout: 5_000 })
      .execute((_params, ctx) => ctx.sample({ prompt: "?" }));
    const { result } = await testTool(tool, {}, { sample: { timeout: true } });
    assert.equal(result.isError, true);
  });

  it("rejects if there is no deadline", async () => {
    await assert.rejects(testTool(summing, {}, { elicit: { number: "timeout" } }), /"number"/);
    await assert.rejects(testTool(chatting, {}, { sample: { timeout: true } }), /"sample"/);
  });

  it("gives all other answers first, whatever is due before", async () => {
    const tool = asking.execute(function* (_params, ctx) {
      const [one, two] = yield* all([
        ctx.elicit("number", { message: "?" }, { timeout: 60_000 }),
        ctx.elicit("other", { message: "?" }, { timeout: 1_000 }),
      ]);
      return `${one.action} ${two.action}`;
    });
    const { text } = await testTool(tool, {}, {
      elicit: { number: "timeout", other: { action: "accept", content: { s: "" } } },
    });
    assert.equal(text, "timeout accept");
  });
});

describe("the report of testTool()", () => {
  it("has the result as blocks, text and data", async () => {
    const tool = createMcpTool("t").description("d").output(z.object({ n: z.number() }))
      .execute(function* () {
        return {
          content: [
            { type: "text" as const, text: "a" },
            { type: "image" as const, data: "AA==", mimeType: "image/png" },
            { type: "text" as const, text: "b" },
          ],
          structuredContent: { n: 1 },
        };
      });
    const { result, text, structured, outcome } = await testTool(tool, {});
    assert.equal(result.content.length, 3);
    assert.equal(text, "ab");
    assert.deepEqual(structured, { n: 1 });
    assert.deepEqual(outcome, { status: "completed", result });
  });

  it("has the conversation, with questions and answers", async () => {
    const { conversation } = await testTool(summing, {}, {
      elicit: { number: [say(4), "decline"] },
    });
    assert.deepEqual(conversation, [
      { kind: "elicit", key: "number", asked: "0 so far; more?", answered: say(4) },
      { kind: "elicit", key: "number", asked: "4 so far; more?", answered: { action: "decline" } },
    ]);
    const chat = await testTool(chatting, {}, { sample: ["a", "b"] });
    assert.deepEqual(
      chat.conversation.map(({ kind, asked }) => `${kind} ${asked}`),
      ["sample one", "sample two"],
    );
  });

  it("has every event, however many, numbered from 1", async () => {
    const tool = createMcpTool("t").description("d").execute(function* (_params, ctx) {
      for (let i = 0; i < 5_000; i++) yield* ctx.notify("on we go");
    });
    const { events } = await testTool(tool, {});
    assert.equal(events.length, 5_001);
    assert.ok(events.every(({ lsn }, index) => lsn === index + 1));
  });

  it("has the listed answers that were not used", async () => {
    const run = await testTool(summing, {}, {
      elicit: { number: ["decline", say(1), say(2)], other: ["cancel"] },
      elicitUrl: ["accept"],
      sample: "always",
    });
    assert.deepEqual(run.leftover, [
      "elicit.number[1]",
      "elicit.number[2]",
      "elicit.other[0]",
      "elicitUrl[0]",
    ]);
    const all = await testTool(chatting, {}, { sample: ["a", "b"] });
    assert.deepEqual(all.leftover, []);
  });

  it("warns once for each tool if the text says more than the data", async () => {
    const seat = z.object({ seat: z.enum(["window", "aisle"]) });
    const tool = createMcpTool("seats").description("d").parameters(seat)
      .output(z.object({ status: z.string(), seat: z.string().optional() }))
      .execute(function* ({ seat }) {
        const structuredContent = { status: "booked", ...(seat === "aisle" && { seat }) };
        return {
          content: [{ type: "text" as const, text: `Booked the ${seat} seat.` }],
          structuredContent,
        };
      });
    const told: unknown[] = [];
    const { warn } = console;
    console.warn = (...args: unknown[]) => void told.push(...args);
    try {
      assert.deepEqual((await testTool(tool, { seat: "aisle" })).warnings, []);
      for (let i = 0; i < 2; i++) {
        const { warnings } = await testTool(tool, { seat: "window" });
        assert.equal(warnings.length, 1);
        assert.match(
          warnings[0]!,
          /tool "seats" says "window", "seat", which its structuredContent/,
        );
      }
      assert.deepEqual(
        (await testTool(summing, {}, { elicit: { number: "decline" } })).warnings,
        [],
      );
    } finally {
      console.warn = warn;
    }
    assert.equal(told.length, 1);
  });

  it("has the tool's error, and reading its result throws that", async () => {
    const mistake = new RangeError("a mistake");
    const tool = createMcpTool("t").description("d").execute(function* () {
      throw mistake;
    });
    const run = await testTool(tool, {});
    assert.deepEqual(run.faults, [mistake]);
    assert.equal(run.outcome.status, "completed");
    for (const read of [() => run.result, () => run.text, () => run.structured]) {
      assert.throws(read, (error: Error) => error.cause === mistake);
    }
  });

  it("has no result if the call ended without one", async () => {
    const tool = createMcpTool("t").description("d").execute(function* () {
      throw new ProtocolError(-1, "no");
    });
    const run = await testTool(tool, {});
    assert.throws(() => run.result);
    assert.deepEqual(run.outcome, { status: "failed", error: { code: -1, message: "no" } });
    assert.deepEqual(run.events.map(({ type }) => type), ["error"]);
  });
});

describe("testTool()", () => {
  it("plays a client with all capabilities by default", async () => {
    const tool = createMcpTool("t").description("d").execute(function* (_params, ctx) {
      return ctx.client.capabilities;
    });
    const able = JSON.parse((await testTool(tool, {})).text);
    for (const capability of ["elicitation", "sampling", "roots"]) assert.ok(able[capability]);
    const unable = await testTool(tool, {}, { client: { capabilities: {} } });
    assert.equal(unable.text, "{}");
  });

  it("leaves no timer behind", async () => {
    const clock = createManualClock();
    await testTool(summing, {}, { elicit: { number: "decline" }, clock });
    assert.equal(clock.timers, 0);
  });
});
