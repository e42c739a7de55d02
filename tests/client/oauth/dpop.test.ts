/** Tokens that are bound to a key of the client, if a server asks for them. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { ClientError } from "../../../src/client/client-error.ts";
import type { OAuth } from "../../../src/client/oauth/oauth.ts";
import { describe, it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";
import { runProgram } from "../../support/program.ts";
import { type FakeSite, useFakeSite } from "./fake-site.ts";
import { signInEnvironment, useProtectedServer } from "./protected-server.ts";

const CHALLENGE = 'DPoP algs="ES256"';

/** A site whose authorization server binds tokens to keys. */
function* useBindingSite(): Operation<FakeSite> {
  const site = yield* useFakeSite();
  site.answers["/.well-known/oauth-authorization-server/as"] = () => ({
    body: { ...site.metadata(), dpop_signing_alg_values_supported: ["ES256", "EdDSA"] },
  });
  site.answers["/as/token"] = () => ({ body: { ...site.tokens(), token_type: "DPoP" } });
  return site;
}

interface Proof {
  readonly htm: string;
  readonly htu: string;
  readonly jti: string;
  readonly ath?: string;
  readonly nonce?: string;
}

/** Checks a proof, and returns its claims and the thumbprint of its key. */
function* proven(proof: string | undefined) {
  const { jwk, alg, typ } = decodeProtectedHeader(proof!);
  assert.deepEqual([alg, typ, Object.keys(jwk!).includes("d")], ["ES256", "dpop+jwt", false]);
  const { payload } = yield* until(jwtVerify<Proof>(proof!, jwk!));
  return { ...payload, key: yield* until(calculateJwkThumbprint(jwk!)) };
}

function* proofOf(oauth: OAuth, url: string) {
  const { dpop } = yield* oauth.proof("POST", new URL(url));
  return yield* proven(dpop);
}

function* fails(operation: Operation<unknown>): Operation<string> {
  try {
    yield* operation;
  } catch (error) {
    assert.ok(error instanceof ClientError, String(error));
    return error.message;
  }
  throw new Error("It did not fail");
}

