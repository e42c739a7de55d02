/** Signing out: the tokens are deleted here in any case, and revoked where the issuer offers that. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { forget, type Forgotten, revoke } from "../../../src/client/oauth/sign-out.ts";
import { describe, it } from "../../suite.ts";
import { type FakeSite, useFakeSite } from "./fake-site.ts";

const METADATA = "/.well-known/oauth-authorization-server/as";

/** Somebody who was signed in, and whose tokens are no longer stored. */
function* useForgotten(): Operation<{ site: FakeSite; forgotten: Forgotten }> {
  const site = yield* useFakeSite();
  assert.equal(yield* site.oauth().retry(site.refusal(), undefined), true);
  const forgotten = yield* until(forget(site.vault, site.url));
  assert.ok(!("others" in forgotten));
  assert.doesNotMatch(site.stored(), /access-1|refresh-1/);
  return { site, forgotten };
}

function* revoked({ site, forgotten }: { site: FakeSite; forgotten: Forgotten }) {
  const { signal } = new AbortController();
  const isRevoked = yield* until(revoke(site.url, forgotten, signal));
  const sent = site.requests.filter(({ path }) => path === "/as/revoke").map(({ form }) => form);
  return { isRevoked, sent };
}

describe("revoke()", () => {
  it("sends the refresh token to its issuer, as the client that got it", function* () {
    const { isRevoked, sent } = yield* revoked(yield* useForgotten());
    assert.equal(isRevoked, true);
    assert.deepEqual(sent.map(({ token, client_id }) => [token, client_id]), [
      ["refresh-1", "registered"],
    ]);
  });

  it("sends nothing to an issuer that offers no revocation, or has another name", function* () {
    for (const change of [{ revocation_endpoint: undefined }, { issuer: "http://127.0.0.1/x" }]) {
      const there = yield* useForgotten();
      const { site } = there;
      site.answers[METADATA] = () => ({ body: { ...site.metadata(), ...change } });
      assert.deepEqual(yield* revoked(there), { isRevoked: false, sent: [] });
    }
  });

  it("sends nothing to an address that is not encrypted", function* () {
    const there = yield* useForgotten();
    const { site } = there;
    const revocation_endpoint = "http://revoke.example/revoke";
    site.answers[METADATA] = () => ({ body: { ...site.metadata(), revocation_endpoint } });
    assert.deepEqual(yield* revoked(there), { isRevoked: false, sent: [] });
  });

  it("does not fail if the issuer fails, or cannot be reached", function* () {
    const there = yield* useForgotten();
    there.site.answers["/as/revoke"] = () => ({ status: 503 });
    assert.equal((yield* revoked(there)).isRevoked, false);
    there.site.answers[METADATA] = () => ({ status: 500 });
    assert.equal((yield* revoked(there)).isRevoked, false);
    const { forgotten } = there;
    const away = { ...forgotten, issuer: "http://127.0.0.1:9/as" };
    assert.equal((yield* revoked({ ...there, forgotten: away })).isRevoked, false);
  });
});

describe("forget()", () => {
  it("names the servers that somebody is signed in to, if this is none of them", function* () {
    const site = yield* useFakeSite();
    yield* site.oauth().retry(site.refusal(), undefined);
    const found = yield* until(forget(site.vault, "https://other.example/mcp"));
    assert.deepEqual(found, { others: [site.url] });
    assert.match(site.stored(), /access-1/);
  });
});
