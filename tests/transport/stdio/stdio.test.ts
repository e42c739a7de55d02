import assert from "node:assert/strict";
import { suspend, until } from "effection";
import { createManualClock, createMcpTool } from "parley-mcp";
import { describe, it } from "../../suite.ts";
import { turn } from "../../support/turn.ts";
import { type Client, useStdio } from "./channel.ts";
import { add, chatty, echo, large, stubborn } from "./tools.ts";

const serve = [add, chatty, echo, large, stubborn];

function textIn(message: { result?: { [key: string]: unknown } }): unknown {
  return (message.result?.content as { text: string }[] | undefined)?.[0]?.text;
}

/** Answers the legacy questions that come from now on, each with `b`. */
function answerForms(client: Client, b: (message: string) => number): void {
  const seen = new Set<unknown>();
  const look = async () => {
    for (;;) {
      const question = await client.find(({ id, method }) =>
        method === "elicitation/create" && !seen.has(id)
      );
      seen.add(question.id);
      const content = { b: b(String(question.params?.message)) };
      client.send({ id: question.id, result: { action: "accept", content } });
    }
  };
  void look();
}

describe("stdio()", () => {
  it("serves the legacy era, including questions", function* () {
    const { client } = yield* useStdio({ serve });
    const { result } = yield* until(client.answerTo(client.initialize("2025-06-18")));
    assert.equal(result?.protocolVersion, "2025-06-18");
    client.send({ method: "notifications/initialized" });
    answerForms(client, () => 4);
    const id = client.request("tools/call", { name: "add", arguments: { a: 3 } });
    assert.equal(textIn(yield* until(client.answerTo(id))), "7");
  });

  it("serves the modern era, including questions", function* () {
    const { client } = yield* useStdio({ serve });
    const call = { name: "add", arguments: { a: 3 } };
    const asked = yield* until(client.answerTo(client.modern("tools/call", call)));
    assert.equal(asked.result?.resultType, "input_required");
    const { requestState } = asked.result!;
    const inputResponses = { b: { action: "accept", content: { b: 5 } } };
    const id = client.modern("tools/call", { ...call, requestState, inputResponses });
    assert.equal(textIn(yield* until(client.answerTo(id))), "8");
    assert.ok(client.messages.every(({ id, method }) => id === undefined || method === undefined));
  });

  it("serves both eras on one connection, in any order", function* () {
    const { client } = yield* useStdio({ serve });
    const found = yield* until(client.answerTo(client.modern("server/discover")));
    assert.deepEqual(found.result?.supportedVersions, ["2026-07-28"]);
    const begun = yield* until(client.answerTo(client.initialize()));
    assert.equal(begun.result?.protocolVersion, "2025-11-25");
    answerForms(client, () => 1);
    const old = client.request("tools/call", { name: "add", arguments: { a: 1 } });
    const modern = client.modern("tools/call", { name: "echo", arguments: { text: "new" } });
    assert.equal(textIn(yield* until(client.answerTo(modern))), "new");
    assert.equal(textIn(yield* until(client.answerTo(old))), "2");
  });

  it("sends progress into every long silence of a call, in both eras", function* () {
    const clock = createManualClock();
    const endless = createMcpTool("endless").description("Never ends.").execute(function* () {
      yield* suspend();
    });
    const limits = { heartbeatInterval: 20_000 };
    const { client } = yield* useStdio({ serve: [endless], clock, limits });
    yield* until(client.answerTo(client.initialize()));
    const call = (progressToken: string) => ({ name: "endless", _meta: { progressToken } });
    client.request("tools/call", call("legacy"));
    client.modern("tools/call", call("modern"));
    client.modern("tools/call", { name: "endless" });
    // The answer to the last message shows that the server has received all of them.
    yield* until(client.answerTo(client.request("ping")));
    const beats = () =>
      client.messages.filter(({ method }) => method === "notifications/progress")
        .map(({ params }) => params?.progressToken);
    for (let times = 1; times <= 3; times++) {
      clock.advance(20_000);
      const beat = () => beats().length >= 2 * times;
      yield* until(client.find(beat));
      const expected = Array<string>(times).fill("legacy").concat(Array(times).fill("modern"));
      assert.deepEqual(beats().toSorted(), expected);
    }
  });

  it("refuses requests before initialize, and explains how to initialize", function* () {
    const { client } = yield* useStdio({ serve });
    const { error } = yield* until(client.answerTo(client.request("tools/list")));
    assert.equal(error?.code, -32600);
    assert.match(error.message, /initialize/);
  });

  it("names its own revision to a client of a future one", function* () {
    const { client } = yield* useStdio({ serve });
    const id = client.modern("server/discover", {}, "2031-01-01");
    const { error } = yield* until(client.answerTo(id));
    assert.equal(error?.code, -32022);
    assert.deepEqual(error.data, { supported: ["2026-07-28"], requested: "2031-01-01" });
  });

  it("survives garbage of every kind, and answers what follows", function* () {
    const { client, faults } = yield* useStdio({ serve, limits: { maxBody: 1_000 } });
    yield* until(client.answerTo(client.initialize()));
    const before = client.messages.length;
    client.raw('garbage\n\n   \n\r\n{\n[]\nnull\n42\n"text"\n');
    client.raw(new Uint8Array([0, 255, 254, 10]));
    client.raw(`${"[".repeat(500)}${"]".repeat(500)}\n`);
    client.raw(`{"jsonrpc":"2.0","id":99,"method":"${"x".repeat(2_000)}"}\n`);
    client.send({ id: {}, method: "ping" });
    client.send({ id: "nobody-asked", result: {} });
    client.send({ method: "notifications/unheard_of" });
    client.raw('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":7}}\n');
    const id = client.request("tools/call", { name: "echo", arguments: { text: "still here" } });
    assert.equal(textIn(yield* until(client.answerTo(id))), "still here");
    const told = client.messages.slice(before).map(({ error }) => error?.code);
    for (const code of [-32700, -32600, -32602]) assert.ok(told.includes(code), `${code}`);
    assert.deepEqual(faults, []);
  });

  it("accepts a message in any number of pieces", function* () {
    const { client } = yield* useStdio({ serve });
    const text = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"ä":"✓"}}\n';
    const init = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "x", version: "1" },
    };
    client.send({ id: 0, method: "initialize", params: init });
    for (const byte of new TextEncoder().encode(text)) client.raw(new Uint8Array([byte]));
    assert.deepEqual((yield* until(client.answerTo(1))).result, {});
  });

  it("accepts a last message without a line break", function* () {
    const { client, ended } = yield* useStdio({ serve });
    yield* until(client.answerTo(client.initialize()));
    client.raw('{"jsonrpc":"2.0","id":9,"method":"ping"}');
    client.end();
    yield* until(ended);
    assert.deepEqual((yield* until(client.answerTo(9))).result, {});
  });

  it("answers each message of a batch by itself", function* () {
    const { client } = yield* useStdio({ serve });
    yield* until(client.answerTo(client.initialize("2025-03-26")));
    const ping = (id: number) => ({ jsonrpc: "2.0", id, method: "ping" });
    client.raw(`${JSON.stringify([ping(50), ping(51)])}\n`);
    assert.deepEqual((yield* until(client.answerTo(50))).result, {});
    assert.deepEqual((yield* until(client.answerTo(51))).result, {});
  });

  it("refuses a batch of more than 100 messages, and executes none of it", function* () {
    const { client, parley } = yield* useStdio({ serve });
    yield* until(client.answerTo(client.initialize("2025-03-26")));
    const calls = Array.from({ length: 101 }, (_, i) => ({
      jsonrpc: "2.0",
      id: 100 + i,
      method: "tools/call",
      params: { name: "stubborn" },
    }));
    client.raw(`${JSON.stringify(calls)}\n`);
    yield* until(client.answerTo(client.request("ping")));
    assert.match(JSON.stringify(client.messages), /it has 101 messages; send at most 100 at once/);
    assert.equal(parley.counts.live, 0);
  });

  it("refuses a line with too many keys before it parses it", function* () {
    const { client } = yield* useStdio({ serve, limits: { maxParts: 1_000 } });
    yield* until(client.answerTo(client.initialize()));
    const keys = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`k${i}`, 0]));
    client.raw(`${JSON.stringify({ jsonrpc: "2.0", id: 50, method: "ping", params: keys })}\n`);
    yield* until(client.answerTo(client.request("ping")));
    assert.match(
      JSON.stringify(client.messages),
      /Cannot read the line: it has more than 1000 keys, strings and elements; send fewer/,
    );
  });

  it("sends nothing more about a cancelled request, in either era", function* () {
    const { client, parley } = yield* useStdio({ serve });
    yield* until(client.answerTo(client.initialize()));
    const ids = [
      client.request("tools/call", { name: "stubborn" }),
      client.modern("tools/call", { name: "stubborn" }),
    ];
    yield* until(client.answerTo(client.request("ping")));
    assert.equal(parley.counts.live, 2);
    for (const requestId of ids) {
      client.send({ method: "notifications/cancelled", params: { requestId } });
    }
    while (parley.counts.live > 0) yield* until(turn());
    assert.ok(!client.messages.some(({ id }) => ids.includes(id as number)));
  });

  it("refuses an id that is in use", function* () {
    const { client } = yield* useStdio({ serve });
    const id = client.modern("tools/call", { name: "stubborn" });
    client.send({
      id,
      method: "tools/list",
      params: {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    });
    assert.equal((yield* until(client.answerTo(id))).error?.code, -32600);
  });

  it("reports changes, in both eras", function* () {
    const { client, parley } = yield* useStdio({ serve });
    yield* until(client.answerTo(client.initialize()));
    client.modern("subscriptions/listen", { notifications: { toolsListChanged: true } });
    yield* until(
      client.find(({ method }) => method === "notifications/subscriptions/acknowledged"),
    );
    const before = client.messages.length;
    parley.add(createMcpTool("late").description("Comes late.").execute(function* () {}));
    yield* until(
      client.find((message) =>
        message.method === "notifications/tools/list_changed" && message.params?._meta !== undefined
      ),
    );
    const news = client.messages.slice(before).map(({ method }) => method);
    assert.equal(news.filter((one) => one === "notifications/tools/list_changed").length, 2);
  });
});

