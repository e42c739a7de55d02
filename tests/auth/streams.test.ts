import assert from "node:assert/strict";
import { suspend, until } from "effection";
import { writeFileSync } from "node:fs";
import { createManualClock, createMcpTool, createParley, type Parley } from "parley-mcp";
import { z } from "zod";
import { newToken } from "../../src/auth/token-file.ts";
import type { Exchange } from "../support/exchange.ts";
import { useFolder } from "../support/folder.ts";
import { ABLE, initialize, TestClient as LegacyClient } from "../support/legacy/client.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { turn } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { ISSUER, RESOURCE, TestIssuer } from "./issuer.ts";

const ORIGIN = new URL(RESOURCE).origin;
const ask = createMcpTool("ask").description("Asks.")
  .elicits({ ok: { response: z.object({ yes: z.boolean() }) } })
  .execute(function* (_, ctx) {
    return (yield* ctx.elicit("ok", { message: "Sure?" })).action;
  });
/** Logs a line, so that its response becomes a stream, and then works until it is halted. */
const work = createMcpTool("work").description("Works.").execute(function* (_, ctx) {
  yield* ctx.log("info", "working");
  yield* suspend();
});
/** The readers of these tests read late. */
const SERVED = {
  serve: [ask, work],
  legacySse: true,
  limits: { stallTimeout: 1e9, keepAliveInterval: 1e9 },
};
const LOGGED = { "io.modelcontextprotocol/logLevel": "info" };
const LISTEN = { notifications: { toolsListChanged: true } };

interface Scene {
  readonly issuer: TestIssuer;
  readonly parley: Parley;
  /**
   * The headers with a token of Alice that expires after some seconds. It is accepted for five
   * seconds more, because clocks differ.
   */
  headers(seconds: number): Promise<{ authorization: string }>;
}

async function scene(body: (scene: Scene) => Promise<void>): Promise<void> {
  const issuer = await TestIssuer.create();
  const parley = issuer.server({}, SERVED);
  const headers = async (seconds: number) => {
    const exp = Math.floor(issuer.clock.now() / 1_000) + seconds;
    return { authorization: `Bearer ${await issuer.token({ claims: { exp } })}` };
  };
  try {
    await body({ issuer, parley, headers });
  } finally {
    await parley.close();
  }
  assert.equal(issuer.clock.timers, 0, "a timer is still set");
}

/** Opens the stream of HTTP+SSE, and returns it with a client that posts to its address. */
async function openSse(parley: Parley, headers: { authorization: string }) {
  const stream = await new LegacyClient(parley.fetch, { url: `${ORIGIN}/sse`, headers }).listen();
  const { data } = (await stream.frame())!;
  return { stream, client: new LegacyClient(parley.fetch, { url: `${ORIGIN}${data}`, headers }) };
}

async function assertOpen(parley: Parley, streams: number): Promise<void> {
  await turn();
  assert.equal(parley.counts.streams, streams);
}

describe("a stream whose token expires", () => {
  it("ends: notifications of both eras", () =>
    scene(async ({ issuer, parley, headers }) => {
      const given = await headers(15);
      const listening = await (await LegacyClient.connect(parley.fetch, { headers: given }))
        .listen();
      const subscription = await new ModernClient(parley.fetch, { headers: given })
        .start("subscriptions/listen", LISTEN);
      issuer.clock.advance(19_999);
      await assertOpen(parley, 2);
      issuer.clock.advance(1);
      await assertOpen(parley, 0);
      assert.deepEqual(await listening.rest(), []);
      const [, ended] = await subscription.rest();
      assert.ok(ended!.result, "the subscription gets its response");
    }));

  it("stays, if it is that of a call: the call was accepted in time, and is answered", () =>
    scene(async ({ issuer, parley, headers }) => {
      const given = await headers(15);
      const modern = await new ModernClient(parley.fetch, { headers: given })
        .start("tools/call", { name: "work", arguments: {} }, { meta: LOGGED });
      const bare = new LegacyClient(parley.fetch, { headers: given, version: "2025-03-26" });
      const sessionless = await bare.start("tools/call", { name: "work", arguments: {} });
      const client = await LegacyClient.connect(parley.fetch, {
        headers: given,
        capabilities: ABLE,
      });
      const call = await client.call("ask");
      const asked = await call.expect("elicitation/create");
      issuer.clock.advance(60_000);
      await assertOpen(parley, 3);
      await modern.leave();
      await sessionless.leave();
      const answer = { jsonrpc: "2.0", id: asked.id, result: { action: "decline" } };
      assert.equal((await client.post(answer)).status, 401, "an answer needs a new token");
      assert.equal((await client.post(answer, await headers(15))).status, 202);
      assert.equal(await call.text(), "decline");
    }));

  it("ends: HTTP+SSE, unless the client has sent a message with a newer token", () =>
    scene(async ({ issuer, parley, headers }) => {
      const old = await openSse(parley, await headers(15));
      const renewed = await openSse(parley, await headers(15));
      const version = "2024-11-05";
      for (const { client } of [old, renewed]) {
        const accepted = await client.post(initialize({ version, capabilities: {} }));
        assert.equal(accepted.status, 202);
      }
      issuer.clock.advance(10_000);
      const ping = { jsonrpc: "2.0", id: 7, method: "ping" };
      assert.equal((await renewed.client.post(ping, await headers(15))).status, 202);
      issuer.clock.advance(10_000);
      await assertOpen(parley, 1);
      assert.equal((await old.stream.rest()).length, 1, "the reply to initialize");
      issuer.clock.advance(10_000);
      await assertOpen(parley, 0);
      assert.equal(parley.counts.clientSessions, 0);
    }));
});

