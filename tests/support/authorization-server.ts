/**
 * A real authorization server on loopback: `oidc-provider`. It signs people in without a person:
 * the cookie `as_user` says who it is, and everything that is asked for is granted.
 */
import { type Operation, resource, until } from "effection";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import { Provider } from "oidc-provider";

export interface AuthorizationServerOptions {
  /** The URLs of the servers that tokens can be for. */
  readonly resources: () => readonly string[];
  /** Client ID metadata documents by address. No request leaves the machine. */
  readonly documents?: ReadonlyMap<string, object>;
  /** Clients that are registered from the start. */
  readonly clients?: readonly object[];
  readonly opaque?: boolean;
  /** Seconds. Default: an hour. */
  readonly tokenTtl?: number;
  /** Whether clients are bound to the scopes that they registered with. Default: no. */
  readonly bindsScopes?: boolean;
}

export interface AuthorizationServer {
  readonly issuer: string;
  /** The requests so far, as `METHOD /path`. */
  readonly requests: string[];
  /** Seconds for which the next tokens are valid. */
  tokenTtl: number;
  /** Signs with a new key from now on, and publishes only that key. */
  rotate(): Promise<void>;
  /** A token from the token endpoint, by the grant for programs. */
  clientToken(client: string, secret: string, scope: string): Promise<string>;
  /** Adds a client. */
  register(client: object): void;
  /** Revokes a token of a client. */
  revoke(client: string, secret: string, token: string): Promise<void>;
}

const SCOPES = "mcp flights:read flights:book console:read console:act";
/** The credentials of resource servers, for introspection. */
export const INTROSPECTOR = { clientId: "rs", clientSecret: "rs-secret" };
/** A program that acts for itself. */
export const MACHINE = { clientId: "machine", clientSecret: "machine-secret" };

// deno-lint-ignore no-explicit-any
type Loose = any;

export function useAuthorizationServer(
  options: AuthorizationServerOptions,
): Operation<AuthorizationServer> {
  return resource(function* (provide) {
    const server = createServer();
    yield* until(new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const requests: string[] = [];
    const records = new Map<string, Loose>();
    let key = yield* until(newKey());
    const idKey = yield* until(newKey("RS256"));
    let rotations = 0;
    const clients = [...options.clients ?? []];
    const self: AuthorizationServer = {
      issuer,
      requests,
      tokenTtl: options.tokenTtl ?? 3_600,
      async rotate() {
        key = await newKey("ES256", `k${++rotations}`);
        provider = create();
      },
      async clientToken(client, secret, scope) {
        const response = await fetch(`${issuer}/token`, {
          method: "POST",
          headers: { authorization: `Basic ${btoa(`${client}:${secret}`)}` },
          body: new URLSearchParams({
            grant_type: "client_credentials",
            resource: options.resources()[0]!,
            scope,
          }),
        });
        return (await response.json()).access_token;
      },
      register(client) {
        clients.push(client);
        provider = create();
      },
      async revoke(client, secret, token) {
        const response = await fetch(`${issuer}/token/revocation`, {
          method: "POST",
          headers: { authorization: `Basic ${btoa(`${client}:${secret}`)}` },
          body: new URLSearchParams({ token }),
        });
        if (!response.ok) throw new Error(`the token was not revoked: ${await response.text()}`);
      },
    };
    const create = (): Loose =>
      new Provider(issuer, configuration({ ...options, clients }, self, [key, idKey], records));
    let provider = create();
    server.on("request", async (request: IncomingMessage, response: ServerResponse) => {
      const path = request.url!.split("?")[0]!;
      requests.push(`${request.method} ${path}`);
      if (path.startsWith("/interaction/")) return await interact(provider, request, response);
      if (path === "/reg" && !options.bindsScopes) {
        (request as Loose).body = await withoutScope(request);
      }
      provider.callback()(request, response);
    });
    try {
      yield* provide(self);
    } finally {
      server.closeAllConnections();
      yield* until(new Promise((resolve) => server.close(resolve)));
    }
  });
}

async function newKey(alg = "ES256", kid = "k0"): Promise<object> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...await exportJWK(privateKey), kid: alg === "ES256" ? kid : alg, alg, use: "sig" };
}

