import assert from "node:assert/strict";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from "jose";
import { createHash } from "node:crypto";
import {
  allowInsecureRequests,
  clockSkew,
  customFetch,
  DPoP,
  isDPoPNonceError,
  protectedResourceRequest,
} from "oauth4webapi";
import {
  type AuthOptions,
  createManualClock,
  type ManualClock,
  type Parley,
  Sealer,
} from "parley-mcp";
import { Nonces, Proofs } from "../../src/auth/dpop.ts";
import { ProofRefused, TooManyProofs } from "../../src/auth/refusal.ts";
import { TestClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";
import { RESOURCE, TestIssuer } from "./issuer.ts";

interface Bound {
  readonly issuer: TestIssuer;
  readonly parley: Parley;
  readonly token: string;
  /** The key that the token is bound to. */
  readonly key: CryptoKeyPair;
  /** A proof for the token; `changes` makes it wrong. */
  proof(changes?: Changes): Promise<string>;
  status(token: string, proof: string | undefined, scheme?: string): Promise<number>;
}

interface Changes {
  readonly claims?: { readonly [name: string]: unknown };
  readonly header?: { readonly [name: string]: unknown };
  readonly key?: CryptoKeyPair;
}

async function bound(
  body: (bound: Bound) => Promise<void>,
  auth: Partial<AuthOptions> = {},
): Promise<void> {
  const issuer = await TestIssuer.create();
  const parley = issuer.server(auth, { legacySse: true });
  const own = await generateKeyPair("ES256", { extractable: true }) as CryptoKeyPair;
  const jkt = await calculateJwkThumbprint(await exportJWK(own.publicKey));
  const token = await issuer.token({ claims: { cnf: { jkt } } });
  let proofs = 0;
  try {
    await body({
      issuer,
      parley,
      token,
      key: own,
      async proof({ claims, header, key = own } = {}) {
        return await new SignJWT({
          jti: `proof ${++proofs}`,
          htm: "POST",
          htu: RESOURCE,
          iat: Math.floor(issuer.clock.now() / 1_000),
          ath: createHash("sha256").update(token).digest("base64url"),
          ...claims,
        }).setProtectedHeader({
          alg: "ES256",
          typ: "dpop+jwt",
          jwk: await exportJWK(key.publicKey),
          ...header,
        }).sign(key.privateKey);
      },
      async status(token, proof, scheme = "DPoP") {
        const client = new TestClient(parley.fetch, {
          headers: { authorization: `${scheme} ${token}`, ...(proof && { dpop: proof }) },
        });
        const exchange = await client.start("tools/list");
        await exchange.leave();
        if (exchange.status === 401) {
          assert.match(exchange.response.headers.get("www-authenticate")!, /^Bearer error=/);
        }
        return exchange.status;
      },
    });
  } finally {
    await parley.close();
  }
}

describe("DPoP", () => {
  it("lets the holder of the key use its token, with a new proof each time", () =>
    bound(async ({ token, proof, status }) => {
      assert.equal(await status(token, await proof()), 200);
      assert.equal(await status(token, await proof()), 200);
      assert.equal(await status(token, await proof({ claims: { htu: `${RESOURCE}?a=1` } })), 200);
    }));

  it("refuses a proof that was used before, for as long as it is fresh", () =>
    bound(async ({ issuer, token, proof, status }) => {
      const once = await proof();
      assert.equal(await status(token, once), 200);
      assert.equal(await status(token, once), 401);
      issuer.clock.advance(64_000);
      assert.equal(await status(token, once), 401);
      issuer.clock.advance(10_000);
      assert.equal(await status(token, once), 401, "it is no longer fresh");
      assert.equal(await status(token, await proof()), 200);
    }));

  it("refuses a proof from a fast clock a second time, also within the last second", () =>
    bound(async ({ issuer, token, proof, status }) => {
      const iat = Math.floor(issuer.clock.now() / 1_000) + 5;
      const once = await proof({ claims: { iat } });
      assert.equal(await status(token, once), 200);
      for (const step of [69_999, 1, 500, 499, 1]) {
        issuer.clock.advance(step);
        assert.equal(await status(token, once), 401);
      }
    }));

  it("requires a proof for the path of the request", () =>
    bound(async ({ parley, token, proof }) => {
      const { origin } = new URL(RESOURCE);
      const status = async (path: string, htu: string) => {
        const dpop = await proof({ claims: { htm: "GET", htu: `${origin}${htu}` } });
        const headers = { authorization: `DPoP ${token}`, dpop, accept: "text/event-stream" };
        const response = await parley.fetch(new Request(`${origin}${path}`, { headers }));
        await response.body?.cancel();
        return response.status;
      };
      assert.equal(await status("/sse", "/mcp"), 401);
      assert.equal(await status("/sse", "/sse"), 200);
      assert.equal(await status("/mcp", "/sse"), 401);
      assert.equal(await status("/mcp", "/mcp"), 405);
    }));

  it("refuses a bound token without its proof, also after it was accepted with one", () =>
    bound(async ({ token, proof, status }) => {
      assert.equal(await status(token, undefined), 401);
      assert.equal(await status(token, undefined, "Bearer"), 401);
      assert.equal(await status(token, await proof(), "Bearer"), 401);
      assert.equal(await status(token, await proof()), 200);
      assert.equal(await status(token, undefined), 401);
      assert.equal(await status(token, undefined, "Bearer"), 401);
    }));

  it("refuses an unbound token, so that a stolen one cannot be presented with any key", () =>
    bound(async ({ issuer, proof, status }) => {
      const token = await issuer.token();
      const ath = createHash("sha256").update(token).digest("base64url");
      assert.equal(await status(token, await proof({ claims: { ath } })), 401);
      assert.equal(await status(token, undefined, "Bearer"), 200);
      assert.equal(await status(token, await proof({ claims: { ath } })), 401);
    }));

  it("refuses proofs that are for something else, too old, of another key, or malformed", () =>
    bound(async ({ issuer, token, proof, status }) => {
      const now = issuer.clock.now() / 1_000;
      const other = await generateKeyPair("ES256", { extractable: true }) as CryptoKeyPair;
      const wrong: { readonly [what: string]: Changes } = {
        "another method": { claims: { htm: "GET" } },
        "another address": { claims: { htu: "https://evil.example/mcp" } },
        "another port": { claims: { htu: "http://127.0.0.1:9999/mcp" } },
        "no address": { claims: { htu: undefined } },
        "another token": { claims: { ath: "x".repeat(43) } },
        "no token": { claims: { ath: undefined } },
        "no id": { claims: { jti: undefined } },
        "a long id": { claims: { jti: "x".repeat(1_000) } },
        "too old": { claims: { iat: now - 70 } },
        "in the future": { claims: { iat: now + 60 } },
        "no time": { claims: { iat: undefined } },
        "another key": { key: other },
        "another type": { header: { typ: "JWT" } },
        "a private key in the header": { header: { jwk: await exportJWK(other.privateKey) } },
      };
      for (const [what, changes] of Object.entries(wrong)) {
        assert.equal(await status(token, await proof(changes)), 401, what);
      }
      assert.equal(await status(token, "nonsense"), 401);
      const twice = `${await proof()}, ${await proof()}`;
      assert.equal(await status(token, twice), 401, "two proofs");
    }));
});

/** The response to a GET. Status 405 means that the caller was accepted: it has no session. */
async function answerTo({ parley, token }: Bound, proof: string): Promise<Response> {
  const response = await parley.fetch(
    new Request(RESOURCE, { headers: { authorization: `DPoP ${token}`, dpop: proof } }),
  );
  await response.body?.cancel();
  return response;
}

describe("auth.dpopNonces", () => {
  const NONCES = { dpopNonces: true };
  const GET = { htm: "GET" };

  it("asks for a nonce, and accepts a proof that contains it", () =>
    bound(async (scene) => {
      const { proof } = scene;
      const asked = await answerTo(scene, await proof({ claims: GET }));
      assert.equal(asked.status, 401);
      const challenge = asked.headers.get("www-authenticate")!;
      assert.match(challenge, /^Bearer resource_metadata="[^"]+", DPoP error="use_dpop_nonce", /);
      const nonce = asked.headers.get("dpop-nonce")!;
      const accepted = await answerTo(scene, await proof({ claims: { ...GET, nonce } }));
      assert.equal(accepted.status, 405);
      for (const wrong of ["made up", 7, nonce.slice(0, -2), "x".repeat(5_000)]) {
        const refused = await answerTo(scene, await proof({ claims: { ...GET, nonce: wrong } }));
        assert.equal(refused.status, 401);
        assert.equal(refused.headers.get("dpop-nonce"), nonce);
      }
    }, NONCES));

  it("replaces a nonce each minute, and accepts it for five minutes", () =>
    bound(async (scene) => {
      const { issuer, proof } = scene;
      const nonceOf = async () =>
        (await answerTo(scene, await proof({ claims: GET }))).headers.get("dpop-nonce")!;
      const first = await nonceOf();
      issuer.clock.advance(59_999);
      assert.equal(await nonceOf(), first);
      issuer.clock.advance(1);
      const second = await nonceOf();
      assert.notEqual(second, first);
      const status = async (nonce: string) =>
        (await answerTo(scene, await proof({ claims: { ...GET, nonce } }))).status;
      issuer.clock.advance(239_999);
      assert.equal(await status(first), 405);
      issuer.clock.advance(1);
      assert.equal(await status(first), 401);
      assert.equal(await status(second), 405);
    }, NONCES));

  it("accepts the nonces of other servers with the same key only", () => {
    const clock = createManualClock();
    const [one, same, other] = ["a key for both servers", "a key for both servers", "another key 0"]
      .map((key) => new Nonces(new Sealer(key), clock));
    assert.ok(same!.accepts(one!.current));
    assert.ok(!other!.accepts(one!.current));
  });

  it("works with a client of another library", () =>
    bound(async ({ parley, token, key, issuer }) => {
      const skew = Math.round((issuer.clock.now() - Date.now()) / 1_000);
      const dpop = DPoP({ [clockSkew]: skew }, key as never);
      const send = () =>
        protectedResourceRequest(token, "GET", new URL(RESOURCE), undefined, undefined, {
          DPoP: dpop,
          [customFetch]: (url: string, init: object) => parley.fetch(new Request(url, init)),
          [allowInsecureRequests]: true,
        });
      const error = await send().catch((error) => error);
      assert.ok(isDPoPNonceError(error));
      assert.equal((await send()).status, 405);
    }, NONCES));
});

describe("the memory for DPoP proofs", () => {
  interface Memory {
    readonly clock: ManualClock;
    readonly proofs: Proofs;
    /** Uses a proof with a new key. */
    use(principal: string, jti: string): Promise<void>;
  }

  async function memory(): Promise<Memory> {
    const clock = createManualClock();
    const proofs = new Proofs(clock, undefined, { max: 50, maxPerPrincipal: 5 });
    const ath = createHash("sha256").update("token").digest("base64url");
    const own = await generateKeyPair("ES256", { extractable: true }) as CryptoKeyPair;
    const other = await generateKeyPair("ES256", { extractable: true }) as CryptoKeyPair;
    let count = 0;
    return {
      clock,
      proofs,
      async use(principal, jti) {
        // A caller can have many keys, one for each of its tokens.
        const { privateKey, publicKey } = jti.startsWith("same") || count++ % 2 ? own : other;
        const jwk = await exportJWK(publicKey);
        const iat = Math.floor(clock.now() / 1_000);
        const dpop = await new SignJWT({ jti, htm: "GET", htu: RESOURCE, ath, iat })
          .setProtectedHeader({ alg: "ES256", typ: "dpop+jwt", jwk }).sign(privateKey);
        const request = new Request(RESOURCE, { headers: { dpop } });
        const jkt = await calculateJwkThumbprint(jwk);
        await proofs.check({ request, token: "token", jkt, principal, isAt: () => true });
      },
    };
  }

  it("has a share for each caller, whatever keys it uses", async () => {
    const { clock, proofs, use } = await memory();
    for (let i = 0; i < 5; i++) await use("alice", `${i}`);
    await assert.rejects(use("alice", "one more"), TooManyProofs);
    await assert.rejects(use("alice", "and with the other key"), TooManyProofs);
    await use("bob", "same for both");
    await assert.rejects(use("bob", "same for both"), ProofRefused);
    clock.advance(70_000);
    await use("alice", "later");
    assert.equal(proofs.size, 1, "old proofs are forgotten");
  });

  it("keeps room for other callers, however many fill their shares", async () => {
    const { use } = await memory();
    for (let caller = 0; caller < 10; caller++) {
      for (let i = 0; i < 6; i++) await use(`attacker ${caller}`, `${caller} ${i}`).catch(() => {});
    }
    await use("alice", "first");
  });
});