describe("stdio() ends", () => {
  const endings: [string, (served: { client: Client; abort: AbortController }) => void][] = [
    ["at the end of its input", ({ client }) => client.end()],
    ["when its input breaks", ({ client }) => client.fail()],
    ["when it is told to", ({ abort }) => abort.abort()],
  ];
  for (const [when, end] of endings) {
    it(`${when}, and every generator has cleaned up by then`, function* () {
      const cleaned: string[] = [];
      const tidy = createMcpTool("tidy").description("Cleans up.")
        .elicits({ q: { response: { type: "object", properties: {} } } })
        .execute(function* (_, ctx) {
          try {
            yield* ctx.elicit("q", { message: "?" });
          } finally {
            yield* until(Promise.resolve());
            cleaned.push(ctx.client.protocolVersion!);
          }
        });
      const served = yield* useStdio({ serve: [tidy] });
      const { client, parley, ended } = served;
      yield* until(client.answerTo(client.initialize()));
      client.request("tools/call", { name: "tidy" });
      yield* until(client.find(({ method }) => method === "elicitation/create"));
      // This one is parked, and no request waits for it.
      yield* until(client.answerTo(client.modern("tools/call", { name: "tidy" })));
      end(served);
      yield* until(ended);
      assert.deepEqual(cleaned.sort(), ["2025-11-25", "2026-07-28"]);
      assert.equal(parley.counts.live, 0);
    });
  }

  it("when nobody reads its output any more", function* () {
    const { client, ended, parley } = yield* useStdio({ serve });
    yield* until(client.answerTo(client.initialize()));
    client.request("tools/call", { name: "stubborn" });
    client.broken = true;
    client.request("ping");
    yield* until(ended);
    assert.equal(parley.counts.live, 0);
  });
});