function configuration(
  { resources, documents, opaque, clients = [] }: AuthorizationServerOptions,
  self: AuthorizationServer,
  keys: readonly Loose[],
  records: Map<string, Loose>,
): Loose {
  return {
    adapter: adapterOver(records),
    jwks: { keys },
    clients: [
      machine(INTROSPECTOR, []),
      machine(MACHINE, ["client_credentials"]),
      ...clients,
    ],
    scopes: ["openid", "offline_access", ...SCOPES.split(" ")],
    cookies: { keys: ["only for tests"] },
    clientBasedCORS: () => true,
    pkce: { required: () => true },
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    ttl: {
      AccessToken: () => self.tokenTtl,
      ClientCredentials: () => self.tokenTtl,
      RefreshToken: 86_400,
      Grant: 86_400,
      Session: 86_400,
      Interaction: 600,
      AuthorizationCode: 60,
    },
    rotateRefreshToken: true,
    issueRefreshToken: (_: unknown, client: Loose) => client.grantTypeAllowed("refresh_token"),
    fetch: (url: string | URL) => {
      const document = documents?.get(String(url));
      return Promise.resolve(
        document
          ? Response.json(document, { headers: { "cache-control": "max-age=60" } })
          : new Response("", { status: 404 }),
      );
    },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true },
      dPoP: { enabled: true },
      clientCredentials: { enabled: true },
      ...(documents && { clientIdMetadataDocument: { enabled: true, ack: "draft-02" } }),
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (_: unknown, resource: string) => {
          if (!resources().includes(resource)) {
            throw Object.assign(new Error("invalid_target"), {
              status: 400,
              statusCode: 400,
              expose: true,
              error: "invalid_target",
              error_description: `unknown resource ${resource}`,
            });
          }
          return {
            scope: SCOPES,
            audience: resource,
            accessTokenFormat: opaque ? "opaque" : "jwt",
            accessTokenTTL: self.tokenTtl,
            jwt: { sign: { alg: "ES256", kid: keys[0].kid } },
          };
        },
      },
    },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
  };
}

function machine(
  { clientId, clientSecret }: typeof MACHINE,
  grant_types: readonly string[],
): object {
  return {
    client_id: clientId,
    client_secret: clientSecret,
    grant_types,
    response_types: [],
    redirect_uris: [],
    token_endpoint_auth_method: "client_secret_basic",
  };
}

/** Both official clients register with the scope of the first challenge only. */
async function withoutScope(request: IncomingMessage): Promise<object> {
  let text = "";
  for await (const chunk of request) text += chunk;
  const { scope: _, ...rest } = JSON.parse(text);
  return rest;
}

async function interact(
  provider: Loose,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  const user = /as_user=(\w+)/.exec(request.headers.cookie ?? "")?.[1] ?? "alice";
  if (prompt.name === "login") {
    const login = { login: { accountId: user } };
    return await provider.interactionFinished(request, response, login, {
      mergeWithLastSubmission: false,
    });
  }
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  const { missingOIDCScope, missingOIDCClaims, missingResourceScopes } = prompt.details;
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(" "));
  if (missingOIDCClaims) grant.addOIDCClaims(missingOIDCClaims);
  for (const [resource, scopes] of Object.entries<Loose>(missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(" "));
  }
  const consent = { consent: { grantId: await grant.save() } };
  await provider.interactionFinished(request, response, consent, { mergeWithLastSubmission: true });
}

/** All providers of one server share their records, so that they survive a new key. */
function adapterOver(records: Map<string, Loose>): Loose {
  return class {
    readonly #name: string;
    constructor(name: string) {
      this.#name = name;
    }
    #key(id: string): string {
      return `${this.#name}:${id}`;
    }
    upsert(id: string, record: Loose) {
      records.set(this.#key(id), record);
      if (record.uid) records.set(this.#key(`uid:${record.uid}`), record);
    }
    find(id: string) {
      return Promise.resolve(records.get(this.#key(id)));
    }
    findByUid(uid: string) {
      return this.find(`uid:${uid}`);
    }
    findByUserCode() {}
    destroy(id: string) {
      records.delete(this.#key(id));
    }
    consume(id: string) {
      const record = records.get(this.#key(id));
      if (record) record.consumed = Math.floor(Date.now() / 1_000);
    }
    revokeByGrantId(grantId: string) {
      for (const [key, record] of records) if (record.grantId === grantId) records.delete(key);
    }
  };
}
