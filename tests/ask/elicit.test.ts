import assert from "node:assert/strict";
import { z } from "zod";
import {
  CapabilityError,
  type ClientCapabilities,
  createManualClock,
  createMcpTool,
  ElicitationError,
  type ElicitRequest,
  testTool,
  type ToolResult,
} from "../../src/mod.ts";
import { describe, it } from "../suite.ts";

const asking = createMcpTool("asking").description("Asks for a number.")
  .elicits({ number: { response: z.object({ n: z.int().min(1).max(9) }) } });

/** Asks once, without a timeout, and returns what the person did. */
const plain = asking.execute(function* (_params, ctx) {
  const answer = yield* ctx.elicit("number", { message: "A number?" });
  return answer.action === "accept" ? `accept ${answer.content.n}` : answer.action;
});

/** The same, with a timeout of one minute. */
const timed = asking.execute(function* (_params, ctx) {
  const answer = yield* ctx.elicit("number", { message: "A number?" }, { timeout: 60_000 });
  return answer.action === "accept" ? `accept ${answer.content.n}` : answer.action;
});

const five = { action: "accept", content: { n: 5 } } as const;
const wrong = { action: "accept", content: { n: 50 } } as const;
const garbage = (answer: unknown) => answer as typeof five;

function client(capabilities: ClientCapabilities, name?: string) {
  return { capabilities, ...(name !== undefined && { name }) };
}

/** The text that the caller gets, whether or not the tool broke. */
function resultOf({ outcome }: { outcome: unknown }): ToolResult {
  return (outcome as { result: ToolResult }).result;
}

describe("ctx.elicit()", () => {
  it("returns what the person did", async () => {
    assert.equal((await testTool(plain, {}, { elicit: { number: five } })).text, "accept 5");
    for (const action of ["decline", "cancel"] as const) {
      assert.equal((await testTool(plain, {}, { elicit: { number: action } })).text, action);
    }
  });

  it("sends the message and the form, and nothing else", async () => {
    const { events } = await testTool(plain, {}, { elicit: { number: five } });
    const request = events[0] as ElicitRequest;
    assert.equal(request.type, "elicit_request");
    assert.equal(request.name, "number");
    assert.deepEqual(request.place, { branch: "", kind: "elicit", key: "number", count: 0 });
    assert.deepEqual(request.params, {
      mode: "form",
      message: "A number?",
      requestedSchema: plain.elicits.get("number")!.response.json,
    });
    assert.equal(request.sensitive, undefined);
    assert.deepEqual(events.map(({ type }) => type), ["elicit_request", "answer", "result"]);
  });

  it("returns its own outcome when nobody answers in time", async () => {
    const clock = createManualClock();
    const start = clock.now();
    const run = await testTool(timed, {}, { elicit: { number: "timeout" }, clock });
    assert.equal(run.text, "timeout");
    assert.equal(clock.now() - start, 60_000);
    assert.deepEqual(
      run.events.map((event) => event.type === "withdrawn" ? event.reason : event.type),
      ["elicit_request", "timeout", "result"],
    );
  });

  it("leaves no timer behind when the answer comes in time", async () => {
    const clock = createManualClock();
    await testTool(timed, {}, {
      elicit: {
        number: () => {
          clock.advance(59_999);
          return five;
        },
      },
      clock,
    });
    assert.equal(clock.timers, 0);
  });

  it("refuses a timeout that is not a number of 0 or more", async () => {
    for (const timeout of [NaN, -1, "60", null]) {
      const tool = asking.execute(function* (_params, ctx) {
        const options = { timeout: timeout as number };
        yield* ctx.elicit("number", { message: "?" }, options);
      });
      const { faults, conversation } = await testTool(tool, {});
      assert.ok(faults[0] instanceof TypeError);
      assert.equal(conversation.length, 0);
    }
  });

  it("returns the answer as the schema parses it", async () => {
    const tool = createMcpTool("t").description("d")
      .elicits({ day: { response: z.object({ day: z.iso.date().transform((d) => new Date(d)) }) } })
      .execute(function* (_params, ctx) {
        const answer = yield* ctx.elicit("day", { message: "Which?" });
        return answer.action === "accept" ? answer.content.day.getUTCDate() : 0;
      });
    const elicit = { day: { action: "accept", content: { day: "2026-05-17" } } } as const;
    assert.equal((await testTool(tool, {}, { elicit })).text, "17");
  });
});

