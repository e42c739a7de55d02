import assert from "node:assert/strict";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from "jose";
import { createHash } from "node:crypto";
import type { Parley } from "parley-mcp";
import { TestClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";
import { RESOURCE, TestIssuer } from "./issuer.ts";

interface Bound {
  readonly issuer: TestIssuer;
  readonly parley: Parley;
  readonly token: string;
  /** A proof for the token; `changes` makes it wrong. */
  proof(changes?: Changes): Promise<string>;
  status(token: string, proof: string | undefined, scheme?: string): Promise<number>;
}

interface Changes {
  readonly claims?: { readonly [name: string]: unknown };
  readonly header?: { readonly [name: string]: unknown };
  readonly key?: CryptoKeyPair;
}

async function bound(body: (bound: Bound) => Promise<void>): Promise<void> {
  const issuer = await TestIssuer.create();
  const parley = issuer.server();
  const own = await generateKeyPair("ES256", { extractable: true }) as CryptoKeyPair;
  const jkt = await calculateJwkThumbprint(await exportJWK(own.publicKey));
  const token = await issuer.token({ claims: { cnf: { jkt } } });
  let proofs = 0;
  try {
    await body({
      issuer,
      parley,
      token,
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
