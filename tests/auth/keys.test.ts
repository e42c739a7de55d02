import assert from "node:assert/strict";
import { until } from "effection";
import { exportJWK, generateKeyPair } from "jose";
import type { Parley } from "parley-mcp";
import { TestClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";
import { ISSUER, TestIssuer } from "./issuer.ts";

async function status(parley: Parley, token: string): Promise<number> {
  const client = new TestClient(parley.fetch, { headers: { authorization: `Bearer ${token}` } });
  const exchange = await client.start("tools/list");
  await exchange.leave();
  return exchange.status;
}

function* useIssuer() {
  const issuer = yield* until(TestIssuer.create());
  return { issuer, parley: issuer.server() };
}

/** Lets everything go on that does not wait for time. */
async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe("the keys of an issuer", () => {
  it("are fetched once for many requests at once", function* () {
    const { issuer, parley } = yield* useIssuer();
    const tokens = yield* until(
      Promise.all(["a", "b", "c"].map((sub) => issuer.token({ claims: { sub } }))),
    );
    const all = tokens.flatMap((token) => [status(parley, token), status(parley, token)]);
    assert.deepEqual(yield* until(Promise.all(all)), [200, 200, 200, 200, 200, 200]);
    assert.equal(issuer.count("/jwks"), 1);
    yield* until(parley.close());
  });

  it("are fetched again for a new key, at most every ten seconds", function* () {
    const { issuer, parley } = yield* useIssuer();
    yield* until(issuer.token().then((token) => status(parley, token)));
    yield* until(issuer.rotate("k1"));
    issuer.clock.advance(10_000);
    assert.equal(yield* until(issuer.token().then((token) => status(parley, token))), 200);
    assert.equal(issuer.count("/jwks"), 2);
    for (let i = 0; i < 20; i++) {
      const token = yield* until(issuer.token({ header: { kid: `foreign${i}` } }));
      assert.equal(yield* until(status(parley, token)), 401);
    }
    assert.equal(issuer.count("/jwks"), 2);
    issuer.clock.advance(10_000);
    const token = yield* until(issuer.token({ header: { kid: "foreign" } }));
    assert.equal(yield* until(status(parley, token)), 401);
    assert.equal(issuer.count("/jwks"), 3);
    yield* until(parley.close());
  });

  it("are those of the issuer that a token names, and never those of another one", function* () {
    const issuer = yield* until(TestIssuer.create());
    const other = yield* until(generateKeyPair("ES256", { extractable: true }));
    const jwk = yield* until(exportJWK(other.publicKey));
    const asked: string[] = [];
    const keysAt = (url: string) => {
      asked.push(url);
      const keys = [{ ...jwk, kid: "k0", alg: "ES256" }];
      return url === "https://second.example/jwks" ? Response.json({ keys }) : undefined;
    };
    const issuers = [
      { issuer: ISSUER, jwksUri: `${ISSUER}/jwks` },
      { issuer: "https://second.example", jwksUri: "https://second.example/jwks" },
    ];
    const fetching =
      (async (input: string | URL | Request, init?: RequestInit) =>
        keysAt(String(input)) ?? await issuer.fetch(input, init)) as typeof fetch;
    const parley = issuer.server({ issuers, fetch: fetching });
    const key = other.privateKey;
    const crossed = yield* until(issuer.token({ key }));
    assert.equal(yield* until(status(parley, crossed)), 401, "the first, with a key of the second");
    assert.ok(!asked.includes("https://second.example/jwks"), "the second is not asked");
    const right = yield* until(issuer.token({ key, claims: { iss: "https://second.example" } }));
    assert.equal(yield* until(status(parley, right)), 200);
    yield* until(parley.close());
  });

  it("that fit are tried for a token without a key id, within the issuer's set", function* () {
    const { issuer, parley } = yield* useIssuer();
    const first = yield* until(issuer.token({ header: { kid: undefined } }));
    const [k0] = issuer.keys;
    yield* until(issuer.rotate("k1"));
    const second = yield* until(issuer.token({ header: { kid: undefined } }));
    const other = yield* until(generateKeyPair("ES256", { extractable: true }));
    const forged = yield* until(
      issuer.token({ header: { kid: undefined }, key: other.privateKey }),
    );
    const rsa = yield* until(generateKeyPair("RS256", { extractable: true }));
    const [foreign, stranger] = yield* until(
      Promise.all([exportJWK(rsa.publicKey), exportJWK(other.publicKey)]),
    );
    const others = { ...stranger, alg: "ES256", use: "enc", kid: "k9" };
    issuer.keys = [{ ...foreign, kid: "k8", alg: "RS256" }, others, k0!, ...issuer.keys];
    assert.equal(yield* until(status(parley, first)), 200);
    assert.equal(yield* until(status(parley, second)), 200);
    assert.equal(yield* until(status(parley, forged)), 401, "a key for encryption signs nothing");
    yield* until(parley.close());
  });

  it("are fetched again for a token without a key id that none of them verifies", function* () {
    const { issuer, parley } = yield* useIssuer();
    yield* until(issuer.token().then((token) => status(parley, token)));
    yield* until(issuer.rotate("k1"));
    const token = yield* until(issuer.token({ header: { kid: undefined } }));
    assert.equal(yield* until(status(parley, token)), 401);
    assert.equal(issuer.count("/jwks"), 1, "they were fetched a moment ago");
    issuer.clock.advance(10_000);
    assert.equal(yield* until(status(parley, token)), 200);
    assert.equal(issuer.count("/jwks"), 2);
    yield* until(parley.close());
  });

  it("are tried up to a limit for a token without a key id", function* () {
    const { issuer, parley } = yield* useIssuer();
    const token = yield* until(issuer.token({ header: { kid: undefined } }));
    const own = issuer.keys;
    const others = yield* until(
      Promise.all(Array.from({ length: 8 }, async (_, i) => {
        const { publicKey } = await generateKeyPair("ES256", { extractable: true });
        return { ...await exportJWK(publicKey), kid: `other ${i}`, alg: "ES256" };
      })),
    );
    issuer.keys = [...others.slice(1), ...own];
    assert.equal(yield* until(status(parley, token)), 200, "the eighth key");
    yield* until(parley.close());
    const next = issuer.server();
    issuer.keys = [...others, ...own];
    assert.equal(yield* until(status(next, token)), 401, "the ninth key");
    const named = yield* until(issuer.token({ header: { kid: own[0]!.kid } }));
    assert.equal(yield* until(status(next, named)), 200, "a key id needs no search");
    yield* until(next.close());
  });

  it("stay in use while the issuer is down", function* () {
    const { issuer, parley } = yield* useIssuer();
    yield* until(issuer.token().then((token) => status(parley, token)));
    issuer.answers["/jwks"] = () => new Response("", { status: 500 });
    issuer.clock.advance(3_600_000);
    for (let i = 0; i < 5; i++) {
      const token = yield* until(issuer.token({ claims: { sub: `user${i}` } }));
      assert.equal(yield* until(status(parley, token)), 200);
      yield* until(settle());
    }
    assert.equal(issuer.count("/jwks"), 2, "the failed request is not repeated at once");
    yield* until(parley.close());
  });

  const failures: { readonly [what: string]: () => Response | Promise<Response> } = {
    "fail": () => new Response("", { status: 500 }),
    "redirect": () => Response.redirect("https://evil.example/jwks"),
    "are no JSON": () => new Response("<html>"),
    "are no key set": () => Response.json({ keys: "none" }),
    "are huge": () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(64 * 1_024).fill(32)),
        }),
      ),
    "are too many": () => Response.json({ keys: Array(101).fill({ kty: "EC" }) }),
    "cannot be connected to": () => Promise.reject(new TypeError("connection refused")),
  };
  for (const [what, answer] of Object.entries(failures)) {
    it(`that ${what} make requests wait, with back-off`, function* () {
      const { issuer, parley } = yield* useIssuer();
      const { "/jwks": good } = issuer.answers;
      issuer.answers["/jwks"] = answer;
      const token = yield* until(issuer.token());
      for (let i = 0; i < 20; i++) assert.equal(yield* until(status(parley, token)), 503);
      assert.equal(issuer.count("/jwks"), 1);
      issuer.clock.advance(1_000);
      assert.equal(yield* until(status(parley, token)), 503);
      issuer.clock.advance(1_000);
      assert.equal(yield* until(status(parley, token)), 503);
      assert.equal(issuer.count("/jwks"), 2, "the second delay is longer");
      issuer.answers["/jwks"] = good!;
      issuer.clock.advance(1_000);
      assert.equal(yield* until(status(parley, token)), 200);
      yield* until(parley.close());
      assert.equal(issuer.clock.timers, 0);
    });
  }

  it("that hang end after three seconds", function* () {
    const { issuer, parley } = yield* useIssuer();
    const asked = Promise.withResolvers<AbortSignal>();
    issuer.answers["/jwks"] = (signal) => {
      asked.resolve(signal);
      return new Promise<Response>(() => {});
    };
    const token = yield* until(issuer.token());
    const waiting = status(parley, token);
    const signal = yield* until(asked.promise);
    issuer.clock.advance(3_000);
    assert.equal(yield* until(waiting), 503);
    assert.ok(signal.aborted);
    yield* until(parley.close());
    assert.equal(issuer.clock.timers, 0);
  });

  it("that hang do not keep the server from closing", function* () {
    const { issuer, parley } = yield* useIssuer();
    const asked = Promise.withResolvers<AbortSignal>();
    issuer.answers["/jwks"] = (signal) => {
      asked.resolve(signal);
      return new Promise<Response>((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason))
      );
    };
    const waiting = status(parley, yield* until(issuer.token()));
    const signal = yield* until(asked.promise);
    yield* until(parley.close());
    assert.ok(signal.aborted);
    assert.equal(yield* until(waiting), 503);
    assert.equal(issuer.clock.timers, 0);
  });
});
