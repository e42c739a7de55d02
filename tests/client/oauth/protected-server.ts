/** A Parley server that asks for sign-in, with its authorization server; and what signs in to it. */
import { ensure, type Operation, until } from "effection";
import process from "node:process";
import { type AuthOptions, createMcpTool, createParley } from "parley-mcp";
import { listen } from "../../../src/platform/listen.ts";
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  useAuthorizationServer,
} from "../../support/authorization-server.ts";
import { browserCommand } from "../../support/browser-command.ts";

const hello = createMcpTool("hello").description("Says hello.").execute(function* (_, ctx) {
  return `Hello ${ctx.principal.subject}`;
});

const book = createMcpTool("book").description("Needs more access.").scopes("flights:book")
  .execute(function* (_, ctx) {
    return `Booked for ${ctx.principal.subject} with ${[...ctx.principal.scopes].sort().join(" ")}`;
  });

export interface ProtectedServer {
  readonly url: string;
  readonly issuer: AuthorizationServer;
  /** The `Authorization` headers of all requests to the server. */
  readonly authorizations: (string | null)[];
}

export interface ProtectedServerOptions extends Partial<AuthorizationServerOptions> {
  /** Changes what a request is answered with. */
  readonly answer?: (response: Response) => Response;
  /** More options of access control. */
  readonly auth?: Partial<AuthOptions>;
}

export function* useProtectedServer(
  { answer = (response) => response, auth, ...options }: ProtectedServerOptions = {},
): Operation<ProtectedServer> {
  let url = "";
  const issuer = yield* useAuthorizationServer({ resources: () => [url], ...options });
  const parley = createParley({
    serve: [hello, book],
    publicUrl: () => new URL("/", url).href,
    auth: { issuers: [issuer.issuer], scopes: ["mcp"], ...auth },
  });
  const authorizations: (string | null)[] = [];
  const fetch: typeof parley.fetch = async (request, ...rest) => {
    authorizations.push(request.headers.get("authorization"));
    return answer(await parley.fetch(request, ...rest));
  };
  const listening = yield* until(listen(fetch, { port: 0, hostname: "127.0.0.1" }));
  yield* ensure(() => until(parley.close().then(() => listening.stop())));
  url = `http://127.0.0.1:${listening.port}/mcp`;
  return { url, issuer, authorizations };
}

/** The environment of a program that has a vault and a browser of its own. */
export function signInEnvironment(folder: string): { [name: string]: string | undefined } {
  return {
    APPDATA: folder,
    XDG_CONFIG_HOME: folder,
    // Only where the vault depends on it: Deno's cache does too.
    ...(process.platform === "darwin" && { HOME: folder }),
    PARLEY_KEYRING: "off",
    PARLEY_PASSPHRASE: undefined,
    BROWSER: browserCommand(),
  };
}
