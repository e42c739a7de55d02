/**
 * The attacks that access control must refuse, as one table. Each row is tried on a server of its
 * own, on which Alice has left something open and Bob has a valid token (`attacks.test.ts`).
 */
import { createHash } from "node:crypto";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { Operation } from "effection";
import { RESOURCE } from "./issuer.ts";
import type { AttackScene } from "./attack-scene.ts";

export interface Attack {
  readonly name: string;
  /** Tries the attack, and returns the server's response. */
  attempt(scene: AttackScene): Operation<Response> | Promise<Response>;
  readonly status: number;
  /** What `WWW-Authenticate` must be. Default: there is none. */
  readonly challenge?: RegExp;
  /** What the body must say. */
  readonly body: RegExp;
  /** The same request with something that does not exist. The response must be the same. */
  unknown?(scene: AttackScene): Promise<Response>;
  /** Response headers besides `content-type`, `cache-control` and `www-authenticate`. */
  readonly headers?: readonly string[];
}

const METADATA =
  'resource_metadata="http://127.0.0.1:7411/.well-known/oauth-protected-resource/mcp"';
const NOT_VALID = invalid("The access token is not valid for this server");
const NO_TOKEN = new RegExp(`^Bearer ${METADATA}, scope="mcp"$`);
const NO_PROOF = /, DPoP error="invalid_dpop_proof", algs="[\w ]+"$/;
const NO_VALID_TOKEN =
  /^\{"jsonrpc":"2.0","error":\{"code":-32600,"message":"Cannot serve the request: it has no valid access token; sign in as WWW-Authenticate says"\}\}$/;
const OUTAGE =
  /^\{"jsonrpc":"2.0","error":\{"code":-?\d+,"message":"Cannot check the access token: its issuer cannot be reached; try again later"\}\}$/;
const NOT_SIGNED_IN = /^Cannot sign you in: [\w ,-]+; go back and open the page again$/;

function invalid(description: string): RegExp {
  return new RegExp(
    `^Bearer error="invalid_token", error_description="${description}", ${METADATA}, scope="mcp"`,
  );
}

const refusedToken = { status: 401, challenge: NOT_VALID, body: NO_VALID_TOKEN };
const outage = { status: 503, body: OUTAGE, headers: ["retry-after"] };

const SIGNATURES: readonly Attack[] = [
  {
    name: "alg: none",
    attempt: ({ list, issuer }) => list(issuer.unsigned()),
    ...refusedToken,
  },
  {
    name: "HS256 with the public key",
    attempt: async ({ list, issuer }) =>
      list(
        await new SignJWT(issuer.claims())
          .setProtectedHeader({ alg: "HS256", kid: issuer.kid, typ: "at+jwt" })
          .sign(await issuer.publicText()),
      ),
    ...refusedToken,
  },
  {
    name: "a foreign key id",
    attempt: async ({ list, issuer }) => {
      const { privateKey: key } = await generateKeyPair("ES256");
      return list(await issuer.token({ key, header: { kid: "foreign" } }));
    },
    ...refusedToken,
  },
  {
    name: "the issuer's key id with another key",
    attempt: async ({ list, issuer }) => {
      const { privateKey: key } = await generateKeyPair("ES256");
      return list(await issuer.token({ key }));
    },
    ...refusedToken,
  },
  {
    name: "a key in the token's header",
    attempt: async ({ list, issuer }) => {
      const pair = await generateKeyPair("ES256", { extractable: true });
      const jwk = await exportJWK(pair.publicKey);
      const header = { jwk, jku: "https://evil.example/jwks", kid: undefined };
      return list(await issuer.token({ key: pair.privateKey, header }));
    },
    ...refusedToken,
  },
  {
    name: "a stripped signature",
    attempt: async ({ list, issuer }) =>
      list((await issuer.token()).split(".").slice(0, 2).join(".") + "."),
    ...refusedToken,
  },
];

const CLAIMS: readonly Attack[] = [
  ...Object.entries({
    "a wrong audience": { aud: "https://other.example/mcp" },
    "a wrong issuer": { iss: "https://evil.example" },
    "a token that is not valid yet": { nbf: 4_000_000_000 },
  }).map(([name, claims]): Attack => ({
    name,
    attempt: async ({ list, issuer }) => list(await issuer.token({ claims })),
    ...refusedToken,
  })),
  {
    name: "an expired token",
    attempt: async ({ list, issuer }) =>
      list(await issuer.token({ claims: { exp: issuer.clock.now() / 1_000 - 60 } })),
    ...refusedToken,
    challenge: invalid("The access token has expired"),
  },
  {
    name: "a token in the query",
    attempt: ({ bob, send }) => send(`${RESOURCE}?access_token=${bob}`, { method: "POST" }),
    ...refusedToken,
    challenge: NO_TOKEN,
  },
];

