/** An issuer of tokens without a server: its documents are handed out by a `fetch` of the test. */
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT, UnsecuredJWT } from "jose";
import { createMcpTool, createParley, type Parley, type ParleyOptions } from "parley-mcp";
import type { AuthOptions } from "parley-mcp";
import { createManualClock, type ManualClock } from "parley-mcp";

export const ISSUER = "https://issuer.example";
export const RESOURCE = "http://127.0.0.1:7411/mcp";

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

/** A claim that is `undefined` is left out of the token. */
export interface TokenOptions {
  readonly claims?: { readonly [name: string]: unknown };
  readonly header?: { readonly [name: string]: unknown };
  readonly key?: KeyPair["privateKey"];
}

/** What the issuer answers, by path. */
export type Answers = { [path: string]: (signal: AbortSignal) => Response | Promise<Response> };

export class TestIssuer {
  readonly clock: ManualClock;
  readonly answers: Answers;
  /** The paths that were requested. */
  readonly requests: string[] = [];
  /** The origins that were requested. */
  readonly origins: string[] = [];
  keys: readonly JWK[] = [];
  #key!: KeyPair;

  private constructor(clock: ManualClock) {
    this.clock = clock;
    this.answers = {
      "/.well-known/openid-configuration": () =>
        Response.json({
          issuer: ISSUER,
          jwks_uri: `${ISSUER}/jwks`,
          introspection_endpoint: `${ISSUER}/introspect`,
        }),
      "/jwks": () => Response.json({ keys: this.keys }),
    };
  }

  static async create(clock: ManualClock = createManualClock()): Promise<TestIssuer> {
    const issuer = new TestIssuer(clock);
    await issuer.rotate("k0");
    return issuer;
  }

  /** Signs with a new key from now on. */
  async rotate(kid: string): Promise<void> {
    this.#key = await generateKeyPair("ES256", { extractable: true });
    this.keys = [{ ...await exportJWK(this.#key.publicKey), kid, alg: "ES256", use: "sig" }];
  }

  get kid(): string {
    return this.keys[0]!.kid!;
  }

  /** The text of the public key, which an attacker also has. */
  async publicText(): Promise<Uint8Array> {
    return new TextEncoder().encode(await exportSPKI(this.#key.publicKey));
  }

  claims(given: TokenOptions["claims"] = {}): { [name: string]: unknown } {
    const now = Math.floor(this.clock.now() / 1_000);
    const claims = {
      iss: ISSUER,
      aud: RESOURCE,
      sub: "alice",
      client_id: "a-client",
      scope: "mcp",
      iat: now,
      exp: now + 3_600,
      ...given,
    };
    return Object.fromEntries(
      Object.entries(claims).filter(([, value]) => value !== undefined),
    );
  }

  token({ claims, header, key = this.#key.privateKey }: TokenOptions = {}): Promise<string> {
    const all = { alg: "ES256", kid: this.kid, typ: "at+jwt", ...header };
    return new SignJWT(this.claims(claims)).setProtectedHeader(
      Object.fromEntries(
        Object.entries(all).filter(([, value]) => value !== undefined),
      ) as typeof all,
    ).sign(key);
  }

  unsigned(): string {
    return new UnsecuredJWT(this.claims()).encode();
  }

  /** Follows redirects, unless it is asked not to. */
  readonly fetch = async (
    input: string | URL | Request,
    init: RequestInit = {},
  ): Promise<Response> => {
    const { pathname, origin } = new URL(String(input));
    this.requests.push(pathname);
    this.origins.push(origin);
    const answer = origin === ISSUER ? this.answers[pathname] : undefined;
    const response = await answer?.(init.signal!) ?? new Response("not here", { status: 404 });
    const location = response.headers.get("location");
    if (location === null || init.redirect === "manual") return response;
    return await this.fetch(new URL(location, ISSUER), init);
  };

  /** How often a path was requested. */
  count(path: string): number {
    return this.requests.filter((one) => one === path).length;
  }

  /** A server that accepts this issuer's tokens. */
  server(auth: Partial<AuthOptions> = {}, options: ParleyOptions = {}): Parley {
    return createParley({
      serve: [whoami],
      publicUrl: new URL(RESOURCE).origin,
      clock: this.clock,
      auth: { issuers: [ISSUER], fetch: this.fetch as typeof fetch, ...auth },
      ...options,
    });
  }
}

export const whoami = createMcpTool("whoami").description("Names the caller.").execute(
  function* (_, ctx) {
    return `${ctx.principal.id}`;
  },
);
