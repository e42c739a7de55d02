/** OAuth for AT Protocol. The library implements PKCE, PAR and DPoP. */
import { Agent } from "@atproto/api";
import {
  NodeOAuthClient,
  type NodeSavedSession,
  type NodeSavedState,
  type OAuthClientMetadataInput,
  requestLocalLock,
  TokenInvalidError,
  TokenRefreshError,
  TokenRevokedError,
} from "@atproto/oauth-client-node";
import type { Accounts } from "../accounts.ts";
import { isHere } from "../names.ts";
import type { BlueskySetup } from "../setup.ts";
import { clientMetadata } from "../oauth-metadata.ts";

/** The states of sign-ins that are running in a browser. */
export type States = Map<string, NodeSavedState>;

export interface OAuthOptions {
  readonly setup: BlueskySetup;
  readonly fetch: typeof globalThis.fetch;
  readonly accounts: Accounts;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly service: string;
  readonly states?: States;
}

export function oauthClient(options: OAuthOptions): NodeOAuthClient {
  const { setup, accounts, clientId, redirectUri, service, states = new Map() } = options;
  return new NodeOAuthClient({
    clientMetadata: clientMetadata(clientId, redirectUri) as OAuthClientMetadataInput,
    fetch: options.fetch,
    handleResolver: service,
    plcDirectoryUrl: setup.plc,
    // Only services on this machine may use http.
    allowHttp: isHere(new URL(service)),
    requestLock: requestLocalLock,
    stateStore: {
      set: (key, state) => void states.set(key, state),
      get: (key) => states.get(key),
      del: (key) => void states.delete(key),
    },
    sessionStore: {
      set: (did, secret) => accounts.keep(did, { method: "oauth", service, clientId, secret }),
      async get(did) {
        const credentials = await accounts.credentials(did);
        if (credentials?.method !== "oauth" || credentials.clientId !== clientId) return undefined;
        return credentials.secret as NodeSavedSession;
      },
      // Do not delete here: another process may have refreshed the tokens. The caller checks that.
      del: () => {},
    },
  });
}

export async function openWithOAuth(options: OAuthOptions, did: string): Promise<Agent> {
  return new Agent(await oauthClient(options).restore(did));
}

/** Asks the account's server for the handle of the account. */
export async function handleOf(session: ConstructorParameters<typeof Agent>[0], did: string) {
  const { data } = await new Agent(session).com.atproto.repo.describeRepo({ repo: did });
  return data.handle;
}

/** True if the library reports that a sign-in has expired or was revoked. */
export function isGone(error: unknown): boolean {
  return error instanceof TokenRefreshError || error instanceof TokenRevokedError ||
    error instanceof TokenInvalidError;
}
