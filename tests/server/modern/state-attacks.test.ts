import assert from "node:assert/strict";
import fc from "fast-check";
import { createMcpPrompt, createMcpTool, Sealer } from "parley-mcp";
import { z } from "zod";
import { accept, asked, TestClient, textOf } from "../../support/modern/client.ts";
import { serving, type TestServer } from "../../support/modern/server.ts";
import { greet, greetAll } from "../../support/tools.ts";
import { describe, it } from "../../suite.ts";

const HOUR = 3_600_000;

const twin = createMcpPrompt("greet").description("A prompt by the name of a tool")
  .elicits({ name: { response: z.object({ name: z.string() }) } })
  .execute(function* (_args, ctx) {
    return (yield* ctx.elicit("name", { message: "Who?" })).action;
  });

let effects = 0;
const pay = createMcpTool("pay").description("Pays once").parameters(z.object({ to: z.string() }))
  .elicits({ sure: { response: z.object({ sure: z.boolean() }) } })
  .execute(function* ({ to }, ctx) {
    const answer = yield* ctx.elicit("sure", { message: `Pay ${to}?` });
    effects++;
    return `paid ${to}: ${answer.action}`;
  });

const principal = (request: Request) => request.headers.get("authorization") ?? "nobody";
const serve = [greet, greetAll, twin, pay];

function testing(body: (server: TestServer) => Promise<void>): () => Promise<void> {
  return () => serving({ serve, principal }, body);
}

function as(fetch: TestServer["fetch"], who: string): TestClient {
  return new TestClient(fetch, { headers: { authorization: who } });
}

/** Asserts that it is refused without a reason. */
async function refused(
  client: TestClient,
  method: string,
  params: { readonly [key: string]: unknown },
): Promise<void> {
  const error = await client.error(method, params);
  assert.deepEqual(error, {
    code: -32602,
    message:
      "Cannot continue the call: its requestState is not valid; send it back unchanged and with the same arguments, or start a new call",
  });
}

const yes = { name: accept({ name: "Ada" }) };

