/** The official clients, which sign in by themselves when the server refuses them. */
import * as v2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Browser } from "./cookie-browser.ts";

/** Where the browser is sent at the end. Nothing listens there. */
const REDIRECT = "http://127.0.0.1:9/callback";
const DOCUMENT = "https://client.example/client.json";

const METADATA = {
  client_name: "A test",
  redirect_uris: [REDIRECT],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
};

/** The client ID metadata document of the clients here, for the authorization server. */
export const DOCUMENTS = new Map<string, object>([
  [DOCUMENT, { ...METADATA, client_id: DOCUMENT, application_type: "native" }],
]);

export type Registration = "document" | "dynamic";
export type ClientKind = "v1" | "v2 legacy" | "v2 modern";
export const CLIENT_KINDS: readonly ClientKind[] = ["v1", "v2 legacy", "v2 modern"];

/** What a client keeps about its sign-in. Its browser needs no person. */
export class SignIn {
  readonly browser: Browser;
  readonly clientMetadata = METADATA;
  readonly redirectUrl = REDIRECT;
  readonly clientMetadataUrl?: string;
  /** The scopes that were asked for, at each sign-in. */
  readonly asked: (string | null)[] = [];
  /** The parameters with which the browser came back. */
  returned: URLSearchParams | undefined;
  // deno-lint-ignore no-explicit-any
  #kept: { [what: string]: any } = {};

  constructor(user: string, registration: Registration) {
    this.browser = new Browser({ as_user: user });
    if (registration === "document") this.clientMetadataUrl = DOCUMENT;
  }

  state = () => "a-state-of-this-test";
  clientInformation = () => this.#kept.client;
  saveClientInformation = (client: unknown) => void (this.#kept.client = client);
  tokens = () => this.#kept.tokens;
  saveTokens = (tokens: unknown) => void (this.#kept.tokens = tokens);
  codeVerifier = () => this.#kept.verifier;
  saveCodeVerifier = (verifier: string) => void (this.#kept.verifier = verifier);
  discoveryState = () => this.#kept.discovery;
  saveDiscoveryState = (discovery: unknown) => void (this.#kept.discovery = discovery);

  invalidateCredentials(what: string): void {
    if (what === "all" || what === "tokens") delete this.#kept.tokens;
    if (what === "all" || what === "client") delete this.#kept.client;
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    this.asked.push(url.searchParams.get("scope"));
    const end = await this.browser.visit(url.href, (at) => at.startsWith(REDIRECT));
    this.returned = new URL(end.url).searchParams;
  }

  /** Forgets the refresh token, so that a client must ask the person again. */
  forgetRefreshToken(): void {
    const { refresh_token: _, ...tokens } = this.#kept.tokens;
    this.#kept.tokens = tokens;
  }

  get accessToken(): string {
    return this.#kept.tokens?.access_token;
  }
}

export interface SignedIn {
  readonly signIn: SignIn;
  readonly version: string | undefined;
  /** Calls a tool and returns the text of its result. Signs in again if the server asks for it. */
  call(name: string, args?: { [key: string]: unknown }): Promise<string>;
  listTools(): Promise<string[]>;
  close(): Promise<void>;
}

/** Connects, knowing nothing but the URL. */
export async function connectSignedIn(
  kind: ClientKind,
  url: string,
  signIn: SignIn,
  answer: () => Promise<object> = () => Promise.resolve({ action: "decline" }),
): Promise<SignedIn> {
  const first = await connected(kind, url, signIn, answer);
  const connection = first ?? await connected(kind, url, signIn, answer);
  if (!connection) throw new Error("the client signed in, and was refused again");
  const { client, finish } = connection;
  return {
    signIn,
    version: connection.version(),
    async call(name, args = {}) {
      const call = () => client.callTool({ name, arguments: args });
      try {
        return textOf(await call());
      } catch (error) {
        if (!await finish()) throw error;
        return textOf(await call());
      }
    },
    listTools: async () =>
      (await client.listTools()).tools.map(({ name }: { name: string }) => name),
    close: () => client.close(),
  };
}

interface Connection {
  // deno-lint-ignore no-explicit-any
  readonly client: any;
  version(): string | undefined;
  /** Completes a sign-in that the browser has ended. Returns false if there is none. */
  finish(): Promise<boolean>;
}

/** Undefined if the client had to sign in first. */
async function connected(
  kind: ClientKind,
  url: string,
  signIn: SignIn,
  answer: () => Promise<object>,
): Promise<Connection | undefined> {
  const { client, transport, version } = kind === "v1"
    ? v1Client(url, signIn, answer)
    : v2Client(url, signIn, answer, kind === "v2 modern" ? { pin: "2026-07-28" } : "legacy");
  const finish = async () => {
    const { returned } = signIn;
    if (!returned) return false;
    signIn.returned = undefined;
    await transport.finishAuth(kind === "v1" ? returned.get("code") : returned);
    return true;
  };
  try {
    await client.connect(transport);
    return { client, version, finish };
  } catch (error) {
    if (!await finish()) throw error;
    await client.close();
    return undefined;
  }
}

const INFO = { name: "official", version: "1.0.0" };
const CAPABILITIES = { elicitation: { form: {} } };

// deno-lint-ignore no-explicit-any
type Parts = { client: any; transport: any; version: () => string | undefined };

function v1Client(url: string, signIn: SignIn, answer: () => Promise<object>): Parts {
  const client = new Client(INFO, { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, answer as never);
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    authProvider: signIn as never,
  });
  return { client, transport, version: () => transport.protocolVersion };
}

function v2Client(
  url: string,
  signIn: SignIn,
  answer: () => Promise<object>,
  mode: v2.VersionNegotiationMode,
): Parts {
  const client = new v2.Client(INFO, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode },
  });
  client.setRequestHandler("elicitation/create", answer as never);
  const transport = new v2.StreamableHTTPClientTransport(new URL(url), {
    authProvider: signIn as never,
  });
  return { client, transport, version: () => client.getNegotiatedProtocolVersion() };
}

// deno-lint-ignore no-explicit-any
function textOf(result: any): string {
  return result.content[0].text;
}
