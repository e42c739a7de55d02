import assert from "node:assert/strict";
import { describe, it } from "../../suite.ts";
import { ABLE, initialize, TestClient } from "../../support/legacy/client.ts";
import { TestClient as ModernClient } from "../../support/modern/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { ask } from "../../support/tools.ts";

const principal = (request: Request) =>
  request.headers.get("authorization") ?? new Response("Who are you?", { status: 401 });

function as(name: string) {
  return { headers: { authorization: name }, capabilities: ABLE };
}

describe("two principals", () => {
  it("cannot use each other's sessions, whatever they try", () =>
    serving({ serve: [ask], principal }, async ({ fetch }) => {
      const alice = await TestClient.connect(fetch, as("alice"));
      const mallory = new TestClient(fetch, as("mallory"));
      mallory.sessionId = alice.sessionId!;
      const call = await alice.call("ask");
      const question = await call.expect("elicitation/create");

      assert.equal((await mallory.start("ping")).status, 404);
      assert.equal((await mallory.call("ask")).status, 404);
      assert.equal((await mallory.listen()).status, 404);
      assert.equal((await mallory.listen("1.0")).status, 404);
      assert.equal((await mallory.answer(question, { action: "decline" })).status, 404);
      const cancel = await mallory.notify("notifications/cancelled", { requestId: call.id });
      assert.equal(cancel.status, 404);
      assert.equal((await mallory.end()).status, 404);

      await alice.answer(question, { action: "accept", content: { number: 1 } });
      assert.equal(await call.text(), "It is 1");
    }));

  it("cannot reach each other's questions and streams from their own sessions", () =>
    serving({ serve: [ask], principal }, async ({ fetch }) => {
      const alice = await TestClient.connect(fetch, as("alice"));
      const mallory = await TestClient.connect(fetch, as("mallory"));
      const call = await alice.call("ask");
      const question = await call.expect("elicitation/create");
      assert.equal((await mallory.answer(question, { action: "decline" })).status, 400);
      assert.equal((await mallory.listen("1.0")).status, 405);
      await mallory.notify("notifications/cancelled", { requestId: call.id });
      await alice.answer(question, { action: "accept", content: { number: 1 } });
      assert.equal(await call.text(), "It is 1");
    }));

  it("cannot tell another principal's session from a missing one", () =>
    serving({ serve: [ask], principal }, async ({ fetch }) => {
      const alice = await TestClient.connect(fetch, as("alice"));
      const mallory = new TestClient(fetch, as("mallory"));
      const answers: string[] = [];
      for (const sessionId of [alice.sessionId!, "never-issued"]) {
        mallory.sessionId = sessionId;
        const { response } = await mallory.start("ping", undefined, 1);
        answers.push(`${response.status} ${await response.text()}`);
      }
      assert.equal(answers[0], answers[1]);
    }));

  it("are identified on every request", () =>
    serving({ serve: [ask], principal }, async ({ parley }) => {
      const alice = await TestClient.connect(parley.fetch, as("alice"));
      const nobody = new TestClient(parley.fetch);
      nobody.sessionId = alice.sessionId!;
      assert.equal((await nobody.start("ping")).status, 401);
      assert.equal((await nobody.listen()).status, 401);
      assert.equal((await nobody.end()).status, 401);
    }));

  it("are separated over HTTP+SSE too", () =>
    serving({ serve: [ask], principal, legacySse: true }, async ({ fetch }) => {
      const origin = "http://127.0.0.1:7411";
      const alice = new TestClient(fetch, { ...as("alice"), url: `${origin}/sse` });
      const stream = await alice.listen();
      const { data } = (await stream.frame())!;
      const url = `${origin}${data}`;
      const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
      assert.equal((await new TestClient(fetch, { ...as("mallory"), url }).post(ping)).status, 404);
      assert.equal((await new TestClient(fetch, { ...as("alice"), url }).post(ping)).status, 202);
      assert.deepEqual(await stream.message(), { jsonrpc: "2.0", id: 1, result: {} });
      await stream.leave();
    }));
});

describe("a principal without a name", () => {
  it("is refused in both eras, and does not become the anonymous caller", () =>
    serving({ serve: [ask], principal: (request) => request.headers.get("x-name")! }, async (
      { fetch, parley },
    ) => {
      for (const name of ["", undefined]) {
        const headers: Record<string, string> = name === undefined ? {} : { "x-name": name };
        const legacy = await new TestClient(fetch, { headers }).post(initialize());
        assert.equal(legacy.status, 401);
        assert.equal(legacy.headers.get("www-authenticate"), "Bearer");
        assert.match(JSON.stringify(await legacy.json()), /the caller is unknown; sign in/);
        const modern = await new ModernClient(fetch, { headers }).start("tools/list");
        assert.equal(modern.status, 401);
        await modern.leave();
      }
      assert.equal(parley.counts.clientSessions, 0);
      const named = await TestClient.connect(fetch, { headers: { "x-name": "ada" } });
      assert.equal((await named.start("ping")).status, 200);
    }));
});
