/** Connects with the newest revision that the server supports. */
import type { Operation } from "effection";
import { ClientError } from "./client-error.ts";
import { type Endpoint, Refusal } from "./http.ts";
import { LegacyServer } from "./legacy.ts";
import { ModernServer } from "./modern.ts";
import type { ClientIdentity, RemoteServer } from "./server.ts";

export function* connect(endpoint: Endpoint, identity: ClientIdentity): Operation<RemoteServer> {
  const modern = new ModernServer(endpoint, identity);
  try {
    yield* modern.discover();
    return modern;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    refuseForGood(endpoint, error);
  }
  // Any other refusal means that the server does not support the modern revision.
  const legacy = new LegacyServer(endpoint);
  try {
    yield* legacy.initialize(identity);
    return legacy;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    refuseForGood(endpoint, error);
    throw new ClientError(
      `Cannot connect to ${endpoint.url}: ${error.message}; check that it is an MCP server`,
    );
  }
}

function refuseForGood({ url }: Endpoint, { status, message, redirectedTo }: Refusal): void {
  if (status !== 401 && status !== 403) return;
  throw new ClientError(
    redirectedTo === undefined
      ? `Cannot connect to ${url}: access was denied (HTTP ${status}: ${message}); pass credentials with --header "Authorization: …"`
      : `Cannot connect to ${url}: it redirects to ${redirectedTo}, which denied access (HTTP ${status}: ${message}) and did not receive your headers; if you trust that address, use it as the URL`,
  );
}
