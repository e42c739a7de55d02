/** Handles the two requests of an OAuth sign-in: the start, and the return from the service. */
import { type Operation, until } from "effection";
import { ToolError } from "parley-mcp";
import type { Attempt } from "./sign-in-attempt.ts";
import { carefulFetch } from "./careful-fetch.ts";
import { donePage, problemPage } from "./html.ts";
import { type NewAccount, trying } from "./sign-in.ts";
import { OAUTH_HOW, OAUTH_IS_BETTER } from "./password-texts.ts";

/** Registers the sign-in with the authorization server, and redirects the browser to that server. */
export function* beginOAuth(attempt: Attempt): Operation<Response> {
  const { desk, options: { handle, service } } = attempt;
  const client = yield* clientOf(attempt);
  const doing = {
    what: `sign in${handle ? ` as "${handle}"` : ""}`,
    service,
    ...(handle && { wanted: handle }),
  };
  try {
    const address = yield* trying(desk, doing, () => client.authorize(handle ?? service));
    return new Response(null, { status: 302, headers: { location: address.href } });
  } catch (error) {
    return failure(error, attempt);
  }
}

/** Handles the authorization server's answer and stores the account. */
export function* finishOAuth(attempt: Attempt, answer: URLSearchParams): Operation<Response> {
  const { desk, options: { service }, client: app } = attempt;
  if (answer.get("error") === "access_denied") {
    const problem =
      `Cannot sign in to Bluesky: you declined on the page of Bluesky, and nothing was stored. ${OAUTH_IS_BETTER} ${OAUTH_HOW}`;
    attempt.end({ type: "refused", problem });
    return problemPage(problem, app);
  }
  const { handleOf } = yield* until(import("./atproto/mod.ts"));
  const client = yield* clientOf(attempt);
  try {
    const account = yield* trying(desk, { what: "sign in", service }, async () => {
      const { session } = await client.callback(answer);
      const { did } = session;
      const made: NewAccount = {
        did,
        handle: await handleOf(session, did),
        service,
        method: "oauth",
        signedIn: true,
        mainPassword: false,
      };
      await desk.accounts.add(made);
      return made;
    });
    attempt.end({ type: "signed_in", account });
    return donePage(account.handle, app);
  } catch (error) {
    return failure(error, attempt);
  }
}

function* clientOf({ desk, oauth, states, options: { service } }: Attempt) {
  const { oauthClient } = yield* until(import("./atproto/mod.ts"));
  const { setup, accounts, site: { local } } = desk;
  const fetch = carefulFetch({ setup, service, local });
  return oauthClient({ setup, fetch, accounts, ...oauth!, service, states });
}

/** Shows a known error to the person. Throws any other error without its cause, which has secrets. */
function failure(error: unknown, { client, url }: Attempt): Response {
  if (error instanceof ToolError) return problemPage(error.message, client, url);
  throw new Error(`Signing in with OAuth failed: ${error instanceof Error ? error.message : ""}`);
}