describe("stdio() with a slow reader", () => {
  it("accepts no more than its reader reads", function* () {
    const { client } = yield* useStdio({ serve });
    yield* until(client.answerTo(client.initialize()));
    const gate = Promise.withResolvers<void>();
    client.gate = gate.promise;
    // Each is far more than may be buffered; all of them are answered in the end.
    const ids = Array.from({ length: 12 }, () =>
      client.request("tools/call", {
        name: "large",
        arguments: { size: 3_000_000 },
      }));
    const last = client.request("ping");
    gate.resolve();
    client.gate = undefined;
    yield* until(client.answerTo(last));
    for (const id of ids) {
      assert.equal(String(textIn(yield* until(client.answerTo(id)))).length, 3_000_000);
    }
    assert.ok(Math.max(...client.writes) < 12_000_000, `${Math.max(...client.writes)} at once`);
  });

  it("loses nothing of a burst while the reader keeps up", function* () {
    const { client } = yield* useStdio({ serve });
    yield* until(client.answerTo(client.initialize()));
    const id = client.request("tools/call", {
      name: "chatty",
      arguments: { lines: 5_000, length: 20 },
    });
    yield* until(client.answerTo(id));
    const lines = client.messages.filter(({ method }) => method === "notifications/message");
    assert.equal(lines.length, 5_000);
  });

  it("still sends the result of a call that had too many events to keep", function* () {
    const { client } = yield* useStdio({ serve });
    yield* until(client.answerTo(client.initialize()));
    const gate = Promise.withResolvers<void>();
    client.gate = gate.promise;
    const id = client.request("tools/call", {
      name: "chatty",
      arguments: { lines: 30_000, length: 1_000 },
    });
    const ping = client.request("ping");
    gate.resolve();
    client.gate = undefined;
    assert.equal(textIn(yield* until(client.answerTo(id))), "all said");
    yield* until(client.answerTo(ping));
  });
});

