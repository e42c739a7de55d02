/**
 * Calls a service as a signed-in account. Refreshes and stores expired tokens. If the service no
 * longer accepts the sign-in, marks the account as signed out, unless another process has stored
 * newer tokens.
 */
import type { Agent } from "@atproto/api";
import type { Accounts, Credentials } from "../accounts.ts";
import { carefulFetch, Trouble } from "../careful-fetch.ts";
import { CALLBACK } from "../oauth-metadata.ts";
import type { Account } from "../schemas.ts";
import type { BlueskySetup } from "../setup.ts";
import { type Doing, explained, SignInGone } from "../explain-error.ts";
import { type Opened, openWithPassword, signOutWithPassword } from "./app-password.ts";
import { isGone, oauthClient, type OAuthOptions, openWithOAuth } from "./oauth.ts";

export interface AsAccount {
  readonly setup: BlueskySetup;
  readonly accounts: Accounts;
  readonly account: Account;
  /** True if the caller is on this machine. */
  readonly local: boolean;
}

export async function asAccount<T>(
  who: AsAccount,
  doing: Pick<Doing, "what" | "wanted">,
  call: (agent: Agent) => Promise<T>,
): Promise<T> {
  const { accounts, account: { did, handle, service }, setup, local } = who;
  for (let again = true;; again = false) {
    const credentials = await accounts.credentials(did);
    if (!credentials) throw new SignInGone(handle);
    let trouble: Trouble | undefined;
    const fetch = noting(carefulFetch({ setup, service, local }), (noted) => trouble = noted);
    try {
      const { agent, saved } = await open(who, credentials, fetch);
      const result = await call(agent);
      // Wait until refreshed tokens are stored, because the old ones may no longer be valid.
      await saved();
      return result;
    } catch (error) {
      // Prefer the network error: the library may report a failed refresh as a refusal.
      const context = { ...doing, service, handle, now: setup.now() };
      const problem = explained(trouble ?? error, context, isGone);
      if (!(problem instanceof SignInGone)) throw problem;
      if (again && await changed(accounts, did, credentials)) continue;
      await accounts.expire(did);
      throw problem;
    }
  }
}

/** Revokes a sign-in at the service. */
export async function signOut(
  { accounts, account: { did, service }, setup, local }: AsAccount,
): Promise<void> {
  const credentials = await accounts.credentials(did);
  if (!credentials) return;
  const fetch = carefulFetch({ setup, service, local });
  if (credentials.method === "app-password") return await signOutWithPassword(credentials, fetch);
  await oauthClient(oauthOptions(credentials, { accounts, setup, fetch })).revoke(did);
}

async function open(
  { accounts, account: { did }, setup }: AsAccount,
  credentials: Credentials,
  fetch: typeof globalThis.fetch,
): Promise<Opened> {
  if (credentials.method === "oauth") {
    const options = oauthOptions(credentials, { accounts, setup, fetch });
    return { agent: await openWithOAuth(options, did), saved: async () => {} };
  }
  return openWithPassword(
    credentials,
    fetch,
    (secret, before) => accounts.renew(did, secret, before),
  );
}

function oauthOptions(
  { clientId, service }: Credentials,
  given: Pick<OAuthOptions, "accounts" | "setup" | "fetch">,
): OAuthOptions {
  // The redirect URI is used only during a sign-in, but the options require one.
  return { ...given, clientId: clientId!, service, redirectUri: `http://127.0.0.1${CALLBACK}` };
}

/** Passes network errors to `note`, because the libraries may drop them. */
function noting(
  fetch: typeof globalThis.fetch,
  note: (trouble: Trouble) => void,
): typeof globalThis.fetch {
  return async (input, init) => {
    try {
      return await fetch(input, init);
    } catch (error) {
      if (error instanceof Trouble) note(error);
      throw error;
    }
  };
}

async function changed(accounts: Accounts, did: string, before: Credentials): Promise<boolean> {
  const now = await accounts.credentials(did);
  return now !== undefined && JSON.stringify(now.secret) !== JSON.stringify(before.secret);
}