describe("ctx.elicit(), given an answer that does not fit the form,", () => {
  it("asks again with the reason, and the tool never sees the answer", async () => {
    const { text, conversation, events } = await testTool(plain, {}, {
      elicit: { number: [wrong, garbage({ action: "accept", content: { m: 1 } }), five] },
    });
    assert.equal(text, "accept 5");
    assert.equal(conversation.length, 3);
    assert.equal(conversation[0]!.asked, "A number?");
    for (const { asked } of conversation.slice(1)) {
      assert.ok(asked.startsWith("A number?\n") && asked.includes('"n"'), asked);
    }
    assert.notEqual(conversation[1]!.asked, conversation[2]!.asked, "only the last reason is told");
    const ids = events.flatMap((event) => event.type === "elicit_request" ? [event.id] : []);
    assert.equal(new Set(ids).size, 3);
  });

  it("asks again at most three times", async () => {
    const { result, conversation, faults } = await testTool(plain, {}, {
      elicit: { number: wrong },
    });
    assert.equal(conversation.length, 4);
    assert.equal(result.isError, true);
    assert.deepEqual(faults, []);
  });

  it("throws an ElicitationError that the tool can catch", async () => {
    const tool = asking.execute(function* (_params, ctx) {
      try {
        yield* ctx.elicit("number", { message: "?" });
        return "";
      } catch (error) {
        assert.ok(error instanceof ElicitationError);
        return `${error.code} ${error.key}`;
      }
    });
    const { text } = await testTool(tool, {}, { elicit: { number: wrong } });
    assert.equal(text, "PARLEY_ELICITATION number");
  });

  it("accepts a decline or a timeout afterwards", async () => {
    for (const then of ["decline", "cancel", "timeout"] as const) {
      const { text } = await testTool(timed, {}, { elicit: { number: [wrong, wrong, then] } });
      assert.equal(text, then);
    }
  });

  it("has one timeout for all attempts together", async () => {
    const clock = createManualClock();
    const start = clock.now();
    const { text, conversation } = await testTool(timed, {}, {
      elicit: {
        number: (_request, nth) => {
          if (nth === 2) return "timeout";
          clock.advance(25_000);
          return wrong;
        },
      },
      clock,
    });
    assert.equal(text, "timeout");
    assert.equal(conversation.length, 3);
    assert.equal(clock.now() - start, 60_000);
  });

  it("asks again if the action is not accept, decline or cancel", async () => {
    for (const answer of [{}, { action: "maybe" }, { content: { n: 5 } }, "yes", 7, null, [five]]) {
      const { result, conversation, faults } = await testTool(plain, {}, {
        elicit: { number: () => garbage(answer) },
      });
      assert.deepEqual([result.isError, conversation.length, faults.length], [true, 4, 0]);
    }
  });

  it("asks again for malformed content of any shape", async () => {
    for (const content of [null, "5", 5, [5], { n: { n: 5 } }, { n: "5" }]) {
      const { result, conversation } = await testTool(plain, {}, {
        elicit: { number: garbage({ action: "accept", content }) },
      });
      assert.deepEqual([result.isError, conversation.length], [true, 4]);
    }
  });

  it("does not ask again if the schema itself is broken", async () => {
    const tool = createMcpTool("t").description("d").elicits({
      q: {
        response: z.object({
          n: z.number().refine(() => {
            throw new Error("a mistake of the author");
          }),
        }),
      },
    }).execute(function* (_params, ctx) {
      yield* ctx.elicit("q", { message: "?" });
    });
    const { faults, conversation } = await testTool(tool, {}, {
      elicit: { q: { action: "accept", content: { n: 1 } } },
    });
    assert.equal(conversation.length, 1);
    assert.match(String(faults[0]), /mistake of the author/);
  });
});

describe("ctx.elicit(), given an accept of {} where fields are required,", () => {
  const blank = { action: "accept", content: {} } as const;

  it("does not ask again: it assumes that the client shows no forms", async () => {
    const { result, conversation, faults } = await testTool(plain, {}, {
      client: client({ elicitation: {} }, "Acme Chat"),
      elicit: { number: garbage(blank) },
    });
    assert.equal(conversation.length, 1);
    assert.equal(result.isError, true);
    assert.match(JSON.stringify(result), /Acme Chat accepted the form without showing it; use a/);
    assert.deepEqual(faults, []);
  });

  it("treats an accept without any content like {}", async () => {
    const { result, conversation } = await testTool(plain, {}, {
      client: client({ elicitation: {} }, "Acme Chat"),
      elicit: { number: garbage({ action: "accept" }) },
    });
    assert.equal(conversation.length, 1);
    assert.match(JSON.stringify(result), /Acme Chat accepted the form without showing it/);
  });

  it("throws a CapabilityError with its own reason, so that a tool can continue without forms", async () => {
    const tool = asking.execute(function* (_params, ctx) {
      try {
        yield* ctx.elicit("number", { message: "?" });
        return "asked";
      } catch (error) {
        if (!(error instanceof CapabilityError)) throw error;
        return `${error.capability} ${error.reason}`;
      }
    });
    const shown = await testTool(tool, {}, { elicit: { number: garbage(blank) } });
    assert.equal(shown.text, "elicitation not_shown");
    const undeclared = await testTool(tool, {}, { client: client({}) });
    assert.equal(undeclared.text, "elicitation undeclared");
  });

  it("accepts {} like any other answer if no field is required", async () => {
    const tool = createMcpTool("t").description("d")
      .elicits({ note: { response: z.object({ note: z.string().optional() }) } })
      .execute(function* (_params, ctx) {
        const answer = yield* ctx.elicit("note", { message: "?" });
        return answer.action === "accept" ? JSON.stringify(answer.content) : answer.action;
      });
    assert.equal((await testTool(tool, {}, { elicit: { note: blank } })).text, "{}");
  });
});