describe("stdio() with two hundred calls in flight", () => {
  it("answers each of them correctly, with their questions interleaved", function* () {
    const { client, faults } = yield* useStdio({ serve });
    yield* until(client.answerTo(client.initialize()));
    const ids = Array.from(
      { length: 200 },
      (_, a) => client.request("tools/call", { name: "add", arguments: { a } }),
    );
    const questions = [];
    for (const id of ids.keys()) {
      questions.push(
        yield* until(
          client.find(({ params }) => params?.message === `What is to be added to ${id}?`),
        ),
      );
    }
    // In reverse order, interleaved with other calls and answers.
    for (const [a, question] of [...questions.entries()].reverse()) {
      if (a % 3 === 0) client.modern("tools/call", { name: "echo", arguments: { text: `e${a}` } });
      const result = a % 7 === 0
        ? { action: "decline" }
        : { action: "accept", content: { b: 1_000 * a } };
      client.send({ id: question.id, result });
    }
    for (const [a, id] of ids.entries()) {
      const expected = a % 7 === 0 ? "decline" : `${a + 1_000 * a}`;
      assert.equal(textIn(yield* until(client.answerTo(id))), expected);
    }
    assert.deepEqual(faults, []);
  });

  it("refuses only the call above the limit", function* () {
    const { client } = yield* useStdio({ serve, limits: { maxCallsPerClientSession: 2 } });
    yield* until(client.answerTo(client.initialize()));
    client.request("tools/call", { name: "stubborn" });
    client.request("tools/call", { name: "stubborn" });
    const third = client.request("tools/call", { name: "stubborn" });
    assert.ok((yield* until(client.answerTo(third))).error);
    assert.deepEqual((yield* until(client.answerTo(client.request("ping")))).result, {});
  });
});