describe("OAuth with DPoP", () => {
  it("binds the code, the tokens and each request to one key", function* () {
    const site = yield* useBindingSite();
    const oauth = site.oauth();
    assert.equal(yield* oauth.retry(site.refusal(401, CHALLENGE), undefined), true);
    assert.equal(oauth.header, "DPoP access-1");
    const token = yield* proven(site.requests.find(({ path }) => path === "/as/token")!.dpop);
    assert.deepEqual([token.htm, token.htu], ["POST", `${site.issuer}/token`]);
    assert.equal(site.pages[0]!.searchParams.get("dpop_jkt"), token.key);
    const [first, second] = [
      yield* proofOf(oauth, `${site.url}?a=1`),
      yield* proofOf(oauth, site.url),
    ];
    assert.deepEqual([first.htm, first.htu, first.key], ["POST", site.url, token.key]);
    assert.notEqual(first.jti, second.jti);
    assert.notEqual(first.ath, undefined);
  });

  it("is not used unless the server asks for it", function* () {
    const site = yield* useBindingSite();
    site.answers["/as/token"] = () => ({ body: site.tokens() });
    const oauth = site.oauth();
    assert.equal(yield* oauth.retry(site.refusal(), undefined), true);
    assert.equal(oauth.header, "Bearer access-1");
    assert.deepEqual(yield* oauth.proof("POST", new URL(site.url)), {});
    assert.ok(site.requests.every(({ dpop }) => dpop === undefined));
  });

  it("is used if the metadata of the server requires it", function* () {
    const site = yield* useBindingSite();
    site.answers["/.well-known/oauth-protected-resource/mcp"] = () => ({
      body: { ...site.resource(), dpop_bound_access_tokens_required: true },
    });
    const oauth = site.oauth();
    assert.equal(yield* oauth.retry(site.refusal(), undefined), true);
    assert.equal(oauth.header, "DPoP access-1");
  });

  it("keeps the key for other processes and for refreshing", function* () {
    const site = yield* useBindingSite();
    const first = site.oauth();
    yield* first.retry(site.refusal(401, CHALLENGE), undefined);
    const { key } = yield* proofOf(first, site.url);
    const second = site.oauth({ browse: undefined });
    assert.equal(yield* second.retry(site.refusal(401, CHALLENGE), undefined), true);
    assert.equal((yield* proofOf(second, site.url)).key, key);
    site.clock.advance(3_600_000);
    const third = site.oauth({ browse: undefined });
    assert.equal(yield* third.retry(site.refusal(401, CHALLENGE), undefined), true);
    assert.equal(third.header, "DPoP access-2");
    assert.equal((yield* proven(site.requests.at(-1)!.dpop)).key, key);
  });

  it("puts the nonce of a server into its proofs, and does not try for ever", function* () {
    const site = yield* useBindingSite();
    const oauth = site.oauth();
    yield* oauth.retry(site.refusal(401, CHALLENGE), undefined);
    const asking = (nonce: string) => ({
      status: 401,
      headers: new Headers({
        "www-authenticate": 'DPoP error="use_dpop_nonce"',
        "dpop-nonce": nonce,
      }),
    });
    assert.equal(yield* oauth.retry(asking("n0"), oauth.header), true);
    assert.equal((yield* proofOf(oauth, site.url)).nonce, "n0");
    assert.equal(site.grants().length, 1);
    let tries = 1;
    while (yield* oauth.retry(asking(`n${tries}`), oauth.header)) tries++;
    assert.equal(tries, 5);
    // A success in between starts the count again, and brings the next nonce.
    const ok = { status: 200, headers: new Headers({ "dpop-nonce": "next" }) };
    yield* oauth.retry(ok, oauth.header);
    assert.equal((yield* proofOf(oauth, site.url)).nonce, "next");
    assert.equal(yield* oauth.retry(asking("last"), oauth.header), true);
  });

  it("puts the nonce of the authorization server into the next request for a token", function* () {
    const site = yield* useBindingSite();
    const answer = site.answers["/as/token"]!;
    site.answers["/as/token"] = (form) => {
      const { nonce } = decodeJwt(site.requests.at(-1)!.dpop!);
      if (nonce === "from-issuer") return answer(form);
      return {
        status: 400,
        headers: { "dpop-nonce": "from-issuer" },
        body: { error: "use_dpop_nonce" },
      };
    };
    assert.equal(yield* site.oauth().retry(site.refusal(401, CHALLENGE), undefined), true);
    assert.equal(site.grants().length, 2);
  });

  it("stays in use when a tool needs more access, whatever the challenge says", function* () {
    const site = yield* useBindingSite();
    const oauth = site.oauth();
    yield* oauth.retry(site.refusal(401, CHALLENGE), undefined);
    const challenge = 'Bearer error="insufficient_scope", scope="flights:book"';
    assert.equal(yield* oauth.retry(site.refusal(403, challenge), oauth.header), true);
    assert.equal(oauth.header, "DPoP access-2");
    assert.equal(site.pages[1]!.searchParams.get("scope"), "mcp flights:book");
  });

  it("refuses a sign-in that leads to a token without a key, and keeps nothing", function* () {
    const unable = yield* useFakeSite();
    yield* fails(unable.oauth().retry(unable.refusal(401, CHALLENGE), undefined));
    assert.deepEqual(unable.pages, []);
    const weaker = yield* useBindingSite();
    weaker.answers["/as/token"] = () => ({ body: weaker.tokens() });
    yield* fails(weaker.oauth().retry(weaker.refusal(401, CHALLENGE), undefined));
    assert.doesNotMatch(weaker.stored(), /access-1/);
  });

  it("accepts a token without a key if the server offers both", function* () {
    const site = yield* useFakeSite();
    const oauth = site.oauth();
    assert.equal(yield* oauth.retry(site.refusal(401, "Bearer, DPoP"), undefined), true);
    assert.equal(oauth.header, "Bearer access-1");
  });
});

describe("parley call --url with DPoP", () => {
  /** Lets the server ask for bound tokens, in its answer to requests without a token. */
  function asking(response: Response): Response {
    const challenge = response.headers.get("www-authenticate");
    if (challenge === null || challenge.includes("error=")) return response;
    const headers = new Headers(response.headers);
    headers.set("www-authenticate", challenge.replace(/^Bearer/, "DPoP"));
    return new Response(response.body, { status: response.status, headers });
  }

  it("signs in, calls with proofs, and refreshes", function* () {
    const server = yield* useProtectedServer({ tokenTtl: 9, answer: asking });
    const env = signInEnvironment(yield* useFolder());
    for (let times = 0; times < 2; times++) {
      const called = yield* runProgram(["call", "hello", "--url", server.url], { env });
      assert.deepEqual([called.code, called.stdout], [0, "Hello alice\n"], called.stderr);
    }
    const sent = new Set(server.authorizations.map((one) => one?.split(" ")[0]));
    assert.deepEqual([...sent], [undefined, "DPoP"]);
    assert.equal(countOf(server.issuer.requests, "POST /token"), 2);
  }, { within: 60_000 });

  it("puts the nonces of a Parley server into its proofs, without a new token", function* () {
    const server = yield* useProtectedServer({ answer: asking, auth: { dpopNonces: true } });
    const env = signInEnvironment(yield* useFolder());
    for (let times = 0; times < 2; times++) {
      const called = yield* runProgram(["call", "hello", "--url", server.url], { env });
      assert.deepEqual([called.code, called.stdout], [0, "Hello alice\n"], called.stderr);
    }
    assert.equal(countOf(server.issuer.requests, "POST /token"), 1);
  }, { within: 60_000 });
});

function countOf(requests: readonly string[], request: string): number {
  return requests.filter((one) => one === request).length;
}
