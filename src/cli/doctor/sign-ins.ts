/** The sign-ins of `parley call` on this machine. No token is printed. */
import { Credentials, type SignedIn } from "../../client/oauth/credentials.ts";
import { messageOf } from "../../lib/message-of.ts";
import { VaultError } from "../../vault/errors.ts";
import { isVaultUsed, openVault } from "../../vault/vault.ts";
import { type Finding, splitMessage } from "./probe.ts";

const check = "sign-ins";

/** All sign-ins, without looking at any server. */
export async function signInsFinding(): Promise<Finding> {
  try {
    const credentials = await storedCredentials();
    const servers = await credentials?.servers() ?? [];
    if (!credentials || servers.length === 0) {
      return { check, status: "ok", message: "You are not signed in to any server" };
    }
    const signedIn = await Promise.all(servers.map((server) => credentials.signedIn(server)));
    const over = servers.filter((_, index) => isOver(signedIn[index]));
    const count = servers.length === 1 ? "1 server" : `${servers.length} servers`;
    if (over.length === 0) return { check, status: "ok", message: `You are signed in to ${count}` };
    return {
      check,
      status: "warning",
      message: `Your sign-in has expired at ${over.join(", ")}`,
      remedy: `call a tool there to sign in again, or run: parley sign-out ${over[0]}`,
    };
  } catch (error) {
    return unreadable(error);
  }
}

/** The sign-in to one server. */
export async function signInFinding(
  server: string,
): Promise<{ finding: Finding | undefined; bearer: string | undefined }> {
  try {
    const signedIn = await (await storedCredentials())?.signedIn(server);
    if (!signedIn) return { finding: undefined, bearer: undefined };
    const { issuer, tokens } = signedIn;
    const isFresh = !isOver(signedIn, false);
    const bearer = isFresh && tokens.key === undefined ? tokens.access : undefined;
    if (!isOver(signedIn)) {
      const message = `You are signed in at ${issuer}${
        bearer ? ", and these checks use your token" : ""
      }`;
      return { finding: { check, status: "ok", message }, bearer };
    }
    const message = `Your sign-in at ${issuer} has expired`;
    const remedy = "call a tool of the server to sign in again";
    return { finding: { check, status: "warning", message, remedy }, bearer };
  } catch (error) {
    return { finding: unreadable(error), bearer: undefined };
  }
}

async function storedCredentials(): Promise<Credentials | undefined> {
  // Do not ask for access to a keyring in which Parley has stored nothing.
  return await isVaultUsed() ? new Credentials(await openVault()) : undefined;
}

/**
 * Whether a sign-in has expired: its access token has expired, and there is no refresh token to
 * use.
 */
function isOver(signedIn: SignedIn | undefined, canRefresh = true): boolean {
  const { expiresAt = Infinity, refresh } = signedIn?.tokens ?? {};
  return signedIn !== undefined && expiresAt <= Date.now() &&
    !(canRefresh && refresh !== undefined);
}

function unreadable(error: unknown): Finding {
  if (!(error instanceof VaultError)) throw error;
  return { check, status: "problem", ...splitMessage(messageOf(error)) };
}