describe("ctx.elicit() with a client that fails to ask", () => {
  it("throws an ElicitationError with the client's message", async () => {
    const { result, conversation, faults } = await testTool(plain, {}, {
      elicit: { number: { error: { code: -32603, message: "no window" } } },
    });
    assert.equal(result.isError, true);
    assert.equal(conversation.length, 1);
    assert.match(JSON.stringify(result), /no window/);
    assert.deepEqual(faults, []);
  });
});

describe("ctx.elicit() with a client that cannot ask", () => {
  const forms: [ClientCapabilities, boolean][] = [
    [{}, false],
    [{ sampling: {} }, false],
    [{ elicitation: {} }, true],
    [{ elicitation: { form: {} } }, true],
    [{ elicitation: { form: {}, url: {} } }, true],
    [{ elicitation: { url: {} } }, false],
  ];

  it("throws unless the client declares forms; elicitation without modes means forms", async () => {
    for (const [capabilities, able] of forms) {
      const { result, conversation } = await testTool(plain, {}, {
        client: client(capabilities),
        elicit: { number: five },
      });
      assert.equal(result.isError ?? false, !able, JSON.stringify(capabilities));
      assert.equal(conversation.length, able ? 1 : 0, "nothing is sent to one that cannot");
    }
  });

  it("tells the tool first, which may do something else", async () => {
    const tool = asking.execute(function* (_params, ctx) {
      try {
        yield* ctx.elicit("number", { message: "?" });
        return "asked";
      } catch (error) {
        if (!(error instanceof CapabilityError)) throw error;
        return `${error.code} ${error.capability} ${error.clientName}`;
      }
    });
    const { text } = await testTool(tool, {}, { client: client({}, "Acme Chat") });
    assert.equal(text, "PARLEY_CAPABILITY elicitation Acme Chat");
  });

  it("names the client to the model as the client introduced itself", async () => {
    const named = await testTool(plain, {}, { client: client({}, "Acme Chat") });
    assert.equal(named.result.isError, true);
    assert.match(JSON.stringify(resultOf(named)), /Acme Chat/);
    const nameless = await testTool(plain, {}, { client: client({}) });
    assert.match(JSON.stringify(resultOf(nameless)), /this client/);
  });
});

describe("ctx.elicit() in code without types", () => {
  const context = z.object({ seats: z.number() });
  const half = createMcpTool("t").description("d").elicits({
    bare: { response: z.object({ ok: z.boolean() }) },
    rich: { response: z.object({ ok: z.boolean() }), context },
  });

  /** The error that `ctx.elicit` throws for these arguments. */
  async function thrownBy(key: string, ask: unknown, options?: object): Promise<unknown> {
    const tool = half.execute(function* (_params, ctx) {
      yield* ctx.elicit(key as "bare", ask as { message: string }, options as { timeout: 1 });
    });
    const { faults, conversation } = await testTool(tool, {});
    assert.equal(conversation.length, 0, "nothing is asked");
    return faults[0];
  }

  it("rejects a key that the tool does not declare", async () => {
    for (const key of ["other", "", "__proto__", "constructor"]) {
      assert.ok(await thrownBy(key, { message: "?" }) instanceof TypeError, key);
    }
  });

  it("rejects a missing message", async () => {
    for (const ask of [undefined, null, {}, { message: "" }, { message: 5 }, "Sure?"]) {
      const thrown = await thrownBy("bare", ask);
      assert.ok(thrown instanceof TypeError, JSON.stringify(ask));
      assert.match(thrown.message, /^Cannot elicit "bare"/);
    }
  });

  it("rejects URL mode in a form question", async () => {
    const url = { mode: "url", url: "https://a.example/" };
    for (const [key, more] of [["bare", {}], ["rich", { seats: 2 }]] as const) {
      const thrown = await thrownBy(key, { message: "?", ...more, ...url });
      assert.ok(thrown instanceof TypeError);
      assert.match(thrown.message, /^Cannot elicit ".*" with mode "url": .*ctx\.elicitUrl/);
      const inOptions = await thrownBy(key, { message: "?", ...more }, { mode: "url" });
      assert.match(String(inOptions), /with mode "url"/);
    }
  });

  it("accepts a context field that is called mode", async () => {
    const tool = createMcpTool("t").description("d").elicits({
      pick: {
        response: z.object({ ok: z.boolean() }),
        context: z.object({ mode: z.string() }),
      },
    }).execute(function* (_params, ctx) {
      return (yield* ctx.elicit("pick", { message: "?", mode: "url" })).action;
    });
    assert.equal((await testTool(tool, {}, { elicit: { pick: "decline" } })).text, "decline");
  });

  it("rejects a context that is missing, wrong or not declared", async () => {
    for (const wrong of [{}, { seats: "2" }]) {
      assert.ok(await thrownBy("rich", { message: "?", ...wrong }) instanceof TypeError);
    }
    assert.ok(await thrownBy("bare", { message: "?", seats: 2 }) instanceof TypeError);
  });
});