describe("a stream whose token is revoked", () => {
  interface Revocable extends Scene {
    revoke(): void;
    readonly authorization: { authorization: string };
  }

  function revocable(body: (scene: Revocable) => Promise<void>): Promise<void> {
    const introspection = { clientId: "parley", clientSecret: "s3cret" };
    const answer: { [name: string]: unknown } = { active: true };
    return TestIssuer.create().then(async (issuer) => {
      Object.assign(answer, issuer.claims({ exp: undefined }));
      issuer.answers["/introspect"] = () => Response.json(answer);
      const issuers = [{ issuer: ISSUER, introspection }];
      const parley = issuer.server({ issuers }, SERVED);
      try {
        const authorization = { authorization: "Bearer opaque" };
        const revoke = () => void (answer.active = false);
        const headers = () => Promise.resolve(authorization);
        await body({ issuer, parley, headers, revoke, authorization });
      } finally {
        await parley.close();
      }
      assert.equal(issuer.clock.timers, 0);
    });
  }

  async function openAll({ parley, authorization: headers }: Revocable): Promise<Exchange[]> {
    const modern = new ModernClient(parley.fetch, { headers });
    const legacy = await LegacyClient.connect(parley.fetch, { headers, capabilities: ABLE });
    const asking = await legacy.call("ask");
    await asking.expect("elicitation/create");
    return [
      await modern.start("subscriptions/listen", LISTEN),
      await legacy.listen(),
      asking,
      (await openSse(parley, headers)).stream,
      await modern.start("tools/call", { name: "work", arguments: {} }, { meta: LOGGED }),
    ];
  }

  it("ends with the next request with that token, whatever it is for", () =>
    revocable(async (scene) => {
      const { issuer, parley, revoke, authorization: headers } = scene;
      const streams = await openAll(scene);
      revoke();
      issuer.clock.advance(10_000);
      await assertOpen(parley, 5);
      const refused = await parley.fetch(new Request(RESOURCE, { method: "POST", headers }));
      assert.equal(refused.status, 401);
      await assertOpen(parley, 0);
      const call = await streams[4]!.rest();
      const { error } = call.at(-1)!;
      assert.match(error.message, /access token is no longer valid/);
      assert.ok(!JSON.stringify(call).includes("opaque"));
      assert.equal(parley.counts.live, 1, "only the call that its client can resume is alive");
      for (const stream of streams.slice(0, 4)) await stream.rest();
    }));

  it("ends after five minutes without such a request, unless it is that of a call", () =>
    revocable(async (scene) => {
      const { issuer, parley } = scene;
      const streams = await openAll(scene);
      issuer.clock.advance(299_999);
      await assertOpen(parley, 5);
      issuer.clock.advance(1);
      await assertOpen(parley, 2);
      for (const index of [0, 1, 3]) await streams[index]!.rest();
      for (const index of [2, 4]) await streams[index]!.leave();
      const again = await new ModernClient(parley.fetch, { headers: scene.authorization })
        .start("subscriptions/listen", LISTEN);
      assert.equal(again.status, 200);
      await again.leave();
    }));

  it("ends ten seconds after its line was removed from the token file, or got other scopes", function* () {
    for (const change of [() => "", (line: string) => `${line} more`]) {
      const clock = createManualClock();
      const tokenFile = `${yield* useFolder()}/tokens`;
      const [gone, stays] = [newToken("gone", ["a"]), newToken("stays", [])];
      writeFileSync(tokenFile, `${gone.line}\n${stays.line}\n`);
      const parley = createParley({ ...SERVED, clock, auth: { tokenFile } });
      const listen = (token: string) =>
        new ModernClient(parley.fetch, { headers: { authorization: `Bearer ${token}` } })
          .start("subscriptions/listen", LISTEN);
      const first = yield* until(listen(gone.token));
      const second = yield* until(listen(stays.token));
      clock.advance(60_000);
      yield* until(assertOpen(parley, 2));
      writeFileSync(tokenFile, `# changed\n${change(gone.line)}\n${stays.line}\n`);
      clock.advance(10_000);
      yield* until(assertOpen(parley, 1));
      assert.ok((yield* until(first.rest())).at(-1)!.result);
      yield* until(second.leave());
      yield* until(parley.close());
      assert.equal(clock.timers, 0);
    }
  });
});