const PROOFS: readonly Attack[] = [
  {
    name: "cnf without a proof",
    attempt: async ({ list, bound }) => list((await bound()).token),
    ...refusedToken,
    challenge: new RegExp(
      invalid("The access token needs a DPoP proof").source + NO_PROOF.source,
    ),
  },
  {
    name: "cnf without a proof, as DPoP",
    attempt: async ({ send, bound }) =>
      send(RESOURCE, { headers: { authorization: `DPoP ${(await bound()).token}` } }),
    ...refusedToken,
    challenge: new RegExp(invalid("The DPoP header is missing").source + NO_PROOF.source),
  },
  {
    name: "a DPoP proof a second time",
    attempt: async ({ send, bound, issuer }) => {
      const { token, key } = await bound();
      const dpop = await new SignJWT({
        jti: "once",
        htm: "GET",
        htu: RESOURCE,
        iat: Math.floor(issuer.clock.now() / 1_000),
        ath: createHash("sha256").update(token).digest("base64url"),
      }).setProtectedHeader({
        alg: "ES256",
        typ: "dpop+jwt",
        jwk: await exportJWK(key.publicKey),
      }).sign(key.privateKey);
      const headers = { authorization: `DPoP ${token}`, dpop };
      const first = await send(RESOURCE, { headers });
      if (first.status !== 405) throw new Error(`the first use failed: ${first.status}`);
      await first.body?.cancel();
      return await send(RESOURCE, { headers });
    },
    ...refusedToken,
    challenge: new RegExp(invalid("The DPoP proof was used before").source + NO_PROOF.source),
  },
];

/** What the issuer answers, instead of the right thing. */
const ISSUERS: readonly Attack[] = [
  ...Object.entries({
    "fails": () => new Response("", { status: 500 }),
    "is huge": () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(64 * 1_024).fill(32)),
        }),
      ),
    "redirects": () => Response.redirect("https://evil.example/jwks"),
  }).map(([what, answer]): Attack => ({
    name: `a key set that ${what}`,
    attempt: async ({ listAfresh, issuer }) => {
      issuer.answers["/jwks"] = answer;
      return listAfresh(await issuer.token());
    },
    ...outage,
  })),
  {
    name: "a key set that hangs",
    attempt: async ({ listAfresh, issuer }) => {
      const asked = Promise.withResolvers<void>();
      issuer.answers["/jwks"] = () => {
        asked.resolve();
        return new Promise<Response>(() => {});
      };
      const refused = listAfresh(await issuer.token());
      await asked.promise;
      issuer.clock.advance(3_000);
      return await refused;
    },
    ...outage,
  },
  {
    name: "metadata that redirect",
    attempt: async ({ listAfresh, issuer }) => {
      issuer.answers["/.well-known/openid-configuration"] = () =>
        Response.redirect("https://evil.example/.well-known/openid-configuration");
      return listAfresh(await issuer.token());
    },
    ...outage,
  },
  {
    name: "metadata of another issuer",
    attempt: async ({ listAfresh, issuer }) => {
      issuer.answers["/.well-known/openid-configuration"] = () =>
        Response.json({ issuer: "https://evil.example", jwks_uri: "https://evil.example/jwks" });
      return listAfresh(await issuer.token());
    },
    ...outage,
  },
];

const notSignedIn = {
  status: 400,
  body: NOT_SIGNED_IN,
  headers: ["referrer-policy", "x-content-type-options", "x-frame-options"],
};

