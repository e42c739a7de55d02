/** What people are told when something goes wrong, and that nothing is lost. */
import assert from "node:assert/strict";
import { until } from "effection";
import { VaultError } from "../../../src/vault/errors.ts";
import { describe, it } from "../../suite.ts";
import { type Asked, PERSON, PROFILE, refusal } from "./fake-service.ts";
import { useFakeWorld } from "./fake-world.ts";

const { handle, did, appPassword } = PERSON;
const NOW = Date.parse("2026-01-01T12:00:00Z");
const html = () => new Response("<html>down</html>", { headers: { "content-type": "text/html" } });
const offline = () => {
  throw new TypeError("error sending request");
};

/** A body that ends early. */
const half = () =>
  new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"did":"did:plc'));
        controller.error(new Error("connection reset"));
      },
    }),
    { headers: { "content-type": "application/json" } },
  );
const json = (text: string) =>
  new Response(text, { headers: { "content-type": "application/json" } });

type Day = [name: string, answer: (asked: Asked) => Response, told: RegExp];

const days: Day[] = [
  ["no network", offline, /there is no connection to fake\.example; check the internet connection/],
  ["a web page", html, /fake\.example answered with something other than data, perhaps a web page/],
  ["half a body", half, /the answer of fake\.example was incomplete; try again$/],
  ["half of a text", () => json('{"did":'), /something other than data/],
  [
    "an answer to something else",
    () => json('{"secret":"sauce"}'),
    /fake\.example sent an answer that this program does not understand; try again later$/,
  ],
  [
    "a problem of the service",
    () => refusal(502, "UpstreamFailure", "no upstream"),
    /fake\.example reports an internal error \(502\); try again later$/,
  ],
  [
    "a rate limit with its end",
    () =>
      refusal(429, "RateLimitExceeded", "slow", { "ratelimit-reset": String(NOW / 1_000 + 290) }),
    /fake\.example has received too many requests; try again after 2026-01-01 12:04:50 UTC, in about 5 minutes$/,
  ],
  [
    "a rate limit with a wait",
    () => refusal(429, "RateLimitExceeded", "slow", { "retry-after": "30" }),
    /try again after 2026-01-01 12:00:30 UTC, in about 1 minute$/,
  ],
  [
    "a rate limit without either",
    () => refusal(429, "RateLimitExceeded", "slow"),
    /try again in a few minutes$/,
  ],
  [
    "an account that was taken down",
    () => refusal(401, "AccountTakedown", "taken down"),
    /has been taken down by fake\.example; its support can tell you why$/,
  ],
  [
    "an account that is deactivated",
    () => refusal(400, "AccountDeactivated", "deactivated"),
    /the account is deactivated; sign in at bsky\.app to activate it again$/,
  ],
  [
    "an account that is suspended",
    () => refusal(400, "AccountSuspended", "x"),
    /the account is suspended by fake\.example/,
  ],
  [
    "a refusal with a text that is anything",
    () => refusal(403, "Forbidden", `no\u202e\n# way ${"x".repeat(500)}`),
    /fake\.example does not allow it: "no # way x{1,195}"/,
  ],
];

