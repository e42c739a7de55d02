/**
 * Signs out: deletes the stored tokens, and asks the authorization server to revoke them (RFC
 * 7009).
 */
import {
  allowInsecureRequests,
  customFetch,
  processRevocationResponse,
  revocationRequest,
} from "oauth4webapi";
import type { Vault } from "../../vault/types.ts";
import { Credentials, type StoredClient, type StoredTokens } from "./credentials.ts";
import { issuerMetadata } from "./discovery.ts";
import { Reach } from "./reach.ts";
import { givenClient, storedClient } from "./registration.ts";

export interface Forgotten {
  readonly issuer: string;
  readonly tokens: StoredTokens | undefined;
  readonly client: StoredClient | undefined;
}

/**
 * Deletes the tokens for a server. If there are none, returns the servers for which there are
 * tokens.
 */
export async function forget(
  vault: Vault,
  server: string,
): Promise<Forgotten | { readonly others: readonly string[] }> {
  const credentials = new Credentials(vault);
  const removed = await credentials.remove(server);
  if (!removed) return { others: await credentials.servers() };
  return { ...removed, client: await credentials.client(removed.issuer) };
}

/**
 * Revokes the tokens. Returns false if the authorization server cannot be reached, or does not
 * support that.
 */
export async function revoke(
  server: string,
  { issuer, tokens, client: known }: Forgotten,
  signal: AbortSignal,
): Promise<boolean> {
  if (!tokens) return true;
  const reach = new Reach(server);
  try {
    const metadata = await issuerMetadata(reach.check(issuer, "the issuer"), reach, signal);
    if (!metadata?.revocation_endpoint || metadata.issuer !== issuer) return false;
    const chosen = known?.id === tokens.clientId
      ? storedClient(known, metadata)
      : givenClient({ clientId: tokens.clientId }, metadata)!;
    // Revoking a refresh token also ends the access tokens of the same sign-in.
    const token = tokens.refresh ?? tokens.access;
    const response = await revocationRequest(metadata, chosen.client, chosen.auth, token, {
      [customFetch]: reach.fetch,
      [allowInsecureRequests]: true,
      signal,
    });
    await processRevocationResponse(response);
    return true;
  } catch {
    return false;
  }
}
