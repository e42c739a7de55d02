/** Connects to the server that `--url` names. */
import { ensure, type Operation } from "effection";
import { connect } from "../../client/connect.ts";
import { type Endpoint, type HeaderLines, Refusal } from "../../client/http.ts";
import type { RemoteServer, RemoteTool } from "../../client/server.ts";
import type { Environment } from "../environment.ts";
import { Problem, USAGE } from "../problem.ts";
import { type SignInFlags, signInOnDemand } from "./sign-in.ts";

/** The flags for a server that is not in this process. */
export interface ServerFlags extends SignInFlags {
  readonly header?: readonly string[];
}

/**
 * Connects to the server, and signs in if the server requires it. The session ends with the scope.
 * `trace` is called with each message on the wire.
 */
export function* useServer(
  url: string,
  { header = [], ...flags }: ServerFlags,
  environment: Environment,
  trace?: Endpoint["trace"],
): Operation<RemoteServer> {
  const headers = headersIn(header);
  const isSignedIn = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  const authorization = isSignedIn ? undefined : signInOnDemand(url, flags, environment);
  const { version } = environment;
  const endpoint = { url, headers, authorization, trace };
  const server = yield* connect(endpoint, { name: "parley", version });
  yield* ensure(() => server.close());
  return server;
}

/** The tools of a server. */
export function* toolsOf(server: RemoteServer, url: string): Operation<RemoteTool[]> {
  try {
    return yield* server.tools();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Problem(
      `Cannot list the tools of ${url}: the server refused the request: ${error.message}; see the server's log`,
    );
  }
}

/** The URL of a server as it is used for requests and for storing tokens. */
export function serverAddress(url: string): string {
  const { protocol, pathname, href } = URL.parse(url) ?? {};
  if (href === undefined || (protocol !== "http:" && protocol !== "https:")) {
    throw new Problem(
      `Cannot call "${url}": it is not a URL; write it as http://127.0.0.1:7411/mcp`,
      USAGE,
    );
  }
  return pathname === "/" ? new URL("/mcp", href).href : href;
}

/** The headers of `--header`. */
export function headersIn(lines: readonly string[]): HeaderLines {
  return Object.fromEntries(lines.map((line) => {
    const colon = line.indexOf(":");
    // Do not quote the header: it may contain a secret.
    if (colon < 1) {
      throw new Problem('Cannot use a header: it has no name; write it as "Name: value"', USAGE);
    }
    return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  }));
}
