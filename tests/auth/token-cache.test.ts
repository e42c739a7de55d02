import assert from "node:assert/strict";
import { TokenGate } from "../../src/auth/gate.ts";
import { hashOf, TokenCache } from "../../src/auth/token-cache.ts";
import type { Verified } from "../../src/auth/tokens.ts";
import { namedPrincipal } from "../../src/model/principal.ts";
import { describe, it } from "../suite.ts";
import { ISSUER, RESOURCE, TestIssuer } from "./issuer.ts";

const verified = (until: number): Verified => ({
  principal: namedPrincipal("alice"),
  until,
  streamsUntil: until,
});

describe("TokenCache", () => {
  it("verifies a token once for requests at the same time, and again after a failure", async () => {
    const cache = new TokenCache();
    const verifying = Promise.withResolvers<Verified>();
    let count = 0;
    const verify = () => {
      count++;
      return verifying.promise;
    };
    const both = [cache.verified("a", verify), cache.verified("a", verify)];
    verifying.reject(new Error("refused"));
    for (const one of both) await assert.rejects(one, /refused/);
    assert.equal(count, 1);
    assert.equal(cache.size, 0, "a refusal is not kept");
    await cache.verified("a", () => Promise.resolve(verified(10)));
    assert.equal(cache.get("a", 9)?.principal.id, "alice");
    assert.equal(cache.get("a", 10), undefined);
    assert.equal(cache.size, 0, "an old entry is removed");
  });

  it("has a limited number of entries: the oldest makes room", async () => {
    const cache = new TokenCache();
    for (let i = 0; i < 10_001; i++) {
      await cache.verified(`${i}`, () => Promise.resolve(verified(10)));
    }
    assert.equal(cache.size, 10_000);
    assert.equal(cache.get("0", 0), undefined);
    assert.ok(cache.get("10000", 0));
  });

  it("has hashes of tokens, which are their SHA-256", () => {
    assert.equal(
      hashOf("abc"),
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
  });
});

describe("TokenGate.callerOf()", () => {
  it("answers a token that was seen before without a promise", async () => {
    const issuer = await TestIssuer.create();
    const gate = new TokenGate({
      publicUrl: new URL(RESOURCE).origin,
      clock: issuer.clock,
      auth: { issuers: [ISSUER], fetch: issuer.fetch as typeof fetch },
    });
    const headers = { authorization: `Bearer ${await issuer.token()}` };
    const request = () => new Request(RESOURCE, { method: "POST", headers });
    const first = gate.callerOf(request());
    assert.ok(first instanceof Promise);
    const caller = await first;
    assert.ok(!(caller instanceof Response));
    assert.equal(gate.callerOf(request()), caller, "the same object, at once");
    gate.close();
  });
});
