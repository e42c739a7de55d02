import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { join } from "node:path";
import { createMcpTool, openStore, type Parley, type ParleyOptions, Sealer } from "parley-mcp";
import { z } from "zod";
import { useFolder } from "../support/folder.ts";
import { TASKS, TestClient } from "../support/modern/client.ts";
import { noticed } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { ISSUER, TestIssuer } from "./issuer.ts";

const about = (
  ctx: { principal: { subject: string; client?: string; scopes: readonly string[] } },
) => `${ctx.principal.subject} ${ctx.principal.client} ${ctx.principal.scopes.join("+")}`;

const ask = createMcpTool("ask").description("Asks.").durable({ sealed: true })
  .elicits({ ok: { response: z.object({ yes: z.boolean() }) } })
  .execute(function* (_, ctx) {
    const before = about(ctx);
    yield* ctx.elicit("ok", { message: "Sure?" });
    return `${before}, ${about(ctx)}, ${ctx.principal.claims.email}`;
  });

const FIRST = { client_id: "first", scope: "mcp one", email: "alice@example.com" };
const LATER = { client_id: "second", scope: "mcp two", email: "new@example.com" };

/** Asks one server, and answers another that starts after it, with another token. */
function* askedAndAnswered(
  issuer: TestIssuer,
  server: () => Operation<Parley>,
): Operation<string> {
  const client = (parley: Parley, token: string) =>
    new TestClient(parley.fetch, { headers: { authorization: `Bearer ${token}` } });
  const one = yield* server();
  const asked = yield* until(
    client(one, yield* until(issuer.token({ claims: FIRST }))).call("ask"),
  );
  yield* until(one.close());
  const two = yield* server();
  const done = yield* until(
    client(two, yield* until(issuer.token({ claims: LATER }))).call("ask", {}, {
      requestState: asked.requestState,
      inputResponses: { ok: { action: "accept", content: { yes: true } } },
    }),
  );
  yield* until(two.close());
  return done.content[0].text;
}

const EXPECTED = "alice first mcp+one, alice first mcp+one, alice@example.com";

describe("the principal of a durable call", () => {
  it("is the same after a restart, whatever the token says then", function* () {
    const issuer = yield* until(TestIssuer.create());
    const sealer = new Sealer("a key of sixteen or more");
    const stores = yield* until(openStore(`sqlite:${join(yield* useFolder(), "calls.db")}`));
    const options: ParleyOptions = { serve: [ask], store: stores.sessions, sealer };
    const text = yield* askedAndAnswered(issuer, function* () {
      return issuer.server({}, options);
    });
    assert.equal(text, EXPECTED);
    stores.close();
  });

  it("is the same when a timer wakes the call without any token", function* () {
    const issuer = yield* until(TestIssuer.create());
    const sealer = new Sealer("a key of sixteen or more");
    const stores = yield* until(openStore(`sqlite:${join(yield* useFolder(), "calls.db")}`));
    const woken: string[] = [];
    const sleepy = createMcpTool("sleepy").description("Sleeps.").durable().task()
      .execute(function* (_, ctx) {
        yield* ctx.sleep(60_000);
        woken.push(`${ctx.principal.id} ${about(ctx)} ${ctx.principal.claims.email}`);
      });
    const ended = Promise.withResolvers<void>();
    const options: ParleyOptions = {
      serve: [sleepy],
      store: stores.sessions,
      sealer,
      onCall: () => ended.resolve(),
    };
    const one = issuer.server({}, options);
    const headers = {
      authorization: `Bearer ${yield* until(issuer.token({ claims: FIRST }))}`,
    };
    const capabilities = { extensions: { [TASKS]: {} } };
    yield* until(new TestClient(one.fetch, { headers, capabilities }).call("sleepy"));
    yield* until(one.close());
    const two = issuer.server({}, options);
    yield* until(noticed(() => {
      issuer.clock.advance(100);
      return woken.length > 0;
    }));
    yield* until(ended.promise);
    assert.deepEqual(woken, [`${ISSUER}|user|alice alice first mcp+one alice@example.com`]);
    yield* until(two.close());
    stores.close();
  });

  it("travels in the sealed state of a call that its client keeps", function* () {
    const issuer = yield* until(TestIssuer.create());
    const sealer = new Sealer("a key of sixteen or more");
    const text = yield* askedAndAnswered(issuer, function* () {
      return issuer.server({}, { serve: [ask], sealer, state: "sealed" });
    });
    assert.equal(text, EXPECTED);
  });
});
