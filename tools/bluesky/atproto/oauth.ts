/** OAuth, as AT Protocol wants it: PKCE, PAR and DPoP are the library's. */
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

/** States of sign-ins that are under way in a browser. */
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
    // Only this machine may do without encryption.
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
      // Whether a sign-in is really gone is decided by whoever used it: another process may
      // have refreshed it meanwhile.
      del: () => {},
    },
  });
}

export async function openWithOAuth(options: OAuthOptions, did: string): Promise<Agent> {
  return new Agent(await oauthClient(options).restore(did));
}

/** Who signed in, by the handle that their own server knows them by. */
export async function handleOf(session: ConstructorParameters<typeof Agent>[0], did: string) {
  const { data } = await new Agent(session).com.atproto.repo.describeRepo({ repo: did });
  return data.handle;
}

/** How the library says that a sign-in cannot be used any more. */
export function isGone(error: unknown): boolean {
  return error instanceof TokenRefreshError || error instanceof TokenRevokedError ||
    error instanceof TokenInvalidError;
}
