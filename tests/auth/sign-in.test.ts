import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { useBrowser } from "../support/browser.ts";
import { Browser } from "../support/cookie-browser.ts";
import { connectSignedIn, SignIn } from "../support/signed-in-clients.ts";
import { absence } from "../harness/system.ts";
import { describe, it } from "../suite.ts";
import { type Protected, useProtected } from "./protected.ts";

const HTML = { headers: { accept: "text/html" } };

/** A server that signs people in, and the address of a page that belongs to Alice. */
function* usePage(clientSecret?: string): Operation<Protected & { page: string }> {
  const clients: object[] = [];
  const server = yield* useProtected({
    issuer: { clients },
    auth: () => ({
      signIn: { clientId: "parley-pages", ...(clientSecret !== undefined && { clientSecret }) },
    }),
  });
  server.issuer.register({
    client_id: "parley-pages",
    redirect_uris: [new URL("/signed-in", server.url).href],
    grant_types: ["authorization_code"],
    response_types: ["code"],
    ...(clientSecret === undefined
      ? { token_endpoint_auth_method: "none", application_type: "native" }
      : { client_secret: clientSecret }),
  });
  const client = yield* until(
    connectSignedIn("v2 modern", server.url, new SignIn("alice", "document")),
  );
  const page = yield* until(client.call("page"));
  yield* until(client.close());
  return { ...server, page };
}

describe("a person who opens a page", () => {
  for (
    const [kind, secret] of [["public", undefined], ["confidential", "s3cret-enough"]] as const
  ) {
    it(`signs in at the issuer, with the server as a ${kind} client`, function* () {
      const { page, issuer } = yield* usePage(secret);
      const alice = new Browser({ as_user: "alice" });
      const { response, statuses } = yield* until(alice.visit(page, undefined, HTML));
      assert.equal(yield* until(response!.text()), "A page for alice");
      assert.equal(statuses[0], 303);
      const requests = issuer.requests.length;
      const again = yield* until(alice.visit(page, undefined, HTML));
      assert.deepEqual(again.statuses, [200]);
      yield* until(again.response!.text());
      assert.equal(issuer.requests.length, requests, "the session needs no issuer");
    });
  }

  it("sees only its own page", function* () {
    const { page } = yield* usePage();
    const bob = new Browser({ as_user: "bob" });
    const { response } = yield* until(bob.visit(page, undefined, HTML));
    assert.equal(response!.status, 403);
    assert.ok(!(yield* until(response!.text())).includes("alice"));
  });

  it("signs in again after an hour", function* () {
    const { page, clock, issuer } = yield* usePage();
    issuer.tokenTtl = 10_000;
    const alice = new Browser({ as_user: "alice" });
    const visit = async () => {
      const { response, statuses } = await alice.visit(page, undefined, HTML);
      await response!.text();
      return statuses;
    };
    yield* until(visit());
    clock.putForward(3_500_000);
    assert.deepEqual(yield* until(visit()), [200]);
    clock.putForward(200_000);
    const statuses = yield* until(visit());
    assert.deepEqual([statuses[0], statuses.at(-1)], [303, 200]);
  });

  it("gets no redirect for what is no page: a script or a form must already be signed in", function* () {
    const { page } = yield* usePage();
    for (
      const init of [
        {},
        { headers: { accept: "application/json" } },
        { headers: { accept: "text/html", "sec-fetch-mode": "cors" } },
        { headers: { accept: "text/html" }, method: "POST" },
      ]
    ) {
      const response = yield* until(fetch(page, { ...init, redirect: "manual" }));
      assert.equal(response.status, 401);
      yield* until(response.text());
    }
  });

  it("gets a cookie that scripts and other sites cannot use, and that holds no token", function* () {
    const { page } = yield* usePage();
    const first = yield* until(fetch(page, { ...HTML, redirect: "manual" }));
    const cookie = first.headers.getSetCookie().join("\n");
    assert.match(
      cookie,
      /^parley_sign_in_\w+=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    const asked = new URL(first.headers.get("location")!).searchParams;
    assert.equal(asked.get("code_challenge_method"), "S256");
    assert.ok(asked.get("resource")!.endsWith("/mcp"));
    assert.ok(!cookie.includes(asked.get("state")!), "the cookie is sealed");
  });
});

describe("a forged callback", () => {
  it("is refused without the cookie of the attempt, and with that of another one", function* () {
    const { page } = yield* usePage();
    const stopped = async (user: string) => {
      const browser = new Browser({ as_user: user });
      const visit = await browser.visit(page, (url) => url.includes("/signed-in"), HTML);
      return { browser, callback: visit.url };
    };
    const victim = yield* until(stopped("alice"));
    const attacker = yield* until(stopped("bob"));
    const statusOf = async (browser: Browser, url: string) => {
      const { response } = await browser.visit(url, undefined, HTML);
      await response!.body?.cancel();
      return response!.status;
    };
    // The attacker's code in the victim's browser, and the other way round.
    assert.equal(yield* until(statusOf(victim.browser, attacker.callback)), 400);
    assert.equal(yield* until(statusOf(attacker.browser, victim.callback)), 400);
    assert.equal(yield* until(statusOf(new Browser(), victim.callback)), 400);
    const changed = (name: string, value: string | undefined) => {
      const url = new URL(victim.callback);
      if (value === undefined) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
      return url.href;
    };
    const wrong = [
      changed("iss", "https://evil.example"),
      changed("iss", undefined),
      changed("state", "another"),
      changed("code", "another"),
      changed("code", undefined),
      changed("error", "access_denied"),
    ];
    for (const url of wrong) {
      assert.equal(yield* until(statusOf(victim.browser, url)), 400, new URL(url).search);
    }
    assert.equal(yield* until(statusOf(victim.browser, victim.callback)), 200);
    // A code counts once, and so does an attempt.
    assert.equal(yield* until(statusOf(victim.browser, victim.callback)), 400);
  });
});

describe("Chromium", () => {
  const cases = [["alice", /A page for alice/], ["bob", /another caller/]] as const;
  for (const [user, expected] of cases) {
    const inBrowser = it.unless(absence("browser"));
    inBrowser(`shows a page to its owner only: ${user}`, function* () {
      const { page: address } = yield* usePage();
      const browser = yield* useBrowser();
      yield* until(
        browser.addCookies([{ name: "as_user", value: user, domain: "127.0.0.1", path: "/" }]),
      );
      const page = yield* until(browser.newPage());
      yield* until(page.goto(address));
      assert.match(yield* until(page.content()), expected);
      assert.equal(page.url(), address);
    });
  }
});
