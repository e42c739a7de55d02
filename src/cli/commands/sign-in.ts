/** Signs in to the servers that `parley call` uses, if they require it. */
import { readFileSync } from "node:fs";
import { type Operation, until } from "effection";
import type { Authorization } from "../../client/http.ts";
import { messageOf } from "../../lib/message-of.ts";
import { openVault } from "../../vault/open.ts";
import type { Environment } from "../environment.ts";
import { Problem, USAGE } from "../problem.ts";
import { hasBrowser, openBrowser } from "../terminal/browser.ts";
import { visible } from "../terminal/visible.ts";

/** The flags for signing in. */
export interface SignInFlags {
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly clientMetadataUrl?: string;
  readonly callbackPort?: number;
}

/**
 * Does nothing until the server refuses a request. The keyring is not opened for a server without
 * sign-in.
 */
export function signInOnDemand(
  url: string,
  flags: SignInFlags,
  environment: Environment,
): Authorization {
  const clientSecret = secretIn(flags);
  const { clientId, clientMetadataUrl, callbackPort } = flags;
  let loaded: Authorization | undefined;
  return {
    get header() {
      return loaded?.header;
    },
    *proof(method, url) {
      return loaded ? yield* loaded.proof(method, url) : {};
    },
    *retry(response, used) {
      if (!loaded && response.status !== 401 && response.status !== 403) return false;
      if (!loaded) {
        const { OAuth } = yield* until(import("../../client/oauth/oauth.ts"));
        loaded ??= new OAuth({
          url,
          clientId,
          clientSecret,
          clientMetadataUrl,
          callbackPort,
          vault: () => openVault(),
          browse: canBrowse(environment)
            ? (page, issuer) => browse(url, page, issuer, environment)
            : undefined,
        });
      }
      return yield* loaded.retry(response, used);
    },
  };
}

function canBrowse({ terminal }: Environment): boolean {
  return terminal.interactive || hasBrowser();
}

/** Prints the link, and opens it if a browser is configured. */
function* browse(
  server: string,
  page: URL,
  issuer: string,
  { terminal }: Environment,
): Operation<void> {
  const { dim } = terminal.err;
  const at = URL.parse(issuer)?.host ?? issuer;
  terminal.note(`${visible(server)} asks you to sign in at ${visible(at)}. Open this page:`);
  terminal.note(`  ${visible(page.href)}`);
  if (hasBrowser() && !(yield* openBrowser(page))) {
    terminal.note("The command in BROWSER could not be started. Open the page by hand.");
  }
  terminal.note(dim("Waiting for you to sign in. Stop with Ctrl-C."));
}

function secretIn({ clientId, clientSecretFile }: SignInFlags): string | undefined {
  if (clientSecretFile === undefined) return undefined;
  if (clientId === undefined) {
    throw new Problem(
      "Cannot use --client-secret-file: there is no client; add --client-id",
      USAGE,
    );
  }
  try {
    return readFileSync(clientSecretFile, "utf8").trim();
  } catch (error) {
    throw new Problem(
      `Cannot read the client secret: ${messageOf(error)}; check --client-secret-file`,
      USAGE,
    );
  }
}
