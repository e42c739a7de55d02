import assert from "node:assert/strict";
import { until } from "effection";
import { INTROSPECTOR, MACHINE } from "../support/authorization-server.ts";
import { TestClient } from "../support/modern/client.ts";
import { CLIENT_KINDS, connectSignedIn, SignIn } from "../support/signed-in-clients.ts";
import { describe, it } from "../suite.ts";
import { useProtected } from "./protected.ts";

async function condition(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

describe("the official clients", () => {
  for (const kind of CLIENT_KINDS) {
    const isV1 = kind === "v1";
    for (const registration of ["document", "dynamic"] as const) {
      it(`sign in from nothing but the 401: ${kind}, ${registration} registration`, function* () {
        const { url, issuer } = yield* useProtected();
        const signIn = new SignIn("alice", registration);
        const client = yield* until(connectSignedIn(kind, url, signIn));
        assert.equal(client.version, kind === "v2 modern" ? "2026-07-28" : "2025-11-25");
        assert.equal(yield* until(client.call("hello")), `Hello ${issuer.issuer}|user|alice`);
        // The newer client also asks for a refresh token.
        assert.deepEqual(signIn.asked, [isV1 ? "mcp" : "mcp offline_access"]);
        yield* until(client.close());
      });
    }

    it(`sign in again for a scope that a tool needs: ${kind}`, function* () {
      const { url } = yield* useProtected();
      const signIn = new SignIn("alice", "document");
      const client = yield* until(connectSignedIn(kind, url, signIn));
      // With a refresh token, the older client would only refresh.
      if (isV1) signIn.forgetRefreshToken();
      assert.equal(yield* until(client.call("book")), "Booked for alice");
      assert.equal(signIn.asked.length, 2);
      assert.match(signIn.asked[1]!, /^mcp flights:book/);
      yield* until(client.close());
    });

    it(`refresh a token that has expired: ${kind}`, function* () {
      const { url, issuer, clock, parley } = yield* useProtected({ issuer: { tokenTtl: 60 } });
      const signIn = new SignIn("alice", "document");
      const client = yield* until(connectSignedIn(kind, url, signIn));
      // Clients of the legacy era also listen. Two requests at once would refresh twice.
      if (kind !== "v2 modern") yield* until(condition(() => parley.counts.streams === 1));
      const before = signIn.accessToken;
      issuer.tokenTtl = 600;
      clock.putForward(120_000);
      assert.match(yield* until(client.call("hello")), /alice$/);
      assert.notEqual(signIn.accessToken, before);
      assert.equal(signIn.asked.length, 1, "the person is not asked again");
      yield* until(client.close());
    });

    it(`refresh a token that expires while a person thinks: ${kind}`, function* () {
      const { url, issuer, clock, parley } = yield* useProtected({ issuer: { tokenTtl: 60 } });
      const signIn = new SignIn("alice", "document");
      const client = yield* until(
        connectSignedIn(kind, url, signIn, () => {
          issuer.tokenTtl = 600;
          clock.putForward(120_000);
          return Promise.resolve({ action: "accept", content: { yes: true } });
        }),
      );
      if (kind !== "v2 modern") yield* until(condition(() => parley.counts.streams === 1));
      const before = signIn.accessToken;
      assert.equal(yield* until(client.call("ask")), "accept by alice");
      assert.notEqual(signIn.accessToken, before);
      yield* until(client.close());
    });
  }

  it("keep working after the issuer has changed its key", function* () {
    const { url, issuer, clock } = yield* useProtected({ issuer: { tokenTtl: 60 } });
    const client = yield* until(
      connectSignedIn("v2 modern", url, new SignIn("alice", "document")),
    );
    yield* until(client.call("hello"));
    yield* until(issuer.rotate());
    issuer.tokenTtl = 600;
    clock.putForward(120_000);
    assert.match(yield* until(client.call("hello")), /alice$/);
    yield* until(client.close());
  });
});

describe("opaque tokens of a real issuer", () => {
  const options = {
    issuer: { opaque: true },
    auth: ({ issuer }: { issuer: string }) => ({
      issuers: [{ issuer, introspection: INTROSPECTOR }],
    }),
  };

  it("name the caller", function* () {
    const { url, issuer } = yield* useProtected(options);
    const client = yield* until(
      connectSignedIn("v2 modern", url, new SignIn("alice", "document")),
    );
    assert.equal(yield* until(client.call("hello")), `Hello ${issuer.issuer}|user|alice`);
    yield* until(client.close());
  });

  it("are of no use once they are revoked", function* () {
    const { url, issuer, clock } = yield* useProtected(options);
    const { clientId, clientSecret } = MACHINE;
    const token = yield* until(issuer.clientToken(clientId, clientSecret, "mcp"));
    const call = async () => {
      const headers = { authorization: `Bearer ${token}` };
      const client = new TestClient((request) => fetch(request), { url, headers });
      const exchange = await client.start("tools/call", { name: "hello", arguments: {} });
      return exchange.status === 200 ? await exchange.text() : exchange.status;
    };
    assert.equal(yield* until(call()), `Hello ${issuer.issuer}|client|machine`);
    yield* until(issuer.revoke(clientId, clientSecret, token));
    clock.putForward(10_000);
    assert.equal(yield* until(call()), 401);
  });
});