describe("requestState", () => {
  it(
    "is refused in another call, for another caller, and with other arguments",
    testing(async ({ fetch }) => {
      const ada = as(fetch, "ada");
      const { requestState } = await ada.call("greet", { greeting: "Hi" });
      const mine = { name: "greet", arguments: { greeting: "Hi" }, requestState };
      await refused(as(fetch, "eve"), "tools/call", { ...mine, inputResponses: yes });
      await refused(as(fetch, "nobody"), "tools/call", mine);
      const nameless = await as(fetch, "").start("tools/call", mine);
      assert.equal(nameless.status, 401);
      await nameless.leave();
      await refused(ada, "tools/call", { ...mine, arguments: { greeting: "Ho" } });
      await refused(ada, "tools/call", { ...mine, arguments: undefined });
      await refused(ada, "tools/call", { ...mine, name: "greet_all", arguments: { count: 1 } });
      await refused(ada, "prompts/get", { name: "greet", requestState });
      const done = await ada.result("tools/call", { ...mine, inputResponses: yes });
      assert.equal(textOf(done), "Hi, Ada!");
    }),
  );

  it(
    "is refused if it was forged, truncated, combined, or is not text",
    testing(async ({ fetch }) => {
      const ada = as(fetch, "ada");
      const { requestState: one } = await ada.call("greet");
      const { requestState: two } = await ada.call("greet");
      const half = one.length / 2;
      const forged = [
        "",
        "x",
        one.slice(1),
        one.slice(0, -1),
        `${one}A`,
        `${one}-TAMPERED`,
        `${one}=`,
        ` ${one}`,
        one.slice(0, half) + two.slice(half),
        one.toUpperCase(),
        one + two,
        null,
        1,
        [one],
        { state: one },
        new Sealer().seal(JSON.stringify(["s", 1, 9e15])),
      ];
      for (const requestState of forged) {
        await refused(ada, "tools/call", { name: "greet", arguments: {}, requestState });
      }
    }),
  );

  it(
    "reveals nothing when it is changed in any way",
    testing(async ({ fetch }) => {
      const eve = as(fetch, "eve");
      const { requestState } = await as(fetch, "ada").call("pay", { to: "Bob" });
      effects = 0;
      const change = fc.record({
        at: fc.nat(requestState.length),
        length: fc.nat(8),
        piece: fc.string({ maxLength: 8 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 0, maxLength: 3 }), async (changes) => {
          let text: string = requestState;
          for (const { at, length, piece } of changes) {
            text = text.slice(0, at) + piece + text.slice(at + length);
          }
          const params = { name: "pay", arguments: { to: "Bob" }, requestState: text };
          await refused(eve, "tools/call", params);
        }),
        { numRuns: 150 },
      );
      assert.equal(effects, 0);
    }),
  );

  it(
    "is refused once it has expired, and the run is gone with it",
    testing(async ({ fetch, clock, parley }) => {
      const ada = as(fetch, "ada");
      const { requestState } = await ada.call("greet");
      clock.advance(HOUR - 1);
      assert.equal(parley.counts.live, 1);
      const again = await ada.call("greet", {}, { requestState });
      clock.advance(1);
      await refused(ada, "tools/call", { name: "greet", arguments: {}, requestState });
      assert.equal(parley.counts.live, 1, "the newer state keeps it");
      const { requestState: newer } = again;
      clock.advance(HOUR - 2);
      assert.deepEqual(asked(await ada.call("greet", {}, { requestState: newer })), ["name"]);
      clock.advance(HOUR);
      assert.equal(parley.counts.live, 0);
      clock.advance(HOUR);
      assert.equal(parley.counts.finished, 0);
    }),
  );

  it(
    "returns the recorded result when it is sent again after the end, until it expires",
    testing(async ({ fetch, clock, parley }) => {
      effects = 0;
      const ada = as(fetch, "ada");
      const { requestState } = await ada.call("pay", { to: "Bob" });
      const retry = { requestState, inputResponses: { sure: accept({ sure: true }) } };
      const done = await ada.call("pay", { to: "Bob" }, retry);
      assert.equal(textOf(done), "paid Bob: accept");
      for (const more of [retry, { requestState }, { requestState, inputResponses: { x: 1 } }]) {
        clock.advance(HOUR / 6);
        assert.deepEqual(await ada.call("pay", { to: "Bob" }, more), done);
      }
      assert.equal(effects, 1);
      assert.deepEqual(parley.counts, { live: 0, finished: 1, streams: 0, clientSessions: 0 });
      clock.advance(HOUR / 2);
      await refused(ada, "tools/call", { name: "pay", arguments: { to: "Bob" }, requestState });
      assert.equal(parley.counts.finished, 0);
    }),
  );

  it(
    "is refused with a different answer to an answered question, and nothing is recorded",
    testing(async ({ fetch }) => {
      const ada = as(fetch, "ada");
      const args = { count: 2 };
      const { requestState: first } = await ada.call("greet_all", args);
      const retry = { requestState: first, inputResponses: yes };
      const { requestState: second } = await ada.call("greet_all", args, retry);
      const conflict = { name: accept({ name: "Eve" }), name_2: accept({ name: "Mallory" }) };
      for (const requestState of [first, second]) {
        const error = await ada.error("tools/call", {
          name: "greet_all",
          arguments: args,
          requestState,
          inputResponses: conflict,
        });
        assert.equal(error.code, -32602);
      }
      assert.deepEqual(asked(await ada.call("greet_all", args, retry)), ["name_2"]);
      const done = await ada.call("greet_all", args, {
        requestState: second,
        inputResponses: { ...yes, name_2: accept({ name: "Bob" }) },
      });
      assert.equal(textOf(done), "Hello, Ada and Bob!");
      const late = await ada.error("tools/call", {
        name: "greet_all",
        arguments: args,
        requestState: second,
        inputResponses: conflict,
      });
      assert.equal(late.code, -32602);
    }),
  );

  it(
    "of an earlier round returns the current state of the run",
    testing(async ({ fetch }) => {
      const ada = as(fetch, "ada");
      const args = { count: 3 };
      const first = await ada.call("greet_all", args);
      const second = await ada.call("greet_all", args, {
        requestState: first.requestState,
        inputResponses: yes,
      });
      const third = await ada.call("greet_all", args, {
        requestState: second.requestState,
        inputResponses: { name_2: accept({ name: "Bob" }) },
      });
      assert.deepEqual(asked(third), ["name_3"]);
      for (const { requestState } of [first, second, third]) {
        const now = await ada.call("greet_all", args, { requestState, inputResponses: yes });
        assert.deepEqual(now.inputRequests, third.inputRequests);
      }
      const done = await ada.call("greet_all", args, {
        requestState: first.requestState,
        inputResponses: { name_3: accept({ name: "Cy" }) },
      });
      assert.equal(textOf(done), "Hello, Ada and Bob and Cy!");
    }),
  );

  it("of a server with another key is refused, and with an older key is accepted", async () => {
    const clients: TestClient[] = [];
    const sealers = [new Sealer("one"), new Sealer("two"), new Sealer("two", "one")];
    const nested = async (left: readonly Sealer[]): Promise<void> => {
      const [sealer, ...more] = left;
      if (!sealer) {
        const [one, two, rotated] = clients as [TestClient, TestClient, TestClient];
        const { requestState } = await one.call("greet");
        const retry = { name: "greet", arguments: {}, requestState, inputResponses: yes };
        await refused(two, "tools/call", retry);
        // It opens, but the run is on the other server.
        const error = await rotated.error("tools/call", retry);
        assert.equal(error.code, -32602);
        assert.match(error.message, /no longer has it/);
        return;
      }
      await serving({ serve, sealer }, async ({ fetch }) => {
        clients.push(new TestClient(fetch));
        await nested(more);
      });
    };
    await nested(sealers);
  });

  it(
    "is not required by methods that ask nothing",
    testing(async ({ fetch }) => {
      const listed = await as(fetch, "ada").result("tools/list", { requestState: "nonsense" });
      assert.equal(listed.resultType, "complete");
    }),
  );
});
