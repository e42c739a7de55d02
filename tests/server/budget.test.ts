/** How callers learn that they hold too many bytes. */
import assert from "node:assert/strict";
import { createMcpResource, createMcpTool, type ParleyOptions } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../suite.ts";
import { ABLE, initialize, TestClient } from "../support/legacy/client.ts";
import { accept, asked, TestClient as ModernClient, textOf } from "../support/modern/client.ts";
import { serving as servingModern } from "../support/modern/server.ts";
import { serving } from "../support/legacy/server.ts";

const KB = 1_024;
const long = (kilobytes: number) => "x".repeat(kilobytes * KB);

/** Takes a text, and asks a given number of questions, each with a message of this length. */
const asks = createMcpTool("asks").description("Asks")
  .parameters(z.object({ text: z.string().default(""), lengths: z.array(z.number()).default([0]) }))
  .elicits({ ok: { response: z.object({ ok: z.string() }) } })
  .execute(function* ({ lengths }, ctx) {
    for (const length of lengths) yield* ctx.elicit("ok", { message: `? ${long(length)}` });
    return "done";
  });
const item = createMcpResource("item").uri("item://{+n}").read(function* () {
  return "";
});

const principal: NonNullable<ParleyOptions["principal"]> = (request) =>
  request.headers.get("x-name") ?? "";
const as = (name: string) => ({ headers: { "x-name": name }, capabilities: ABLE });
const options: ParleyOptions = {
  serve: [asks, item],
  principal,
  limits: { maxMemory: 400 * KB, maxMemoryPerPrincipal: 100 * KB },
};

async function assertBusy(response: Response, code: number, expected: RegExp): Promise<void> {
  assert.equal(response.status, 503);
  assert.match(response.headers.get("retry-after")!, /^\d+$/);
  const { error } = await response.json();
  assert.equal(error.code, code);
  assert.match(error.message, expected);
}

const SHARE =
  /^Cannot start another call: the caller's calls use .* MiB of memory, and its share is 0.0977 MiB; answer or cancel a call, or try again later$/;

describe("waiting calls that hold many bytes", () => {
  it("are refused to a legacy client above its share, while others are served", () =>
    serving(options, async ({ fetch }) => {
      const mallory = await TestClient.connect(fetch, as("mallory"));
      const first = await mallory.call("asks", { text: long(90) });
      const question = await first.expect("elicitation/create");
      const refused = await mallory.call("asks");
      await assertBusy(refused.response, -32000, SHARE);
      const ann = await TestClient.connect(fetch, as("ann"));
      const other = await ann.call("asks");
      await other.expect("elicitation/create");
      await mallory.answer(question, { action: "decline" });
      assert.equal(await first.text(), "done");
      await (await mallory.call("asks")).expect("elicitation/create");
    }));

  it("are refused to a modern client above its share, while others are served", () =>
    servingModern(options, async ({ fetch }) => {
      const mallory = new ModernClient(fetch, as("mallory"));
      const args = { text: long(90) };
      const first = await mallory.call("asks", args);
      assert.deepEqual(asked(first), ["ok"]);
      const refused = await mallory.start("tools/call", { name: "asks" });
      await assertBusy(refused.response, -32603, SHARE);
      assert.deepEqual(asked(await new ModernClient(fetch, as("ann")).call("asks")), ["ok"]);
      const { requestState } = first;
      const inputResponses = { ok: accept({ ok: "yes" }) };
      const done = await mallory.call("asks", args, { requestState, inputResponses });
      assert.equal(textOf(done), "done");
      assert.deepEqual(asked(await mallory.call("asks")), ["ok"]);
    }));

  it("end if they would exceed the limit while they wait, and the model is told", () =>
    servingModern(options, async ({ fetch, parley }) => {
      const mallory = new ModernClient(fetch, as("mallory"));
      const result = await mallory.call("asks", { lengths: [120] });
      assert.equal(result.isError, true);
      assert.match(
        textOf(result),
        /^Cannot wait for an answer: the caller's calls use .*; answer or cancel another call, then call the tool again$/,
      );
      const legacy = await TestClient.connect(parley.fetch, as("mallory"));
      const { result: told } = await legacy.request("tools/call", {
        name: "asks",
        arguments: { lengths: [120] },
      });
      assert.equal(told.isError, true);
      assert.equal(parley.counts.live, 0);
    }));

  it("end if an answer makes them exceed the limit", () =>
    servingModern(options, async ({ fetch, parley }) => {
      const mallory = new ModernClient(fetch, as("mallory"));
      const args = { lengths: [0, 0] };
      const { requestState } = await mallory.call("asks", args);
      const inputResponses = { ok: accept({ ok: long(120) }) };
      const result = await mallory.call("asks", args, { requestState, inputResponses });
      assert.equal(result.isError, true, JSON.stringify(result).slice(0, 300));
      assert.match(textOf(result), /^Cannot wait for an answer/);
      assert.equal(parley.counts.live, 0);
    }));

  it("do not end because of an answer that is their last: it is accepted", () =>
    servingModern(options, async ({ fetch }) => {
      const mallory = new ModernClient(fetch, as("mallory"));
      const { requestState } = await mallory.call("asks");
      const inputResponses = { ok: accept({ ok: long(200) }) };
      const result = await mallory.call("asks", {}, { requestState, inputResponses });
      assert.equal(textOf(result), "done");
    }));
});

describe("subscriptions", () => {
  it("count as their caller's memory in both eras, until they end", () =>
    servingModern(options, async ({ fetch, parley }) => {
      const uris = Array.from({ length: 70 }, (_, n) => `item://${n}${long(1)}`);
      const mallory = new ModernClient(fetch, as("mallory"));
      const listen = () =>
        mallory.start("subscriptions/listen", { notifications: { resourceSubscriptions: uris } });
      const first = await listen();
      await first.expect("notifications/subscriptions/acknowledged");
      await assertBusy(
        (await listen()).response,
        -32603,
        /^Cannot listen: the caller's calls use/,
      );
      await first.leave();
      const legacy = await TestClient.connect(parley.fetch, as("mallory"));
      const subscribe = (uri: string) => legacy.start("resources/subscribe", { uri });
      let taken = 0;
      let last = await subscribe("item://first");
      for (; last.status === 200; taken++) last = await subscribe(`item://${taken}${long(1)}`);
      assert.ok(taken > 80 && taken < 100, `${taken}`);
      await assertBusy(last.response, -32000, /^Cannot subscribe to "item:/);
      await legacy.request("resources/unsubscribe", { uri: `item://0${long(1)}` });
      assert.equal((await subscribe(`item://0${long(1)}`)).status, 200);
      await legacy.send("DELETE");
      await (await listen()).leave();
    }));
});

describe("client sessions", () => {
  it("count what their clients say about themselves", () =>
    serving(options, async ({ fetch, parley }) => {
      const capabilities = { experimental: { long: { text: long(10) } } };
      const open = (name: string) =>
        new TestClient(fetch, as(name)).post(initialize({ capabilities }));
      let opened = 0;
      let last = await open("mallory");
      for (; last.status === 200; opened++) last = await open("mallory");
      assert.ok(opened > 5 && opened < 11, `${opened}`);
      await assertBusy(last, -32000, /^Cannot start a session: the caller's calls use/);
      assert.equal(parley.counts.clientSessions, opened);
      assert.equal((await open("ann")).status, 200);
    }));
});
