import assert from "node:assert/strict";
import { until } from "effection";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { createMcpTool, type Parley } from "parley-mcp";
import { TestClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";
import { useStdio } from "../transport/stdio/channel.ts";
import { ISSUER, RESOURCE, TestIssuer, type TokenOptions, whoami } from "./issuer.ts";

const scopes = createMcpTool("scopes").description("Lists the scopes.").execute(
  function* (_, ctx) {
    return ctx.principal.scopes.join(" ");
  },
);
const METADATA = "http://127.0.0.1:7411/.well-known/oauth-protected-resource/mcp";

function clientWith(parley: Parley, token: string | undefined, headers = {}): TestClient {
  return new TestClient(parley.fetch, {
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
  });
}

/** Calls a tool; returns the status, the challenge, and the text of the result. */
async function call(
  parley: Parley,
  token: string | undefined,
  headers = {},
  name = "whoami",
) {
  const client = clientWith(parley, token, headers);
  const exchange = await client.start("tools/call", { name, arguments: {} });
  const { status, response } = exchange;
  const challenge = response.headers.get("www-authenticate");
  if (status === 200) return { status, challenge, text: await exchange.text() };
  const body = await response.text();
  assert.ok(token === undefined || !body.includes(token), "the refusal quotes the token");
  assert.ok(!challenge?.includes("k0"), "the challenge names a key");
  return { status, challenge, text: undefined };
}

async function withIssuer(
  body: (issuer: TestIssuer, parley: Parley) => Promise<void>,
  auth: Parameters<TestIssuer["server"]>[0] = {},
): Promise<void> {
  const issuer = await TestIssuer.create();
  const parley = issuer.server(auth, { serve: [whoami, scopes] });
  try {
    await body(issuer, parley);
  } finally {
    await parley.close();
  }
  assert.equal(issuer.clock.timers, 0, "a timer is still set");
}

describe("access tokens", () => {
  it("name the caller", () =>
    withIssuer(async (issuer, parley) => {
      const { status, text } = await call(parley, await issuer.token());
      assert.deepEqual([status, text], [200, `${ISSUER}|user|alice`]);
    }));

  it("of a program that acts for itself name a caller that is a client, not a user", () =>
    withIssuer(async (issuer, parley) => {
      const token = await issuer.token({ claims: { sub: "a-client" } });
      assert.equal((await call(parley, token)).text, `${ISSUER}|client|a-client`);
      const person = await issuer.token({ claims: { sub: "a-client", client_id: "another" } });
      assert.equal((await call(parley, person)).text, `${ISSUER}|user|a-client`);
    }));

  it("are asked for by a challenge that leads to the metadata", () =>
    withIssuer(async (_, parley) => {
      const { status, challenge } = await call(parley, undefined);
      assert.equal(status, 401);
      assert.equal(challenge, `Bearer resource_metadata="${METADATA}", scope="mcp"`);
    }, { scopes: ["mcp"] }));

  it("without a scope that every request needs are refused with 403 and all needed scopes", () =>
    withIssuer(async (issuer, parley) => {
      const { status, challenge } = await call(parley, await issuer.token());
      assert.equal(status, 403);
      assert.match(challenge!, /^Bearer error="insufficient_scope", scope="mcp more", /);
    }, { scopes: ["mcp", "more"] }));

  const bad: { readonly [what: string]: NonNullable<TokenOptions["claims"]> } = {
    "for another audience": { aud: "http://127.0.0.1:7411/other" },
    "whose audience has a slash at the end": { aud: `${RESOURCE}/` },
    "for a server at another port": { aud: "http://127.0.0.1:9999/mcp" },
    "without an audience": { aud: undefined },
    "of another issuer": { iss: "https://evil.example" },
    "of an issuer whose name begins alike": { iss: `${ISSUER}.evil.example` },
    "without an issuer": { iss: undefined },
    "that has expired": { exp: 1_000_000 },
    "that never expires": { exp: undefined },
    "that is not valid yet": { nbf: 4_000_000_000 },
    "without a subject": { sub: undefined },
    "with an empty subject": { sub: "" },
    "with a subject that is no text": { sub: { name: "alice" } },
    "without a client": { client_id: undefined },
    "that is bound to a key (DPoP), without a proof": { cnf: { jkt: "abc" } },
    "that is bound to a certificate": { cnf: { "x5t#S256": "abc" } },
    "that is bound in an unknown way": { cnf: null },
  };
  for (const [what, claims] of Object.entries(bad)) {
    it(`${what} are refused`, () =>
      withIssuer(async (issuer, parley) => {
        const { status, challenge } = await call(parley, await issuer.token({ claims }));
        assert.equal(status, 401);
        assert.match(challenge!, /^Bearer error="invalid_token", error_description="[\w ]+", /);
      }));
  }

  it("that are forged are refused", () =>
    withIssuer(async (issuer, parley) => {
      const good = await issuer.token();
      const other = await generateKeyPair("ES256", { extractable: true });
      const publicJwk = await exportJWK(other.publicKey);
      const key = other.privateKey;
      const [head, body] = good.split(".");
      const forged: { readonly [what: string]: string } = {
        "without a signature": issuer.unsigned(),
        "with the public key as the secret": await new SignJWT(issuer.claims())
          .setProtectedHeader({ alg: "HS256", kid: "k0", typ: "at+jwt" })
          .sign(await issuer.publicText()),
        "by another key": await issuer.token({ key }),
        "by another key with a name of its own": await issuer.token({ key, header: { kid: "k9" } }),
        "by a key in its header": await issuer.token({ key, header: { jwk: publicJwk } }),
        "by a key at an address": await issuer.token({
          key,
          header: { jku: "https://evil.example/jwks", kid: undefined },
        }),
        "with a stripped signature": `${head}.${body}.`,
        "with other claims": `${head}.${btoa(JSON.stringify(issuer.claims({ sub: "bob" })))}.${
          good.split(".")[2]
        }`,
        "as an ID token": await issuer.token({ header: { typ: "JWT" } }),
        "without a type": await issuer.token({ header: { typ: undefined } }),
        "as text": "nonsense",
        "with an extension that must be understood": await issuer.token({
          header: { crit: ["exp"], exp: 1 },
        }).catch(() => "nonsense"),
      };
      for (const [what, token] of Object.entries(forged)) {
        const { status } = await call(parley, token);
        assert.equal(status, 401, what);
      }
      assert.equal((await call(parley, good)).status, 200);
      assert.ok(!issuer.requests.some((path) => path.includes("evil")));
    }));

  it("that are refused are explained to the operator, without the token", async () => {
    const reasons: string[] = [];
    await withIssuer(async (issuer, parley) => {
      const token = await issuer.token({ claims: { aud: "https://other.example" } });
      await call(parley, token);
      await call(parley, await issuer.token({ claims: { iss: "https://evil.example" } }));
      issuer.answers["/jwks"] = () => new Response("", { status: 500 });
      await call(parley, await issuer.token({ header: { kid: "new" } }));
      assert.equal(reasons.length, 3);
      assert.match(reasons[0]!, /aud/);
      assert.match(reasons[1]!, /another issuer/);
      assert.ok(!reasons.join().includes(token));
    }, { onRefused: ({ reason }) => void reasons.push(reason) });
  });

  it("are read from the Authorization header only, and only one", () =>
    withIssuer(async (issuer, parley) => {
      const token = await issuer.token();
      const query = new TestClient(parley.fetch, { url: `${RESOURCE}?access_token=${token}` });
      assert.equal((await query.start("tools/list")).status, 401);
      for (
        const authorization of [
          `Bearer ${token}, Bearer ${token}`,
          `Basic ${btoa("alice:secret")}`,
          "Bearer",
          "Bearer ",
          `Bearer ${"x".repeat(20_000)}`,
          token,
        ]
      ) {
        const { status } = await call(parley, undefined, { authorization });
        assert.equal(status, 401, authorization.slice(0, 30));
      }
    }));

  it("are verified once, and again after five minutes", () =>
    withIssuer(async (issuer, parley) => {
      const token = await issuer.token();
      issuer.clock.advance(301_000);
      await call(parley, await issuer.token({ claims: { sub: "bob" } }));
      issuer.clock.advance(301_000);
      await call(parley, token);
      // The keys are ten minutes old, and the token's key is gone. Only a verification finds out.
      await issuer.rotate("k1");
      issuer.clock.advance(299_000);
      assert.equal((await call(parley, token)).status, 200);
      issuer.clock.advance(1_000);
      assert.equal((await call(parley, token)).status, 401);
    }));

  it("end at their expiry, not five minutes later", () =>
    withIssuer(async (issuer, parley) => {
      const exp = Math.floor(issuer.clock.now() / 1_000) + 60;
      const token = await issuer.token({ claims: { exp } });
      assert.equal((await call(parley, token)).status, 200);
      issuer.clock.advance(66_000);
      const { status, challenge } = await call(parley, token);
      assert.equal(status, 401);
      assert.match(challenge!, /error_description="The access token has expired"/);
    }));

  it("are not needed over stdio, and neither are scopes: its caller started the program", function* () {
    const issuer = yield* until(TestIssuer.create());
    const guarded = createMcpTool("guarded").description("Needs a scope.").scopes("admin")
      .execute(function* (_, ctx) {
        return `called by "${ctx.principal.id}"`;
      });
    const { client } = yield* useStdio({
      serve: [guarded],
      publicUrl: new URL(RESOURCE).origin,
      auth: { issuers: [ISSUER], scopes: ["mcp"], fetch: issuer.fetch as typeof fetch },
    });
    const id = client.modern("tools/call", { name: "guarded", arguments: {} });
    const { result } = yield* until(client.answerTo(id));
    assert.match(JSON.stringify(result), /called by \\"\\"/);
    assert.deepEqual(issuer.requests, []);
  });

  it("give a caller all of their scopes, except offline_access, which is for clients", () =>
    withIssuer(async (issuer, parley) => {
      const token = await issuer.token({ claims: { scope: "mcp offline_access more mcp" } });
      const { text } = await call(parley, token, {}, "scopes");
      assert.equal(text, "mcp more");
    }));

  it("are refused on all other ways to the endpoint too", () =>
    withIssuer(async (_, parley) => {
      for (const method of ["GET", "DELETE"]) {
        const response = await parley.fetch(
          new Request(RESOURCE, { method, headers: { "mcp-session-id": "x" } }),
        );
        assert.equal(response.status, 401, method);
        assert.match(response.headers.get("www-authenticate")!, /^Bearer resource_metadata=/);
      }
    }));
});

describe("the metadata of the protected resource", () => {
  it("is at the addresses with and without the path, for every origin", () =>
    withIssuer(async (_, parley) => {
      for (const path of ["", "/mcp"]) {
        const response = await parley.fetch(
          new Request(`http://127.0.0.1:7411/.well-known/oauth-protected-resource${path}`, {
            headers: { origin: "https://anywhere.example" },
          }),
        );
        assert.equal(response.status, 200);
        assert.equal(response.headers.get("access-control-allow-origin"), "*");
        const { dpop_signing_alg_values_supported: _, ...rest } = await response.json();
        assert.deepEqual(rest, {
          resource: RESOURCE,
          authorization_servers: [ISSUER],
          bearer_methods_supported: ["header"],
          scopes_supported: ["mcp"],
          resource_name: "Parley",
        });
      }
      const other = await parley.fetch(
        new Request("http://127.0.0.1:7411/.well-known/oauth-protected-resource/other"),
      );
      assert.equal(other.status, 404);
    }, { scopes: ["mcp"] }));

  it("answers a preflight without a token", () =>
    withIssuer(async (_, parley) => {
      const preflight = (url: string, origin: string) =>
        parley.fetch(
          new Request(url, {
            method: "OPTIONS",
            headers: { origin, "access-control-request-headers": "mcp-protocol-version" },
          }),
        );
      const metadata = await preflight(METADATA, "https://anywhere.example");
      assert.equal(metadata.status, 204);
      assert.equal(metadata.headers.get("access-control-allow-headers"), "*");
      const endpoint = await preflight(RESOURCE, "http://localhost:6274");
      assert.equal(endpoint.status, 204);
      assert.match(endpoint.headers.get("access-control-expose-headers")!, /www-authenticate/);
    }));

  it("names a loopback server as its client does, and its tokens are valid under each name", () =>
    withIssuer(async (issuer, parley) => {
      const response = await parley.fetch(
        new Request("http://localhost:7411/.well-known/oauth-protected-resource/mcp", {
          headers: { host: "localhost:7411" },
        }),
      );
      assert.equal((await response.json()).resource, "http://localhost:7411/mcp");
      const claims = { aud: "http://localhost:7411/mcp" };
      assert.equal((await call(parley, await issuer.token({ claims }))).status, 200);
      const elsewhere = await parley.fetch(
        new Request("http://localhost:9999/.well-known/oauth-protected-resource/mcp", {
          headers: { host: "localhost:9999" },
        }),
      );
      assert.equal((await elsewhere.json()).resource, RESOURCE);
    }));
});
