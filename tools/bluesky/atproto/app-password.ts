/** Signs in with an app password, and calls the service with the resulting tokens. */
import { Agent, type AtpSessionData, CredentialSession } from "@atproto/api";
import type { Credentials } from "../accounts.ts";

/** The secret that is stored after a sign-in with an app password. */
export interface PasswordSecret {
  readonly session: AtpSessionData;
  /** The server that hosts the account. It may differ from the server of the sign-in. */
  readonly pds: string | undefined;
}

export interface SignedIn {
  readonly did: string;
  readonly handle: string;
  /** True if the person used the account's main password. */
  readonly mainPassword: boolean;
  readonly secret: PasswordSecret;
}

export async function signInWithPassword(
  { handle, password, service }: { handle: string; password: string; service: string },
  fetch: typeof globalThis.fetch,
): Promise<SignedIn> {
  const manager = new CredentialSession(new URL(service), fetch);
  await manager.login({ identifier: handle, password });
  const session = manager.session!;
  return {
    did: session.did,
    handle: session.handle,
    mainPassword: !/^com\.atproto\.appPass/.test(scopeOf(session.accessJwt)),
    secret: secretOf(manager),
  };
}

export interface Opened {
  readonly agent: Agent;
  /** Waits until new tokens are stored. */
  saved(): Promise<void>;
}

/** Creates an agent from stored tokens. Passes refreshed tokens to `renew`, with the old ones. */
export function openWithPassword(
  { service, secret }: Credentials,
  fetch: typeof globalThis.fetch,
  renew: (secret: PasswordSecret, before: PasswordSecret) => Promise<void>,
): Opened {
  let current = secret as PasswordSecret;
  let saving = Promise.resolve();
  const manager: CredentialSession = new CredentialSession(new URL(service), fetch, (event) => {
    if (event !== "update") return;
    const before = current;
    const next = current = secretOf(manager);
    saving = saving.then(() => renew(next, before));
    // Ignore the error here, because `saved()` throws it later.
    saving.catch(() => {});
  });
  manager.session = current.session;
  if (current.pds !== undefined) manager.pdsUrl = new URL(current.pds);
  const agent = new Agent((url, init) => manager.fetchHandler(url, init));
  return { agent, saved: () => saving };
}

export async function signOutWithPassword(
  { service, secret }: Credentials,
  fetch: typeof globalThis.fetch,
): Promise<void> {
  const { refreshJwt } = (secret as PasswordSecret).session;
  const { server } = new Agent({ service, fetch }).com.atproto;
  await server.deleteSession(undefined, { headers: { authorization: `Bearer ${refreshJwt}` } });
}

function secretOf({ session, pdsUrl }: CredentialSession): PasswordSecret {
  return { session: session!, pds: pdsUrl?.origin };
}

/** The scope that a token contains. */
function scopeOf(token: string): string {
  try {
    const payload = token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/");
    return String(JSON.parse(atob(payload)).scope);
  } catch {
    return "";
  }
}
