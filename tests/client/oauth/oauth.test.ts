import assert from "node:assert/strict";
import { all, type Operation, spawn, suspend, until, withResolvers } from "effection";
import { ClientError } from "../../../src/client/client-error.ts";
import { forget } from "../../../src/client/oauth/sign-out.ts";
import { describe, it } from "../../suite.ts";
import { type FakeSite, leaks, useFakeSite } from "./fake-site.ts";

/** The error of an operation that must fail, and must not contain a secret. */
function* failure(operation: Operation<unknown>): Operation<ClientError> {
  let value: unknown;
  try {
    value = yield* operation;
  } catch (error) {
    assert.ok(error instanceof ClientError, String(error));
    assert.equal(leaks(error.message), false, error.message);
    return error;
  }
  throw new Error(`It did not fail, but returned ${value}`);
}

function* signedIn(site: FakeSite) {
  const oauth = site.oauth();
  assert.equal(yield* oauth.retry(site.refusal(), undefined), true);
  return oauth;
}

describe("OAuth.retry()", () => {
  it("signs in with PKCE, state and resource, and registers a native client", function* () {
    const site = yield* useFakeSite();
    const oauth = yield* signedIn(site);
    assert.equal(oauth.header, "Bearer access-1");
    const [page] = site.pages;
    const asked = Object.fromEntries(page!.searchParams);
    assert.equal(page!.origin + page!.pathname, `${site.issuer}/authorize`);
    assert.equal(asked.code_challenge_method, "S256");
    assert.equal(asked.resource, site.url);
    assert.equal(asked.scope, "mcp");
    assert.match(asked.redirect_uri!, /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    const registration = site.requests.find(({ path }) => path === "/as/register")!.form;
    assert.equal(registration.application_type, "native");
    assert.deepEqual(registration.redirect_uris, [asked.redirect_uri]);
    assert.equal("scope" in registration, false);
    const [grant] = site.grants();
    assert.equal(grant!.resource, site.url);
    assert.ok(grant!.code_verifier!.length >= 43);
  });

  it("uses the stored token in another process, and asks nobody", function* () {
    const site = yield* useFakeSite();
    yield* signedIn(site);
    const other = site.oauth({ browse: undefined });
    assert.equal(yield* other.retry(site.refusal(), undefined), true);
    assert.equal(other.header, "Bearer access-1");
    assert.equal(site.pages.length, 1);
  });

  it("refreshes an expired token, and keeps the new refresh token", function* () {
    const site = yield* useFakeSite();
    yield* signedIn(site);
    site.clock.advance(3_600_000);
    const other = site.oauth({ browse: undefined });
    assert.equal(yield* other.retry(site.refusal(), undefined), true);
    assert.equal(other.header, "Bearer access-2");
    const { grant_type, refresh_token, resource, client_id } = site.grants()[1]!;
    assert.deepEqual(
      [grant_type, refresh_token, resource, client_id],
      ["refresh_token", "refresh-1", site.url, "registered"],
    );
    assert.match(site.stored(), /refresh-2/);
    assert.doesNotMatch(site.stored(), /refresh-1/);
  });

  it("keeps the refresh token if the authorization server does not rotate it", function* () {
    const site = yield* useFakeSite();
    const oauth = yield* signedIn(site);
    site.answers["/as/token"] = () => ({
      body: { access_token: "access-2", token_type: "bearer" },
    });
    assert.equal(yield* oauth.retry(site.refusal(), oauth.header), true);
    assert.match(site.stored(), /refresh-1/);
  });

  it("asks the person again if the refresh token is refused", function* () {
    const site = yield* useFakeSite();
    const oauth = yield* signedIn(site);
    yield* oauth.retry({ status: 200, headers: new Headers() }, oauth.header);
    const answer = site.answers["/as/token"]!;
    site.answers["/as/token"] = (form) =>
      form.grant_type === "refresh_token"
        ? { status: 400, body: { error: "invalid_grant" } }
        : answer(form);
    assert.equal(yield* oauth.retry(site.refusal(), oauth.header), true);
    assert.equal(oauth.header, "Bearer access-2");
    assert.equal(site.pages.length, 2);
  });

  it("uses the tokens that another process has refreshed meanwhile", function* () {
    const site = yield* useFakeSite();
    const [first, second] = [yield* signedIn(site), site.oauth({ browse: undefined })];
    assert.equal(yield* second.retry(site.refusal(), undefined), true);
    assert.equal(yield* first.retry(site.refusal(), first.header), true);
    assert.equal(yield* second.retry(site.refusal(), second.header), true);
    assert.equal(second.header, "Bearer access-2");
    assert.equal(site.grants().length, 2);
  });

  it("asks for more scopes without losing those that were granted", function* () {
    const site = yield* useFakeSite();
    const oauth = yield* signedIn(site);
    const challenge = 'Bearer error="insufficient_scope", scope="flights:book"';
    assert.equal(yield* oauth.retry(site.refusal(403, challenge), oauth.header), true);
    assert.equal(site.pages[1]!.searchParams.get("scope"), "mcp flights:book");
    // The same again does not help.
    yield* failure(oauth.retry(site.refusal(403, challenge), oauth.header));
    assert.equal(site.pages.length, 2);
  });

  it("gives up on a server that refuses a new token", function* () {
    const site = yield* useFakeSite();
    const oauth = yield* signedIn(site);
    yield* oauth.retry(site.refusal(), oauth.header);
    yield* failure(oauth.retry(site.refusal(), oauth.header));
    assert.equal(site.pages.length, 1);
  });

  it("leaves refusals that have another reason alone", function* () {
    const site = yield* useFakeSite();
    const oauth = site.oauth();
    for (const [status, challenge] of [[403, "Bearer"], [401, 'Basic realm="x"']] as const) {
      assert.equal(yield* oauth.retry(site.refusal(status, challenge), undefined), false);
    }
    assert.deepEqual(site.requests, []);
  });

  it("leaves a server alone that only wants a fixed header", function* () {
    const site = yield* useFakeSite();
    for (const path of Object.keys(site.answers)) delete site.answers[path];
    assert.equal(yield* site.oauth().retry(site.refusal(), undefined), false);
    assert.deepEqual([site.pages.length, site.vault.documents.size], [0, 0]);
  });

  it("signs in once for requests that are refused at the same time", function* () {
    const site = yield* useFakeSite();
    const oauth = site.oauth();
    const attempts = [1, 2, 3].map(() => oauth.retry(site.refusal(), undefined));
    assert.deepEqual(yield* all(attempts), [true, true, true]);
    assert.equal(site.pages.length, 1);
  });

  it("fails at once if nobody can sign in, and registers nothing", function* () {
    const site = yield* useFakeSite();
    yield* failure(site.oauth({ browse: undefined }).retry(site.refusal(), undefined));
    assert.equal(site.paths().includes("/as/register"), false);
  });

  it("registers once for each callback, and uses the same callback if it can", function* () {
    const site = yield* useFakeSite();
    yield* signedIn(site);
    assert.ok("issuer" in (yield* until(forget(site.vault, site.url))));
    yield* signedIn(site);
    // Another program may have taken the port, so the number is not certain.
    const callbacks = new Set(site.pages.map((page) => page.searchParams.get("redirect_uri")));
    const registrations = site.paths().filter((path) => path === "/as/register");
    assert.deepEqual([site.pages.length, registrations.length], [2, callbacks.size]);
  });

  it("forgets a registered client that the authorization server no longer knows", function* () {
    const site = yield* useFakeSite();
    site.answers["/as/token"] = () => ({ status: 401, body: { error: "invalid_client" } });
    yield* failure(site.oauth().retry(site.refusal(), undefined));
    assert.doesNotMatch(site.stored(), /registered/);
  });

  it("uses a given client, and its secret", function* () {
    const site = yield* useFakeSite();
    const oauth = site.oauth({ clientId: "my-client", clientSecret: "client-secret" });
    assert.equal(yield* oauth.retry(site.refusal(), undefined), true);
    const { authorization } = site.requests.find(({ path }) => path === "/as/token")!;
    assert.equal(authorization, `Basic ${btoa("my-client:client-secret")}`);
    assert.equal(site.paths().includes("/as/register"), false);
    assert.doesNotMatch(site.stored(), /client-secret/);
    // The tokens of one client are of no use to another.
    const other = site.oauth({ clientId: "other", browse: undefined });
    yield* failure(other.retry(site.refusal(), undefined));
  });

  it("uses a metadata document only where that is supported", function* () {
    const site = yield* useFakeSite();
    const clientMetadataUrl = "https://client.example/client.json";
    yield* site.oauth({ clientMetadataUrl }).retry(site.refusal(), undefined);
    assert.equal(site.pages[0]!.searchParams.get("client_id"), "registered");
    site.vault.documents.clear();
    const body = { ...site.metadata(), client_id_metadata_document_supported: true };
    site.answers["/.well-known/oauth-authorization-server/as"] = () => ({ body });
    yield* site.oauth({ clientMetadataUrl }).retry(site.refusal(), undefined);
    assert.equal(site.pages[1]!.searchParams.get("client_id"), clientMetadataUrl);
  });

  it("finds OpenID Connect metadata, in the order of the specification", function* () {
    const site = yield* useFakeSite();
    delete site.answers["/.well-known/oauth-authorization-server/as"];
    site.answers["/as/.well-known/openid-configuration"] = () => ({ body: site.metadata() });
    yield* signedIn(site);
    assert.deepEqual(site.paths().slice(0, 4), [
      "/.well-known/oauth-protected-resource/mcp",
      "/.well-known/oauth-authorization-server/as",
      "/.well-known/openid-configuration/as",
      "/as/.well-known/openid-configuration",
    ]);
  });

  it("asks for a refresh token where that needs a scope", function* () {
    const site = yield* useFakeSite();
    const body = { ...site.metadata(), scopes_supported: ["mcp", "offline_access"] };
    site.answers["/.well-known/oauth-authorization-server/as"] = () => ({ body });
    yield* signedIn(site);
    assert.equal(site.pages[0]!.searchParams.get("scope"), "mcp offline_access");
  });
});

describe("OAuth.retry() with a hostile server", () => {
  const metadata = "/.well-known/oauth-authorization-server/as";
  const resource = "/.well-known/oauth-protected-resource/mcp";
  const cheats: { readonly [what: string]: (site: FakeSite) => void } = {
    "an issuer that is not encrypted": (site) =>
      site.answers[resource] = () => ({
        body: { ...site.resource(), authorization_servers: ["http://issuer.example"] },
      }),
    "the metadata of another server": (site) =>
      site.answers[resource] = () => ({
        body: { ...site.resource(), resource: "https://other.example/mcp" },
      }),
    "the metadata of another issuer": (site) =>
      site.answers[metadata] = () => ({
        body: { ...site.metadata(), issuer: "https://other.example" },
      }),
    "an issuer without PKCE": (site) =>
      site.answers[metadata] = () => ({
        body: { ...site.metadata(), code_challenge_methods_supported: ["plain"] },
      }),
    "a sign-in page that is a script": (site) =>
      site.answers[metadata] = () => ({
        body: { ...site.metadata(), authorization_endpoint: "javascript:alert(1)" },
      }),
    "a metadata document that redirects": (site) =>
      site.answers[metadata] = () => ({
        status: 302,
        headers: { location: `${site.origin}/elsewhere` },
      }),
    "a metadata document that is huge": (site) =>
      site.answers[metadata] = () => ({ body: { ...site.metadata(), x: "x".repeat(300_000) } }),
    "metadata that is no object": (site) => site.answers[resource] = () => ({ body: [1] }),
  };
  for (const [what, cheat] of Object.entries(cheats)) {
    it(`refuses ${what}, before anybody signs in`, function* () {
      const site = yield* useFakeSite();
      cheat(site);
      yield* failure(site.oauth().retry(site.refusal(), undefined));
      assert.deepEqual([site.pages.length, site.grants().length], [0, 0]);
    });
  }

  it("refuses an answer of another issuer, and one without an issuer", function* () {
    const site = yield* useFakeSite();
    for (const iss of ["https://other.example", ""]) {
      const browse = (page: URL) => site.browse(page, { iss });
      yield* failure(site.oauth({ browse }).retry(site.refusal(), undefined));
    }
    assert.deepEqual(site.grants(), []);
  });

  it("ignores an answer with another state, and continues to wait", function* () {
    const site = yield* useFakeSite();
    const browse = function* (page: URL) {
      yield* site.browse(page, { state: "forged", code: "forged" });
      yield* site.browse(page);
    };
    assert.equal(yield* site.oauth({ browse }).retry(site.refusal(), undefined), true);
    assert.deepEqual(site.grants().map(({ code }) => code), ["code-1"]);
  });

  it("does not repeat the text of an authorization server's error", function* () {
    const site = yield* useFakeSite();
    site.answers["/as/token"] = () => ({
      status: 400,
      body: { error: "access-1 refresh-1", error_description: "code-1" },
    });
    yield* failure(site.oauth().retry(site.refusal(), undefined));
    const browse = (page: URL) => site.browse(page, { error: "access_denied" });
    const { message } = yield* failure(site.oauth({ browse }).retry(site.refusal(), undefined));
    assert.match(message, /access was denied/);
  });

  it("refuses a token of another kind, and keeps nothing", function* () {
    const site = yield* useFakeSite();
    site.answers["/as/token"] = () => ({ body: { ...site.tokens(), token_type: "DPoP" } });
    yield* failure(site.oauth().retry(site.refusal(), undefined));
    assert.equal(leaks(site.stored()), false);
  });

  /** Moves the server to another issuer, which gives out its own client and tokens. */
  function move(site: FakeSite): string {
    const moved = `${site.origin}/new`;
    const body = JSON.parse(JSON.stringify(site.metadata()).replaceAll(site.issuer, moved));
    site.answers[resource] = () => ({
      body: { ...site.resource(), authorization_servers: [moved] },
    });
    site.answers["/.well-known/oauth-authorization-server/new"] = () => ({ body });
    site.answers["/new/register"] = () => ({ status: 201, body: { client_id: "new-client" } });
    site.answers["/new/token"] = () => ({ body: site.tokens() });
    return moved;
  }

  it("does not send a client secret to a new issuer", function* () {
    const site = yield* useFakeSite();
    const client = { clientId: "my-client", clientSecret: "client-secret" };
    yield* site.oauth(client).retry(site.refusal(), undefined);
    const iss = move(site);
    const again = { ...client, browse: (page: URL) => site.browse(page, { iss }) };
    yield* failure(site.oauth(again).retry(site.refusal(), undefined));
    assert.equal(site.paths().includes("/new/token"), false);
    // Signing out says that the person knows.
    yield* until(forget(site.vault, site.url));
    assert.equal(yield* site.oauth(again).retry(site.refusal(), undefined), true);
  });

  it("sends nothing of one issuer to another", function* () {
    const site = yield* useFakeSite();
    yield* signedIn(site);
    const moved = move(site);
    const browse = (page: URL) => site.browse(page, { iss: moved });
    const other = site.oauth({ browse });
    assert.equal(yield* other.retry(site.refusal(), undefined), true);
    const there = JSON.stringify(site.requests.filter(({ path }) => path.startsWith("/new/")));
    assert.doesNotMatch(there, /access-1|refresh-1|"registered"/);
    // What the former issuer gave out for this server is gone.
    assert.doesNotMatch(site.stored(), /access-1|refresh-1/);
  });
});

describe("OAuth.retry(), when it does not come to an end,", () => {
  /** Starts a sign-in that nobody finishes, and waits until the person has the link. */
  function* started(site: FakeSite) {
    const shown = withResolvers<URL>();
    const oauth = site.oauth({
      *browse(page) {
        shown.resolve(page);
      },
    });
    const task = yield* spawn(() => failure(oauth.retry(site.refusal(), undefined)));
    const page = yield* shown.operation;
    return { task, callback: page.searchParams.get("redirect_uri")! };
  }

  const isClosed = (callback: string) => until(fetch(callback).then(() => false, () => true));

  it("stops listening when it is cancelled", function* () {
    const site = yield* useFakeSite();
    const { task, callback } = yield* started(site);
    assert.equal(yield* until(fetch(callback).then((r) => r.text().then(() => r.status))), 400);
    yield* task.halt();
    assert.equal(yield* isClosed(callback), true);
    assert.equal(site.clock.timers, 0);
  });

  it("gives up after five minutes, and stops listening", function* () {
    const site = yield* useFakeSite();
    const { task, callback } = yield* started(site);
    site.clock.advance(5 * 60_000);
    yield* task;
    assert.equal(yield* isClosed(callback), true);
    assert.equal(site.clock.timers, 0);
  });

  it("gives up on an authorization server that does not answer", function* () {
    const site = yield* useFakeSite();
    const asked = withResolvers<void>();
    site.answers["/.well-known/oauth-authorization-server/as"] = () => {
      asked.resolve();
      return new Promise(() => {});
    };
    const task = yield* spawn(() => failure(site.oauth().retry(site.refusal(), undefined)));
    yield* asked.operation;
    site.clock.advance(20_000);
    assert.match((yield* task).message, /in time/);
  });

  it("lets another request sign in after one was cancelled", function* () {
    const site = yield* useFakeSite();
    let isFirst = true;
    const shown = withResolvers<void>();
    const oauth = site.oauth({
      *browse(page) {
        if (!isFirst) return yield* site.browse(page);
        isFirst = false;
        shown.resolve();
        yield* suspend();
      },
    });
    const first = yield* spawn(() => oauth.retry(site.refusal(), undefined));
    yield* shown.operation;
    const second = yield* spawn(() => oauth.retry(site.refusal(), undefined));
    yield* first.halt();
    assert.equal(yield* second, true);
  });
});
