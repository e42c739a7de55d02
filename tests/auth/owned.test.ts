/** What belongs to one principal: after a restart, on other transports, and in notifications. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { join } from "node:path";
import {
  createMcpResource,
  createMcpTool,
  openStore,
  type Parley,
  type ParleyOptions,
  Sealer,
} from "parley-mcp";
import { z } from "zod";
import { Exchange } from "../support/exchange.ts";
import { useFolder } from "../support/folder.ts";
import { ABLE, initialize, TestClient as LegacyClient } from "../support/legacy/client.ts";
import { TASKS, TestClient as ModernClient } from "../support/modern/client.ts";
import { noticed, turn } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { RESOURCE, TestIssuer } from "./issuer.ts";

const question = { ok: { response: z.object({ yes: z.boolean() }) } };
const ask = createMcpTool("ask").description("Asks.").elicits(question)
  .durable({ sealed: true }).execute(function* (_, ctx) {
    return (yield* ctx.elicit("ok", { message: "Sure?" })).action;
  });
const later = createMcpTool("later").description("A task.").elicits(question).durable().task()
  .execute(function* (_, ctx) {
    return (yield* ctx.elicit("ok", { message: "Sure?" })).action;
  });
const diary = createMcpResource("diary").uri("diary://{day}").scopes("diary")
  .read(function* () {
    return "Dear diary";
  });
const APPS = {
  extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
};
const ACCEPTED = { ok: { action: "accept", content: { yes: true } } };

/** Two people, and a machine whose subject is the same as that of the owner. */
const OTHERS = {
  "another person": { sub: "bob" },
  "a machine of the same name": { sub: "alice", client_id: "alice" },
};
type Claims = { readonly [name: string]: unknown };

function headersOf(issuer: TestIssuer, claims: Claims): Promise<{ authorization: string }> {
  return issuer.token({ claims }).then((token) => ({ authorization: `Bearer ${token}` }));
}

function modern(parley: Parley, headers: { authorization: string }): ModernClient {
  const capabilities = { elicitation: { form: {} }, extensions: { [TASKS]: {} } };
  return new ModernClient(parley.fetch, { headers, capabilities });
}

function* useStored(): Operation<{ issuer: TestIssuer; server(): Parley }> {
  const issuer = yield* until(TestIssuer.create());
  const sealer = new Sealer("a key of sixteen or more");
  const stores = yield* until(openStore(`sqlite:${join(yield* useFolder(), "calls.db")}`));
  const options: ParleyOptions = {
    serve: [ask, later],
    store: stores.sessions,
    clients: stores.clients,
    sealer,
  };
  return { issuer, server: () => issuer.server({}, options) };
}

describe("what belongs to one principal, after a restart", () => {
  it("a request state and a task", function* () {
    const { issuer, server } = yield* useStored();
    const first = server();
    const alice = yield* until(headersOf(issuer, { sub: "alice" }));
    const { requestState } = yield* until(modern(first, alice).call("ask"));
    const { taskId } = yield* until(modern(first, alice).call("later"));
    yield* until(first.close());
    const second = server();
    const retry = { name: "ask", arguments: {}, requestState, inputResponses: ACCEPTED };
    for (const [who, claims] of Object.entries(OTHERS)) {
      const client = modern(second, yield* until(headersOf(issuer, claims)));
      const refused = yield* until(client.request("tools/call", retry));
      assert.match(refused.error.message, /requestState is not valid/, who);
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
        const params = { taskId, inputResponses: ACCEPTED };
        const { error } = yield* until(client.request(method, params));
        assert.match(error.message, /Cannot find the task/, `${who}: ${method}`);
      }
    }
    const refreshed = yield* until(headersOf(issuer, { sub: "alice", client_id: "other" }));
    const owner = modern(second, refreshed);
    const done = yield* until(owner.request("tools/call", retry));
    assert.equal(done.result.content[0].text, "accept");
    const { result } = yield* until(owner.request("tasks/get", { taskId }));
    assert.equal(result.status, "input_required");
    yield* until(owner.request("tasks/cancel", { taskId }));
    yield* until(second.close());
  });

  it("a request state that has the whole call in it", function* () {
    const issuer = yield* until(TestIssuer.create());
    const sealer = new Sealer("a key of sixteen or more");
    const server = () => issuer.server({}, { serve: [ask], sealer, state: "sealed" });
    const first = server();
    const alice = yield* until(headersOf(issuer, { sub: "alice" }));
    const { requestState } = yield* until(modern(first, alice).call("ask"));
    yield* until(first.close());
    const second = server();
    const retry = { name: "ask", arguments: {}, requestState, inputResponses: ACCEPTED };
    for (const [who, claims] of Object.entries(OTHERS)) {
      const client = modern(second, yield* until(headersOf(issuer, claims)));
      const refused = yield* until(client.request("tools/call", retry));
      assert.match(refused.error.message, /requestState is not valid/, who);
    }
    const done = yield* until(modern(second, alice).request("tools/call", retry));
    assert.equal(done.result.content[0].text, "accept");
    yield* until(second.close());
  });

  it("a legacy session, its stream and its question", function* () {
    const { issuer, server } = yield* useStored();
    const first = server();
    const headers = yield* until(headersOf(issuer, { sub: "alice" }));
    const client = yield* until(
      LegacyClient.connect(first.fetch, { headers, capabilities: ABLE }),
    );
    const call = yield* until(client.call("ask"));
    const asked = yield* until(call.expect("elicitation/create"));
    const session = { "mcp-session-id": client.sessionId! };
    const resume = { accept: "text/event-stream", "last-event-id": call.lastEventId! };
    yield* until(first.close());
    const second = server();
    const answer = { jsonrpc: "2.0", id: asked.id, result: { action: "decline" } };
    for (const [who, claims] of Object.entries(OTHERS)) {
      const other = { ...yield* until(headersOf(issuer, claims)), ...session };
      const attacker = new LegacyClient(second.fetch, { headers: other });
      for (
        const attempt of [
          () => attacker.post(answer),
          () => attacker.send("GET", resume),
          () => attacker.send("DELETE"),
        ]
      ) {
        const response = yield* until(attempt());
        assert.equal(response.status, 404, who);
        yield* until(response.text());
      }
    }
    const owner = new LegacyClient(second.fetch, { headers: { ...headers, ...session } });
    const resumed = new Exchange(yield* until(owner.send("GET", resume)));
    assert.equal((yield* until(owner.post(answer))).status, 202);
    const result = yield* until(resumed.rest());
    assert.equal(result.at(-1)!.result.content[0].text, "decline");
    yield* until(second.close());
  });
});