const SIGN_INS: readonly Attack[] = [
  {
    name: "mix-up: our sign-in gets the answer of another issuer",
    attempt: ({ callback }) => callback({ iss: "https://evil.example" }),
    ...notSignedIn,
    headers: [...notSignedIn.headers, "set-cookie"],
  },
  {
    name: "mix-up: our client gets the answer of another issuer",
    *attempt({ clientMixUp }) {
      return yield* clientMixUp();
    },
    status: 400,
    body: /^Cannot sign in to \S+: the answer of the authorization server is not valid; try again$/,
  },
  {
    name: "a forged callback, in a browser that did not start it",
    attempt: ({ callback }) => callback({}, null),
    ...notSignedIn,
  },
  {
    name: "a forged callback, with the cookie of another attempt",
    attempt: async ({ callback, begin }) => callback({}, (await begin()).cookie),
    ...notSignedIn,
  },
  {
    name: "a token endpoint that redirects, to get the code",
    attempt: async ({ callback, issuer }) => {
      issuer.answers["/token"] = () => Response.redirect("https://evil.example/token", 307);
      return await callback({});
    },
    ...notSignedIn,
    headers: [...notSignedIn.headers, "set-cookie"],
  },
  ...["https://evil.example/", "//evil.example/", "/\\evil.example/"].map((page): Attack => ({
    name: `a return address elsewhere: ${page}`,
    attempt: ({ send }) =>
      send(`${new URL(RESOURCE).origin}/sign-in?page=${encodeURIComponent(page)}`),
    status: 400,
    body: /You were not signed in/,
    headers: [
      "content-security-policy",
      "cross-origin-opener-policy",
      "cross-origin-resource-policy",
      "referrer-policy",
    ],
  })),
  {
    name: "a preflight of a foreign page, without a token",
    attempt: ({ send }) =>
      send(RESOURCE, {
        method: "OPTIONS",
        headers: {
          origin: "https://evil.example",
          "access-control-request-headers": "authorization",
        },
      }),
    status: 403,
    body: /Cannot serve the request: /,
  },
];

/** What belongs to Alice, in the hands of Bob. */
const OTHERS: readonly Attack[] = [
  ...(["POST", "GET", "DELETE"] as const).map((method): Attack => ({
    name: `another's Mcp-Session-Id: ${method}`,
    attempt: ({ alice, session }) => session(method, alice.sessionId),
    unknown: ({ session }) => session(method, "00000000-0000-0000-0000-000000000000"),
    status: 404,
    body: /Cannot find the session/,
  })),
  {
    name: "another's session over HTTP+SSE",
    attempt: ({ alice, message }) => message(alice.sseSession),
    unknown: ({ message }) => message("nosuch"),
    status: 404,
    body: /Cannot find the session/,
  },
  {
    name: "another's Last-Event-ID, in its session",
    attempt: ({ alice, session }) => session("GET", alice.sessionId, alice.lastEventId),
    unknown: ({ session, alice }) => session("GET", "nosuch", alice.lastEventId),
    status: 404,
    body: /Cannot find the session/,
  },
  {
    name: "another's Last-Event-ID, in a session of its own",
    attempt: async ({ alice, session, ownSession }) =>
      session("GET", await ownSession(), alice.lastEventId),
    unknown: async ({ alice, session, ownSession }) => {
      const [stream] = alice.lastEventId.split(".");
      return await session("GET", await ownSession(), `${stream}.999`);
    },
    status: 405,
    body: /there are no more events/,
    headers: ["allow"],
  },
  {
    name: "another's requestState",
    attempt: ({ alice, call }) => call("ask", {}, alice.retry),
    unknown: ({ alice, call }) => call("ask", {}, { ...alice.retry, requestState: "made-up" }),
    status: 200,
    body: /"error":\{"code":-32602,"message":"Cannot continue the call: its requestState is not/,
  },
  {
    name: "another's ticket",
    attempt: ({ alice, call }) => call("continue_call", { ticket: alice.ticket }),
    unknown: ({ call }) => call("continue_call", { ticket: "made-up" }),
    status: 200,
    body: /"isError":true/,
  },
  ...["tasks/get", "tasks/update", "tasks/cancel"].map((method): Attack => ({
    name: `another's task id: ${method}`,
    attempt: ({ alice, task }) => task(method, alice.taskId),
    unknown: ({ task }) => task(method, "nosuch"),
    status: 200,
    body: /"error":\{"code":-32602,"message":"Cannot find the task/,
  })),
  {
    name: "another's page",
    attempt: ({ alice, bob, send }) =>
      send(alice.page, { headers: { authorization: `Bearer ${bob}` } }),
    status: 403,
    body: /it belongs to another caller/,
  },
  {
    name: "another's page, in a browser without a session",
    attempt: ({ alice, send }) => send(alice.page),
    status: 401,
    challenge: NO_TOKEN,
    body: NO_VALID_TOKEN,
  },
  {
    name: "another's task, in a subscription",
    attempt: ({ alice, subscribe }) => subscribe(alice.taskId),
    unknown: ({ subscribe }) => subscribe("nosuch"),
    status: 200,
    body:
      /^event: message\ndata: \{"jsonrpc":"2.0","method":"notifications\/subscriptions\/acknowledged","params":\{"notifications":\{\},/,
    headers: ["x-accel-buffering"],
  },
];

export const ATTACKS: readonly Attack[] = [
  ...SIGNATURES,
  ...CLAIMS,
  ...PROOFS,
  ...ISSUERS,
  ...SIGN_INS,
  ...OTHERS,
];
