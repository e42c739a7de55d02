import assert from "node:assert/strict";
import type { IssuerOptions, Parley, ParleyOptions } from "parley-mcp";
import { createParley } from "parley-mcp";
import { TestClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";
import { ISSUER, RESOURCE, TestIssuer } from "./issuer.ts";

const INTROSPECTED: IssuerOptions = {
  issuer: ISSUER,
  introspection: { clientId: "parley", clientSecret: "s3cret" },
};

async function call(parley: Parley, token: string) {
  const client = new TestClient(parley.fetch, { headers: { authorization: `Bearer ${token}` } });
  const exchange = await client.start("tools/call", { name: "whoami", arguments: {} });
  return exchange.status === 200 ? await exchange.text() : exchange.status;
}

type Answer = { [name: string]: unknown };

async function introspected(
  body: (issuer: TestIssuer, parley: Parley, answer: Answer) => Promise<void>,
): Promise<void> {
  const issuer = await TestIssuer.create();
  const answer: Answer = { active: true, ...issuer.claims() };
  issuer.answers["/introspect"] = () => Response.json(answer);
  const parley = issuer.server({ issuers: [INTROSPECTED] });
  try {
    await body(issuer, parley, answer);
  } finally {
    await parley.close();
  }
  assert.equal(issuer.clock.timers, 0);
}

describe("introspection", () => {
  it("names the caller of a token that is no JWT", () =>
    introspected(async (issuer, parley) => {
      assert.equal(await call(parley, "opaque"), `${ISSUER}|user|alice`);
      assert.equal(await call(parley, "opaque"), `${ISSUER}|user|alice`);
      assert.equal(issuer.count("/introspect"), 1);
    }));

  for (const type of ["Bearer", "bearer", "access_token"]) {
    it(`accepts the token type ${type}`, () =>
      introspected(async (_, parley, answer) => {
        answer.token_type = type;
        assert.equal(await call(parley, "opaque"), `${ISSUER}|user|alice`);
      }));
  }

  it("notices a revoked token after ten seconds at the latest", () =>
    introspected(async (issuer, parley, answer) => {
      await call(parley, "opaque");
      answer.active = false;
      issuer.clock.advance(9_999);
      assert.equal(await call(parley, "opaque"), `${ISSUER}|user|alice`);
      issuer.clock.advance(1);
      assert.equal(await call(parley, "opaque"), 401);
      assert.equal(await call(parley, "opaque"), 401);
      assert.equal(issuer.count("/introspect"), 3, "refusals are not kept");
    }));

  const bad: { readonly [what: string]: Answer } = {
    "another audience": { aud: "https://other.example/mcp" },
    "no audience": { aud: undefined },
    "another issuer": { iss: "https://other.example" },
    "an expiry that has passed": { exp: 1_000_000 },
    "a start in the future": { nbf: 4_000_000_000 },
    "a key": { cnf: { jkt: "abc" } },
    "no subject and no client": { sub: undefined, client_id: undefined },
    "the type of a refresh token": { token_type: "refresh_token" },
    "a type that is no text": { token_type: 7 },
    "another token's state": { active: "true" },
  };
  for (const [what, claims] of Object.entries(bad)) {
    it(`refuses an answer with ${what}`, () =>
      introspected(async (_, parley, answer) => {
        Object.assign(answer, claims);
        const outcome = await call(parley, "opaque");
        assert.ok(outcome === 401 || outcome === 503 && what.endsWith("state"), `${outcome}`);
      }));
  }

  it("of many tokens at once does not flood the issuer, and a failure is not repeated at once", () =>
    introspected(async (issuer, parley) => {
      issuer.answers["/introspect"] = () => new Response("", { status: 500 });
      assert.equal(await call(parley, "one"), 503);
      assert.equal(await call(parley, "two"), 503);
      assert.equal(issuer.count("/introspect"), 1);
      issuer.clock.advance(1_000);
      const gate = Promise.withResolvers<Response>();
      issuer.answers["/introspect"] = () => gate.promise.then((response) => response.clone());
      const calls = Array.from({ length: 100 }, (_, i) => call(parley, `token${i}`));
      gate.resolve(Response.json({ active: false }));
      const outcomes = await Promise.all(calls);
      assert.equal(outcomes.filter((outcome) => outcome === 401).length, 64);
      assert.equal(outcomes.filter((outcome) => outcome === 503).length, 36);
    }));
});

describe("profiles", () => {
  const cases: readonly [string, Partial<IssuerOptions>, Answer, Answer, Answer][] = [
    ["keycloak", {}, { typ: "JWT" }, { client_id: undefined, azp: "app", typ: "Bearer" }, {
      typ: "ID",
    }],
    ["auth0", {}, { typ: "JWT" }, { client_id: undefined, azp: "app" }, { aud: "app" }],
    ["entra", {}, { typ: "JWT" }, {
      client_id: undefined,
      azp: "app",
      scope: undefined,
      scp: "mcp",
    }, { aud: "app" }],
    ["okta", {}, { typ: undefined }, {
      client_id: undefined,
      cid: "app",
      scope: undefined,
      scp: ["mcp"],
    }, { cid: undefined }],
    ["cognito", { clients: ["app"] }, { typ: undefined }, {
      client_id: "app",
      aud: undefined,
      token_use: "access",
    }, { token_use: "id" }],
  ];
  for (const [name, more, header, claims, idToken] of cases) {
    it(`accept the access tokens of ${name}, and not its ID tokens`, async () => {
      const issuer = await TestIssuer.create();
      const profile = name as NonNullable<IssuerOptions["profile"]>;
      const parley = issuer.server({
        issuers: [{ issuer: ISSUER, profile, ...more }],
        scopes: ["mcp"],
      });
      const good = await issuer.token({ header, claims });
      assert.equal(await call(parley, good), `${ISSUER}|user|alice`);
      const bad = await issuer.token({ header, claims: { ...claims, ...idToken } });
      assert.equal(await call(parley, bad), 401);
      if (name === "cognito") {
        const other = await issuer.token({ header, claims: { ...claims, client_id: "other" } });
        assert.equal(await call(parley, other), 401);
      }
      await parley.close();
      const strict = issuer.server();
      assert.equal(await call(strict, good), 401, "the standard refuses it");
      await strict.close();
    });
  }

  // The audience of an ID token is the application that signed the person in. The server accepts
  // this audience if the application has the same id as the API.
  const idTokens: { readonly [what: string]: Answer } = {
    "no client": { azp: undefined },
    "a nonce": { nonce: "n-0S6" },
    "a hash of an access token": { at_hash: "77QmUPtjPfzWtF2AnpK9RQ" },
    "a hash of a code": { c_hash: "LDktKdoQak3Pk0cnXxCltA" },
  };
  for (const profile of ["auth0", "entra"] as const) {
    for (const [what, claims] of Object.entries(idTokens)) {
      it(`refuse an ID token of ${profile} with ${what} and the audience of the server`, async () => {
        const issuer = await TestIssuer.create();
        const parley = issuer.server({
          issuers: [{ issuer: ISSUER, profile }],
          audience: "the-app-id",
        });
        const plain = { aud: "the-app-id", client_id: undefined, scope: undefined, azp: "app" };
        const token = (claims: Answer) => issuer.token({ header: { typ: "JWT" }, claims });
        assert.equal(await call(parley, await token(plain)), `${ISSUER}|user|alice`);
        assert.equal(await call(parley, await token({ ...plain, ...claims })), 401);
        await parley.close();
      });
    }
  }
});

describe("createParley({ auth })", () => {
  for (const publicUrl of ["https://Tools.Example.com", "https://tools.example.com:443/"]) {
    it(`accepts tokens for the resource of its metadata with publicUrl ${publicUrl}`, async () => {
      const issuer = await TestIssuer.create();
      const parley = issuer.server({}, { publicUrl });
      const own = "https://tools.example.com";
      const metadata = await parley.fetch(
        new Request(`${own}/.well-known/oauth-protected-resource`, {
          headers: { host: "tools.example.com" },
        }),
      );
      const { resource } = await metadata.json() as { resource: string };
      assert.equal(resource, `${own}/mcp`);
      const token = await issuer.token({ claims: { aud: resource } });
      assert.equal(await call(parley, token), `${ISSUER}|user|alice`);
      await parley.close();
    });
  }

  const wrong: { readonly [what: string]: ParleyOptions } = {
    "without anybody who issues tokens": { auth: {} },
    "with an issuer that is no URL": { auth: { issuers: ["example"], resource: RESOURCE } },
    "with an issuer without https": {
      auth: { issuers: ["http://login.example"], resource: RESOURCE },
    },
    "without an address of its own": { auth: { issuers: [ISSUER] } },
    "with a second way to name callers": {
      auth: { issuers: [ISSUER], resource: RESOURCE },
      principal: () => "alice",
    },
    "with two issuers for tokens that do not name theirs": {
      auth: {
        issuers: [INTROSPECTED, { ...INTROSPECTED, issuer: "https://b.example" }],
        resource: RESOURCE,
      },
    },
    "with a scope that is for clients": {
      auth: { issuers: [ISSUER], resource: RESOURCE, scopes: ["offline_access"] },
    },
    "with an unknown profile": {
      auth: { issuers: [{ issuer: ISSUER, profile: "x" as "okta" }], resource: RESOURCE },
    },
    "with tokens for anybody": {
      auth: { issuers: [{ issuer: ISSUER, profile: "cognito" }], resource: RESOURCE },
    },
  };
  for (const [what, options] of Object.entries(wrong)) {
    it(`throws ${what}`, () => {
      assert.throws(() => createParley(options), TypeError);
    });
  }
});