describe("when something goes wrong", () => {
  const now = () => NOW;

  for (const [name, answer, told] of days) {
    it(`login reports ${name}`, function* () {
      const { call, service, vault } = yield* useFakeWorld({ can: "nothing", setup: { now } });
      service.instead.set("createSession", answer);
      const { isError, text } = yield* call("login", { handle, password: appPassword });
      assert.equal(isError, true);
      assert.ok(text.startsWith(`Cannot sign in as "${handle}": `), text);
      assert.match(text, told);
      assert.equal(vault.documents.size, 0);
    });

    it(`profile reports ${name}, and stays signed in`, function* () {
      const world = yield* useFakeWorld({ can: "nothing", setup: { now } });
      const { call, service, signIn, accounts } = world;
      yield* signIn();
      const before = yield* until(accounts.list());
      service.instead.set("getProfile", answer);
      const { isError, text } = yield* call("profile", { account: "bob.test" });
      assert.equal(isError, true);
      assert.ok(text.startsWith('Cannot show the profile of "bob.test": '), text);
      assert.match(text, told);
      assert.deepEqual(yield* until(accounts.list()), before);
      service.instead.clear();
      assert.equal((yield* call("profile")).isError, false);
    });
  }

  it("a service that does not answer in time is reported as slow", function* () {
    const late = new AbortController();
    const { call, service } = yield* useFakeWorld({
      can: "nothing",
      setup: { deadline: () => late.signal },
    });
    service.instead.set("createSession", () => {
      late.abort(new DOMException("late", "TimeoutError"));
      return new Promise(() => {});
    });
    const { text } = yield* call("login", { handle, password: appPassword });
    assert.match(text, /fake\.example did not answer within 20 seconds; try again in a minute$/);
  });

  it("a wrong password, an unknown handle and a main password with a code are explained", function* () {
    const { call, service } = yield* useFakeWorld({ can: "nothing" });
    const words = [
      /Never use the main password of your Bluesky account/,
      /https:\/\/bsky\.app\/settings\/app-passwords/,
      /OAuth is the better way/,
    ];
    const wrong = yield* call("login", { handle, password: "nope" });
    assert.match(wrong.text, /the handle or the password is wrong; check both and try again\./);
    const unknown = yield* call("login", { handle: "nobody.test", password: appPassword });
    assert.match(unknown.text, /the handle or the password is wrong/);
    service.instead.set("createSession", () => refusal(401, "AuthFactorTokenRequired", "code"));
    const coded = yield* call("login", { handle, password: "main" });
    assert.match(
      coded.text,
      /that is the main password, which fake\.example accepts only with a code/,
    );
    for (const { text } of [wrong, unknown, coded]) {
      for (const word of words) assert.match(text, word);
      assert.doesNotMatch(text, /nope/);
    }
  });

  it("invalid handles and DIDs are distinguished from unknown ones", function* () {
    const { call, service, signIn } = yield* useFakeWorld({ can: "nothing" });
    yield* signIn();
    service.instead.set("getProfile", () => refusal(400, "InvalidRequest", "Profile not found"));
    const told: [string, RegExp][] = [
      ["bob", /"bob" as an account: it is not a full handle; did you mean bob\.bsky\.social\?/],
      ["bob@example.com", /it looks like an e-mail address; use the handle/],
      ["bob smith.test!", /it is not a handle; handles look like name\.bsky\.social/],
      ["  ", /it is empty; use a handle such as name\.bsky\.social/],
      ["did:web", /it is not a DID; DIDs look like did:plc:/],
      ["nobody.test", /Bluesky has no account named "nobody\.test"; check the spelling/],
    ];
    for (const [account, pattern] of told) {
      const { isError, text } = yield* call("profile", { account });
      assert.equal(isError, true);
      assert.match(text, pattern);
    }
  });

  it("a missing account is reported, with what to do", function* () {
    const { call, signIn } = yield* useFakeWorld({ can: "nothing" });
    for (const [name, args] of [["profile", {}], ["search", { query: "x" }]] as const) {
      const { isError, text } = yield* call(name, args);
      assert.equal(isError, true);
      assert.match(text, /nobody is signed in\. Call login first\. .*OAuth is the better way/);
    }
    yield* signIn();
    const { text } = yield* call("search", { query: "x", account: "bob.test" });
    assert.match(
      text,
      /Cannot use account "bob\.test": it is not one of the accounts that are signed in \(alice\.test\); call login/,
    );
  });

  it("a locked or damaged vault is reported with its own message", function* () {
    const { call, vault } = yield* useFakeWorld({ can: "nothing" });
    vault.broken = new VaultError("locked", "Cannot read the keyring: it is locked; unlock it");
    for (
      const [name, args] of [
        ["login", { command: "list" }],
        ["login", { handle, password: appPassword }],
        ["profile", {}],
      ] as const
    ) {
      const { isError, text } = yield* call(name, args);
      assert.equal(isError, true);
      assert.equal(text, "Cannot read the keyring: it is locked; unlock it");
    }
  });

  it("accounts that a later version wrote are not changed", function* () {
    const { call, vault } = yield* useFakeWorld({ can: "nothing" });
    const later = JSON.stringify({ version: 2, everything: "else" });
    vault.documents.set("bluesky-local", later);
    const { text } = yield* call("login", { handle, password: appPassword });
    assert.match(text, /a later version of this program wrote them; update this program/);
    assert.equal(vault.documents.get("bluesky-local"), later);
  });
});

