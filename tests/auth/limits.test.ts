import assert from "node:assert/strict";
import { suspend, until } from "effection";
import { createMcpTool, createParley, type Parley, type ParleyLimits } from "parley-mcp";
import { TestClient as LegacyClient } from "../support/legacy/client.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";
import { useStdio } from "../transport/stdio/channel.ts";
import { RESOURCE, TestIssuer, whoami } from "./issuer.ts";

/** Works until it is halted. Its log line makes the response a stream. */
const work = createMcpTool("work").description("Works.").execute(function* (_, ctx) {
  yield* ctx.log("info", "working");
  yield* suspend();
});
const LOGGED = { "io.modelcontextprotocol/logLevel": "info" };

interface Limited {
  readonly issuer: TestIssuer;
  readonly parley: Parley;
  token(sub: string): Promise<string>;
}

async function limited(
  limits: Partial<ParleyLimits>,
  body: (scene: Limited) => Promise<void>,
): Promise<void> {
  const issuer = await TestIssuer.create();
  const parley = issuer.server({}, { serve: [whoami, work], legacySse: true, limits });
  let tokens = 0;
  const token = (sub: string) => issuer.token({ claims: { sub, jti: `${++tokens}` } });
  try {
    await body({ issuer, parley, token });
  } finally {
    await parley.close();
  }
}

async function answer(parley: Parley, token: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, ...init.headers };
  const response = await parley.fetch(new Request(RESOURCE, { ...init, headers }));
  await response.body?.cancel();
  return response;
}

describe("limits.maxRequestsPerMinute", () => {
  it("refuses further requests of a caller with 429 and Retry-After, and of nobody else", () =>
    limited({ maxRequestsPerMinute: 3 }, async ({ parley, issuer, token }) => {
      const call = async (given: string) => {
        const headers = { authorization: `Bearer ${given}` };
        const exchange = await new ModernClient(parley.fetch, { headers }).start("tools/list");
        await exchange.leave();
        return exchange.response;
      };
      const [alice, again, bob] = [await token("alice"), await token("alice"), await token("bob")];
      for (let i = 0; i < 3; i++) assert.equal((await call(alice)).status, 200);
      const refused = await call(again);
      assert.equal(refused.status, 429, "another token of the same caller");
      assert.equal(refused.headers.get("retry-after"), "20");
      assert.equal(refused.headers.get("www-authenticate"), null, "the token is valid");
      assert.equal((await call(bob)).status, 200);
      issuer.clock.advance(19_999);
      assert.equal((await call(alice)).headers.get("retry-after"), "1");
      issuer.clock.advance(1);
      assert.equal((await call(alice)).status, 200, "as Retry-After said");
      assert.equal((await call(alice)).status, 429, "one request each 20 seconds");
      issuer.clock.advance(60_000);
      for (let i = 0; i < 3; i++) assert.equal((await call(alice)).status, 200);
      assert.equal((await call(alice)).status, 429, "never more than three at once");
    }));

  it("counts every kind of request to the endpoint, and no refused token", () =>
    limited({ maxRequestsPerMinute: 4 }, async ({ parley, token }) => {
      const alice = await token("alice");
      for (let i = 0; i < 10; i++) assert.equal((await answer(parley, "wrong")).status, 401);
      const methods = ["GET", "DELETE", "POST", "PUT"];
      for (const method of methods) {
        assert.notEqual((await answer(parley, alice, { method })).status, 429, method);
      }
      for (const method of methods) {
        assert.equal((await answer(parley, alice, { method })).status, 429, method);
      }
      const sse = await parley.fetch(
        new Request(new URL("/sse", RESOURCE), { headers: { authorization: `Bearer ${alice}` } }),
      );
      assert.equal(sse.status, 429, "HTTP+SSE");
      await sse.body?.cancel();
    }));

  it("limits callers that a principal function names, and not the anonymous caller", async () => {
    for (const isNamed of [true, false]) {
      const parley = createParley({
        serve: [whoami],
        limits: { maxRequestsPerMinute: 1 },
        ...(isNamed && { principal: () => "alice" }),
      });
      const client = new ModernClient(parley.fetch);
      const statuses: number[] = [];
      for (let i = 0; i < 3; i++) {
        const exchange = await client.start("tools/list");
        await exchange.leave();
        statuses.push(exchange.status);
      }
      assert.deepEqual(statuses, isNamed ? [200, 429, 429] : [200, 200, 200]);
      await parley.close();
    }
  });

  it("does not limit stdio: its caller started the program", function* () {
    const limits = { maxRequestsPerMinute: 1, maxSessionsPerPrincipal: 1 };
    const { client } = yield* useStdio({ serve: [whoami], limits });
    for (let i = 0; i < 5; i++) {
      const id = client.modern("tools/call", { name: "whoami", arguments: {} });
      assert.ok((yield* until(client.answerTo(id))).result);
    }
  });
});

describe("limits of what a caller has at once", () => {
  const start = (parley: Parley, token: string) =>
    new ModernClient(parley.fetch, { headers: { authorization: `Bearer ${token}` } })
      .start("tools/call", { name: "work", arguments: {} }, { meta: LOGGED });

  it("refuse a further call with Retry-After, by caller and not by token, in both eras", () =>
    limited({ maxSessions: 100, maxSessionsPerPrincipal: 2 }, async ({ parley, token }) => {
      const open = [
        await start(parley, await token("alice")),
        await start(parley, await token("alice")),
      ];
      const refused = await start(parley, await token("alice"));
      assert.equal(refused.status, 503);
      assert.match(refused.response.headers.get("retry-after")!, /^\d+$/);
      await refused.leave();
      const headers = { authorization: `Bearer ${await token("alice")}` };
      const legacy = await LegacyClient.connect(parley.fetch, { headers });
      const also = await legacy.start("tools/call", { name: "work", arguments: {} });
      assert.match(also.response.headers.get("retry-after")!, /^\d+$/);
      await also.leave();
      open.push(await start(parley, await token("bob")));
      assert.equal(open[2]!.status, 200, "another caller has a share of its own");
      await open[0]!.leave();
      open.push(await start(parley, await token("alice")));
      assert.equal(open[3]!.status, 200, "after a call has ended");
      for (const exchange of open) await exchange.leave();
    }));

  it("refuse a further stream with Retry-After, by caller", () =>
    limited({ maxStreams: 100, maxStreamsPerPrincipal: 1 }, async ({ parley, token }) => {
      const listen = async (sub: string) =>
        await new ModernClient(parley.fetch, {
          headers: { authorization: `Bearer ${await token(sub)}` },
        }).start("subscriptions/listen", { notifications: { toolsListChanged: true } });
      const first = await listen("alice");
      const second = await listen("alice");
      assert.equal(second.status, 503);
      assert.match(second.response.headers.get("retry-after")!, /^\d+$/);
      await second.leave();
      const other = await listen("bob");
      assert.equal(other.status, 200);
      await first.leave();
      await other.leave();
    }));
});
