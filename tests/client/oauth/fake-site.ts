/**
 * A server with its authorization server, on one port, whose every answer a test can change. The
 * person is a function: it gets the link, and decides what returns to the callback.
 */
import { type Operation, resource, until } from "effection";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { createManualClock } from "parley-mcp";
import { OAuth, type OAuthOptions } from "../../../src/client/oauth/oauth.ts";
import { MemoryVault } from "../../support/memory-vault.ts";

export interface Answer {
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: unknown;
}

type Form = { readonly [name: string]: string };
export type Answers = { [path: string]: (form: Form) => Answer | Promise<Answer> };

export interface Request {
  readonly path: string;
  readonly form: Form;
  readonly authorization: string | undefined;
  /** The proof that the client has its key. */
  readonly dpop: string | undefined;
}

const SECRETS = ["access-1", "access-2", "refresh-1", "refresh-2"];

export class FakeSite {
  readonly vault = new MemoryVault();
  readonly clock = createManualClock();
  readonly requests: Request[] = [];
  readonly origin: string;
  readonly answers: Answers;
  /** The links that the person got. */
  readonly pages: URL[] = [];
  #tokens = 0;

  constructor(origin: string) {
    this.origin = origin;
    this.answers = {
      "/.well-known/oauth-protected-resource/mcp": () => ({ body: this.resource() }),
      "/.well-known/oauth-authorization-server/as": () => ({ body: this.metadata() }),
      "/as/register": () => ({ status: 201, body: { client_id: "registered" } }),
      "/as/token": () => ({ body: this.tokens() }),
      "/as/revoke": () => ({}),
    };
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  get issuer(): string {
    return `${this.origin}/as`;
  }

  resource(): { [name: string]: unknown } {
    return { resource: this.url, authorization_servers: [this.issuer], scopes_supported: ["mcp"] };
  }

  metadata(): { [name: string]: unknown } {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      registration_endpoint: `${this.issuer}/register`,
      revocation_endpoint: `${this.issuer}/revoke`,
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none", "client_secret_basic"],
      authorization_response_iss_parameter_supported: true,
    };
  }

  /** The next tokens. Each is used once only. */
  tokens(): { [name: string]: unknown } {
    const number = ++this.#tokens;
    return {
      access_token: `access-${number}`,
      refresh_token: `refresh-${number}`,
      token_type: "Bearer",
      expires_in: 3_600,
    };
  }

  /** What `retry` gets from a server that refuses a request. */
  refusal(status = 401, challenge = "Bearer"): { status: number; headers: Headers } {
    return { status, headers: new Headers({ "www-authenticate": challenge }) };
  }

  oauth(options: Partial<OAuthOptions> = {}): OAuth {
    return new OAuth({
      url: this.url,
      vault: () => Promise.resolve(this.vault),
      clock: this.clock,
      browse: (page) => this.browse(page),
      ...options,
    });
  }

  /** The person signs in, and the browser returns. */
  *browse(page: URL, change: Form = {}): Operation<void> {
    this.pages.push(page);
    const { redirect_uri, state } = Object.fromEntries(page.searchParams);
    const back = new URL(redirect_uri!);
    const parameters = { code: "code-1", state: state!, iss: this.issuer, ...change };
    for (const [name, value] of Object.entries(parameters)) back.searchParams.set(name, value);
    yield* until(fetch(back).then((response) => response.text()));
  }

  paths(): string[] {
    return this.requests.map(({ path }) => path);
  }

  /** The forms that were sent to the token endpoint. */
  grants(): Form[] {
    return this.requests.filter(({ path }) => path === "/as/token").map(({ form }) => form);
  }

  /** Everything in the vault, as one text. */
  stored(): string {
    return [...this.vault.documents.values()].join("\n");
  }
}

/** True if a text contains a token. */
export function leaks(text: string): boolean {
  return [...SECRETS, "code-1", "client-secret"].some((secret) => text.includes(secret));
}

export function useFakeSite(): Operation<FakeSite> {
  return resource(function* (provide) {
    const server = createServer();
    yield* until(new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
    const site = new FakeSite(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on("request", async (request, response) => {
      const path = request.url!.split("?")[0]!;
      const form = await formOf(request);
      const { authorization, dpop } = request.headers;
      site.requests.push({ path, form, authorization, dpop: dpop as string | undefined });
      const { status = 200, headers = {}, body } = await site.answers[path]?.(form) ??
        { status: 404 };
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(body === undefined ? "" : JSON.stringify(body));
    });
    try {
      yield* provide(site);
    } finally {
      server.closeAllConnections();
      yield* until(new Promise((resolve) => server.close(resolve)));
    }
  });
}

async function formOf(request: IncomingMessage): Promise<Form> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text.startsWith("{") ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
}