describe("tokens", () => {
  /** Revokes the valid access tokens, as if they had expired. */
  function expire(good: Set<string>, kind: "access" | "refresh"): void {
    for (const token of good) if (token.endsWith(kind)) good.delete(token);
  }

  it("that have expired are renewed, and the new ones are stored", function* () {
    const { call, service, signIn, accounts } = yield* useFakeWorld({ can: "nothing" });
    yield* signIn();
    const before = yield* until(accounts.credentials(did));
    expire(service.good, "access");
    assert.equal((yield* call("profile")).isError, false);
    const after = yield* until(accounts.credentials(did));
    assert.notDeepEqual(after!.secret, before!.secret);
    expire(service.good, "access");
    assert.equal((yield* call("profile")).isError, false, "with the one that was stored");
  });

  it("that were revoked lead back to login, and the account stays in the list", function* () {
    const { call, service, signIn, accounts } = yield* useFakeWorld({ can: "nothing" });
    yield* signIn();
    service.good.clear();
    const { isError, text } = yield* call("profile");
    assert.equal(isError, true);
    assert.match(
      text,
      /The sign-in of @alice\.test is no longer valid: it has expired or was revoked\./,
    );
    assert.match(text, /Sign in again: call login with handle "alice\.test"\./);
    assert.match(text, /OAuth is the better way/);
    assert.equal((yield* until(accounts.list()))[0]!.signedIn, false);
    assert.equal(yield* until(accounts.credentials(did)), undefined);
    const asked = service.asked.length;
    assert.match((yield* call("search", { query: "x" })).text, /is no longer valid/);
    assert.equal(service.asked.length, asked, "nobody is asked in vain");
    yield* signIn();
    assert.equal((yield* call("profile")).isError, false);
  });

  it("that cannot be renewed because the network is down are kept", function* () {
    const { call, service, signIn, accounts } = yield* useFakeWorld({ can: "nothing" });
    yield* signIn();
    const before = yield* until(accounts.credentials(did));
    expire(service.good, "access");
    service.instead.set("refreshSession", offline);
    const { text } = yield* call("profile");
    assert.match(text, /there is no connection to fake\.example/);
    assert.deepEqual(yield* until(accounts.credentials(did)), before);
    service.instead.clear();
    assert.equal((yield* call("profile")).isError, false);
  });

  it("that another process has renewed meanwhile are read from there", function* () {
    const { call, service, signIn, accounts } = yield* useFakeWorld({ can: "nothing" });
    yield* signIn();
    const { secret } = (yield* until(accounts.credentials(did)))!;
    service.good.clear();
    service.instead.set("refreshSession", async () => {
      // Meanwhile another process signed in, and stored it.
      service.instead.clear();
      const method = "com.atproto.server.createSession";
      const body = JSON.stringify({ identifier: handle, password: appPassword });
      const request = new Request(`${service.url}/xrpc/${method}`, { method: "POST", body });
      const response = await service.network.send(request, []);
      const session = await response.json();
      await accounts.renew(did, { session, pds: undefined }, secret);
      return refusal(400, "ExpiredToken", "Token has been revoked");
    });
    const { isError, text, data } = yield* call("profile");
    assert.equal(isError, false, text);
    assert.equal(data.displayName, PROFILE.displayName);
    assert.equal((yield* until(accounts.list()))[0]!.signedIn, true);
  });
});