describe("what belongs to one principal, elsewhere", () => {
  it("a session over HTTP+SSE", function* () {
    const issuer = yield* until(TestIssuer.create());
    const parley = issuer.server({}, { serve: [ask], legacySse: true });
    const headers = yield* until(headersOf(issuer, { sub: "alice" }));
    const { origin } = new URL(RESOURCE);
    const stream = yield* until(
      new LegacyClient(parley.fetch, { url: `${origin}/sse`, headers }).listen(),
    );
    const { data } = (yield* until(stream.frame()))!;
    const url = `${origin}${data}`;
    for (const [who, claims] of Object.entries(OTHERS)) {
      const other = yield* until(headersOf(issuer, claims));
      const attacker = new LegacyClient(parley.fetch, { url, headers: other });
      const response = yield* until(attacker.post(initialize({ version: "2024-11-05" })));
      assert.equal(response.status, 404, who);
      yield* until(response.text());
    }
    const owner = new LegacyClient(parley.fetch, { url, headers });
    assert.equal((yield* until(owner.post(initialize({ version: "2024-11-05" })))).status, 202);
    assert.ok((yield* until(stream.message()))!.result);
    yield* until(stream.leave());
    yield* until(parley.close());
  });

  it("the view of a call, by its ticket, its secret, and its arguments", function* () {
    const issuer = yield* until(TestIssuer.create());
    const parley = issuer.server({}, { serve: [ask] });
    const shows = (headers: { authorization: string }) =>
      new ModernClient(parley.fetch, { headers, capabilities: APPS });
    const owner = shows(yield* until(headersOf(issuer, { sub: "alice" })));
    let isDeferred = false;
    const calling = owner.call("ask").finally(() => isDeferred = true);
    yield* until(noticed(() => parley.counts.live === 1));
    // The view does not ask for its call, so the call is deferred after two seconds.
    yield* until(noticed(() => {
      issuer.clock.advance(100);
      return isDeferred;
    }));
    const deferred = JSON.stringify(yield* until(calling));
    const ticket = /"ticket":"([^"]+)"/.exec(deferred)?.[1] ??
      /ticket[^\w-]+([\w-]{40,})/.exec(deferred)![1]!;
    const found = yield* until(owner.call("answer_call", { find: { tool: "ask" } }));
    const secret = /"secret":"([^"]+)"/.exec(JSON.stringify(found))![1]!;
    for (const [who, claims] of Object.entries(OTHERS)) {
      const attacker = shows(yield* until(headersOf(issuer, claims)));
      for (const args of [{ ticket }, { secret }, { find: { tool: "ask" } }]) {
        const refused = yield* until(attacker.call("answer_call", args));
        assert.equal(refused.isError, true, `${who}: ${Object.keys(args)}`);
        assert.ok(!JSON.stringify(refused).includes("Sure?"));
      }
    }
    yield* until(owner.call("continue_call", { ticket, cancel: true }));
    yield* until(parley.close());
  });

  it("notifications of a resource: a caller without its scope hears nothing of it", function* () {
    const issuer = yield* until(TestIssuer.create());
    const parley = issuer.server({}, { serve: [ask, diary] });
    const uri = "diary://today";
    const scopes = { reader: "diary", stranger: "mcp" };
    const counts: { [name: string]: number } = {};
    const streams: [string, Exchange][] = [];
    for (const [name, scope] of Object.entries(scopes)) {
      const headers = yield* until(headersOf(issuer, { sub: name, scope }));
      const legacy = yield* until(LegacyClient.connect(parley.fetch, { headers }));
      const subscribed = yield* until(legacy.start("resources/subscribe", { uri }));
      assert.equal(subscribed.status, name === "reader" ? 200 : 403);
      yield* until(subscribed.leave());
      streams.push([`legacy ${name}`, yield* until(legacy.listen())]);
      const listening = yield* until(
        modern(parley, headers).start("subscriptions/listen", {
          notifications: { resourceSubscriptions: [uri] },
        }),
      );
      streams.push([`modern ${name}`, listening]);
    }
    parley.resourceUpdated(uri);
    yield* until(turn());
    const closed = parley.close();
    for (const [name, stream] of streams) {
      const messages = yield* until(stream.rest());
      counts[name] = messages.filter(({ method }) => method?.endsWith("resources/updated")).length;
    }
    yield* until(closed);
    assert.deepEqual(counts, {
      "legacy reader": 1,
      "modern reader": 1,
      "legacy stranger": 0,
      "modern stranger": 0,
    });
  });
});
