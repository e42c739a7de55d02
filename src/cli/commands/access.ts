/** The flags of `parley serve` that decide who may call tools. */
import { readFileSync } from "node:fs";
import { checkAuthOptions } from "../../auth/options.ts";
import { TokenFile } from "../../auth/token-file.ts";
import { systemClock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { AuthOptions, SignInOptions } from "../../server/access.ts";
import { Problem, USAGE } from "../problem.ts";
import type { ServeFlags } from "../server-flags.ts";

export type AccessFlags = Pick<ServeFlags, "host"> & Partial<ServeFlags>;

/** Whether only programs on this machine can connect to an address. */
export function isLocal(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?)$/i.test(host);
}

/** The access control that the flags configure. Undefined if there is none. */
export function authFrom(flags: AccessFlags): AuthOptions | undefined {
  const { authIssuer: issuers = [], tokenFile, authAudience, authScope, publicUrl } = flags;
  const isOn = issuers.length > 0 || tokenFile !== undefined;
  if (!isOn) refuseWithoutIssuer(flags);
  if (!isOn && !isLocal(flags.host) && !flags.allowAnonymous) {
    throw new Problem(
      `Cannot listen on "${flags.host}": other machines could call every tool; make callers sign in (--auth-issuer), give them tokens (--token-file), or let everybody call (--allow-anonymous)`,
      USAGE,
    );
  }
  if (!isOn) return undefined;
  if (flags.allowAnonymous) {
    throw new Problem(
      "Cannot use --allow-anonymous: --auth-issuer or --token-file already decides who may call; leave out one of the flags",
      USAGE,
    );
  }
  const isKnown = isLocal(flags.host) && !flags.allowHost?.length || publicUrl !== undefined;
  if (issuers.length > 0 && !isKnown) {
    throw new Problem(
      "Cannot check tokens: the server does not know the address that clients use, so it cannot check the audience of a token; add --public-url",
      USAGE,
    );
  }
  const signIn = credentials(flags);
  const auth: AuthOptions = {
    issuers: issuers.map((issuer, index) => ({
      issuer,
      ...(flags.authProfile && { profile: flags.authProfile }),
      // The client credentials belong to the first issuer.
      ...(index === 0 && signIn?.clientSecret !== undefined && {
        introspection: { clientId: signIn.clientId, clientSecret: signIn.clientSecret },
      }),
      ...(flags.authProfile === "cognito" && signIn && { clients: [signIn.clientId] }),
    })),
    ...(signIn && { signIn }),
    ...(tokenFile !== undefined && { tokenFile }),
    ...(authAudience && { audience: authAudience }),
    ...(authScope && { scopes: authScope }),
    ...(flags.authDpopNonces && { dpopNonces: true }),
  };
  try {
    checkAuthOptions({ auth, publicUrl: () => undefined });
    if (tokenFile !== undefined) new TokenFile(tokenFile, systemClock, () => {});
  } catch (error) {
    throw new Problem(messageOf(error), USAGE);
  }
  return auth;
}

function refuseWithoutIssuer(flags: AccessFlags): void {
  const needing = [
    ["--auth-audience", flags.authAudience],
    ["--auth-scope", flags.authScope],
    ["--auth-profile", flags.authProfile],
    ["--auth-client-id", flags.authClientId],
    ["--auth-dpop-nonces", flags.authDpopNonces],
  ] as const;
  const [flag] = needing.find(([, value]) => value !== undefined) ?? [];
  if (flag === undefined) return;
  throw new Problem(`Cannot use ${flag}: there is no issuer; add --auth-issuer`, USAGE);
}

/** The server's own credentials at the issuer. */
function credentials({ authClientId, authClientSecretFile }: AccessFlags):
  | SignInOptions
  | undefined {
  if (authClientId === undefined) {
    if (authClientSecretFile === undefined) return undefined;
    throw new Problem(
      "Cannot use --auth-client-secret-file: there is no client id; add --auth-client-id",
      USAGE,
    );
  }
  if (authClientSecretFile === undefined) return { clientId: authClientId };
  return { clientId: authClientId, clientSecret: secretIn(authClientSecretFile) };
}

function secretIn(file: string): string {
  try {
    const secret = readFileSync(file, "utf8").trim();
    if (secret !== "") return secret;
  } catch (error) {
    throw new Problem(
      `Cannot read the client secret in "${file}": ${messageOf(error)}; check the path`,
    );
  }
  throw new Problem(
    `Cannot read the client secret in "${file}": the file is empty; write the secret to the file`,
  );
}

/** Who can reach the server, for the banner. */
export function reachOf(flags: AccessFlags, auth: AuthOptions | undefined): string {
  const where = isLocal(flags.host) ? "on this machine" : "on the network";
  if (!auth) {
    return isLocal(flags.host)
      ? "Programs on this machine can call the server"
      : `Everybody ${where} can call the server, without signing in`;
  }
  const ways = [
    ...(auth.issuers ?? []).map((given) =>
      `people and programs that sign in at ${typeof given === "string" ? given : given.issuer}`
    ),
    ...(auth.tokenFile === undefined ? [] : [`programs with a token in ${auth.tokenFile}`]),
  ];
  return `Only ${ways.join(" and ")} can call the server`;
}
