import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { createMcpTool, type Parley, Sealer } from "parley-mcp";
import { BrowserSessions } from "../../src/auth/browser-session.ts";
import { useBrowser } from "../support/browser.ts";
import { Browser } from "../support/cookie-browser.ts";
import { TestClient } from "../support/modern/client.ts";
import { connectSignedIn, SignIn } from "../support/signed-in-clients.ts";
import { absence } from "../harness/system.ts";
import { describe, it } from "../suite.ts";
import { ISSUER, TestIssuer } from "./issuer.ts";
import { type Protected, useProtected } from "./protected.ts";

const HTML = { headers: { accept: "text/html" } };

const page = createMcpTool("page").description("Opens a page.").execute(function* (_, ctx) {
  const { url } = yield* ctx.usePage({
    stays: 86_400_000,
    *respond() {
      return new Response("A page");
    },
  });
  return url;
});

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

  it("is checked again by the issuer after five minutes, without being asked", function* () {
    const { page, clock, issuer } = yield* usePage();
    issuer.tokenTtl = 10_000;
    const alice = new Browser({ as_user: "alice" });
    const visit = async () => {
      const { response, statuses } = await alice.visit(page, undefined, HTML);
      await response!.text();
      return statuses;
    };
    yield* until(visit());
    clock.putForward(299_000);
    assert.deepEqual(yield* until(visit()), [200]);
    clock.putForward(1_000);
    const before = issuer.requests.length;
    const statuses = yield* until(visit());
    assert.deepEqual([statuses[0], statuses.at(-1)], [303, 200]);
    const asked = issuer.requests.slice(before).filter((path) => path.startsWith("/interaction/"));
    assert.deepEqual(asked, [], "the person is not asked");
    assert.deepEqual(yield* until(visit()), [200], "the session is new");
  });

  it("may send a form for ten minutes, and then keeps what was entered", function* () {
    const { page, clock } = yield* usePage();
    const alice = new Browser({ as_user: "alice" });
    yield* until(alice.visit(page, undefined, HTML).then(({ response }) => response!.text()));
    const send = (accept: string) =>
      alice.visit(page, undefined, { method: "POST", headers: { accept } });
    clock.putForward(599_000);
    const sent = yield* until(send("text/html"));
    assert.equal(yield* until(sent.response!.text()), "A page for alice");
    clock.putForward(1_000);
    const { response } = yield* until(send("text/html"));
    assert.equal(response!.status, 401);
    assert.match(response!.headers.get("www-authenticate")!, /^Bearer resource_metadata=/);
    const html = yield* until(response!.text());
    assert.match(html, /Your answer was not sent/);
    assert.ok(html.includes(`href="${new URL(page).pathname}" target="_blank"`));
    const script = yield* until(send("application/json"));
    assert.equal(script.response!.status, 401);
    assert.match(yield* until(script.response!.text()), /^\{"jsonrpc"/);
  });

  it("gets no redirect for a request of a script or a form, which must already be signed in", function* () {
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

describe("the session of a person", () => {
  /** A server whose cookies the test can read and write. */
  async function sealed(
    publicUrl: string,
    body: (scene: {
      issuer: TestIssuer;
      parley: Parley;
      sessions: BrowserSessions;
      page: string;
    }) => Promise<void>,
  ): Promise<void> {
    const issuer = await TestIssuer.create();
    const sealer = new Sealer("a key that both have");
    // The server does not need the metadata before somebody signs in.
    const issuers = [{ issuer: ISSUER, jwksUri: `${ISSUER}/jwks` }];
    const parley = issuer.server({ signIn: { clientId: "pages" }, issuers }, {
      sealer,
      publicUrl,
      serve: [page],
    });
    const token = await issuer.token({ claims: { aud: `${publicUrl}/mcp` } });
    const headers = { authorization: `Bearer ${token}` };
    const client = new TestClient(parley.fetch, { headers, url: `${publicUrl}/mcp` });
    const { content } = await client.call("page");
    const sessions = new BrowserSessions(sealer, () => publicUrl.startsWith("https:"));
    try {
      await body({ issuer, parley, sessions, page: content[0].text });
    } finally {
      await parley.close();
    }
  }

  const ALICE = {
    id: `${ISSUER}|user|alice`,
    subject: "alice",
    issuer: ISSUER,
    scopes: ["mcp"],
    claims: { email: "alice@example.com" },
  };
  const LOCAL = "http://127.0.0.1:7411";
  const ENDPOINTS = {
    authorization_endpoint: `${ISSUER}/auth`,
    token_endpoint: `${ISSUER}/token`,
  };

  it("lasts for ten minutes while the issuer is down", () =>
    sealed(LOCAL, async ({ issuer, parley, sessions, page }) => {
      const [cookie] = sessions.begin(ALICE, issuer.clock.now()).split(";");
      const visit = async () => {
        const headers = { accept: "text/html", cookie: cookie! };
        const response = await parley.fetch(new Request(page, { headers }));
        await response.text();
        return response.status;
      };
      issuer.answers["/.well-known/openid-configuration"] = () => new Response("", { status: 500 });
      issuer.clock.advance(599_999);
      assert.equal(await visit(), 200);
      issuer.clock.advance(1);
      assert.equal(await visit(), 503, "the session has ended");
    }));

  it("is a cookie for this host only, which scripts and other sites cannot use", () =>
    sealed("https://tools.example.com", async ({ issuer, parley, sessions, page }) => {
      issuer.answers["/.well-known/openid-configuration"] = () =>
        Response.json({ issuer: ISSUER, jwks_uri: `${ISSUER}/jwks`, ...ENDPOINTS });
      const now = issuer.clock.now();
      const session = sessions.begin(ALICE, now);
      assert.match(
        session,
        /^parley_session=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      );
      const response = await parley.fetch(new Request(page, { headers: { accept: "text/html" } }));
      const [attempt] = response.headers.getSetCookie();
      assert.match(
        attempt!,
        /^parley_sign_in_\w+=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      );
      const location = response.headers.get("location")!;
      assert.ok(location.startsWith(`${ISSUER}/auth?`));
      for (const text of [session, attempt!]) assert.ok(!/alice|domain/i.test(text));
      // A cookie of one kind is not accepted as the other one.
      const [, value] = /^[^=]+=([^;]+)/.exec(attempt!)!;
      const forged = { accept: "text/html", cookie: `parley_session=${value}` };
      assert.equal((await parley.fetch(new Request(page, { headers: forged }))).status, 303);
    }));

  it("does not begin if the issuer's metadata leads elsewhere", () =>
    sealed(LOCAL, async ({ issuer, parley, page }) => {
      for (const address of ["javascript:alert(1)", "http://evil.example/auth", "/auth", 7]) {
        issuer.clock.advance(3_600_000);
        issuer.answers["/.well-known/openid-configuration"] = () =>
          Response.json({ issuer: ISSUER, ...ENDPOINTS, authorization_endpoint: address });
        const headers = { accept: "text/html" };
        const response = await parley.fetch(new Request(page, { headers }));
        assert.equal(response.status, 503, `${address}`);
        assert.equal(response.headers.get("location"), null);
        await response.text();
      }
    }));
});

describe("signing out", () => {
  const POST = (url: string) => ({
    method: "POST",
    headers: { origin: new URL(url).origin, accept: "text/html" },
  });

  it("ends the session, and the next sign-in asks who it is", function* () {
    const { page, url, issuer } = yield* usePage();
    const alice = new Browser({ as_user: "alice" });
    const textAt = async (address: string, init: RequestInit = HTML) => {
      const { response, statuses } = await alice.visit(address, undefined, init);
      return { text: await response!.text(), statuses, response: response! };
    };
    yield* until(textAt(page));
    const address = new URL("/sign-out", url).href;
    const asked = yield* until(textAt(address));
    assert.match(asked.text, /You are signed in as alice/);
    assert.equal((yield* until(textAt(page))).text, "A page for alice", "a GET signs nobody out");
    const foreign = yield* until(textAt(address, {
      method: "POST",
      headers: { "sec-fetch-site": "cross-site" },
    }));
    assert.equal(foreign.response.status, 403);
    const out = yield* until(textAt(address, POST(url)));
    assert.match(out.text, /You are signed out/);
    assert.equal(out.response.headers.get("cache-control"), "no-store");
    const [ended, marked] = out.response.headers.getSetCookie();
    assert.equal(ended, "parley_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax");
    assert.equal(marked, "parley_signed_out=1; Max-Age=86400; Path=/; HttpOnly; SameSite=Lax");
    assert.match((yield* until(textAt(address))).text, /You are not signed in/);
    const before = issuer.requests.length;
    assert.equal((yield* until(textAt(page))).text, "A page for alice");
    const interactions = issuer.requests.slice(before)
      .filter((line) => line.includes("/interaction/"));
    assert.ok(interactions.length > 0, "the issuer asks who it is");
    const again = yield* until(alice.visit(page, undefined, HTML));
    assert.deepEqual(again.statuses, [200]);
    yield* until(again.response!.text());
  });

  it("is not needed to change the account: the page of another caller offers it", function* () {
    const { page, url } = yield* usePage();
    const browser = new Browser({ as_user: "bob" });
    const refused = yield* until(browser.visit(page, undefined, HTML));
    assert.equal(refused.response!.status, 403);
    const html = yield* until(refused.response!.text());
    assert.match(html, /You are signed in as bob/);
    const [, link] = /href="([^"]+)">Use another account/.exec(html)!;
    const address = link!.replaceAll("&amp;", "&");
    const stopped = yield* until(
      browser.visit(address, (url) => !url.startsWith(new URL(page).origin), HTML),
    );
    assert.equal(new URL(stopped.url).searchParams.get("prompt"), "login");
    assert.ok(link!.startsWith(new URL(url).origin));
  });

  it("is followed by a sign-in that leads back to pages of this server only", function* () {
    const { url } = yield* usePage();
    const tricks = [
      "https://evil.example/",
      "//evil.example/",
      "/\\evil.example/",
      "\\\\evil.example/",
      "javascript:alert(1)",
      "evil.example",
      "",
      "/\t/evil.example/",
      `/${"x".repeat(3_000)}`,
    ];
    for (const page of tricks) {
      const address = new URL("/sign-in", url);
      address.searchParams.set("page", page);
      const browser = new Browser({ as_user: "alice" });
      const { url: end, response } = yield* until(browser.visit(address.href, undefined, HTML));
      yield* until(response!.text());
      assert.equal(new URL(end).origin, new URL(url).origin, page);
      assert.equal(response!.status, 400, page);
    }
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

  it.unless(absence("browser"))("changes the account on the page of another caller", function* () {
    const { page: address } = yield* usePage();
    const browser = yield* useBrowser();
    const become = (value: string) =>
      browser.addCookies([{ name: "as_user", value, domain: "127.0.0.1", path: "/" }]);
    yield* until(become("bob"));
    const page = yield* until(browser.newPage());
    yield* until(page.goto(address));
    // The issuer's own session ends, so that it asks. Its cookies begin with an underscore.
    yield* until(browser.clearCookies({ name: /^_/ }));
    yield* until(become("alice"));
    yield* until(page.click("text=Use another account"));
    yield* until(page.waitForURL(address));
    assert.match(yield* until(page.content()), /A page for alice/);
  });

  it.unless(absence("browser"))("signs out", function* () {
    const { page: address, url } = yield* usePage();
    const browser = yield* useBrowser();
    yield* until(
      browser.addCookies([{ name: "as_user", value: "alice", domain: "127.0.0.1", path: "/" }]),
    );
    const page = yield* until(browser.newPage());
    yield* until(page.goto(address));
    yield* until(page.goto(new URL("/sign-out", url).href));
    const sent = page.waitForResponse((response) => response.request().method() === "POST");
    yield* until(Promise.all([sent, page.click("button")]));
    yield* until(page.waitForLoadState());
    assert.match(yield* until(page.content()), /You are signed out/);
    yield* until(page.goto(new URL("/sign-out", url).href));
    assert.match(yield* until(page.content()), /You are not signed in/);
  });
});
