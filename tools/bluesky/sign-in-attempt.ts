/**
 * One attempt to sign in with a browser: a page that offers OAuth, a form for an app password, or
 * both.
 *
 * SIGNIN-1  An attempt ends once: with a sign-in, a refusal or a timeout.
 * SIGNIN-2  A password typed into the page is sent only to the service.
 */
import { type Operation, resource, until, withResolvers } from "effection";
import { type McpToolContext, readPostedForm, ToolError } from "parley-mcp";
import type { NodeSavedState } from "@atproto/oauth-client-node";
import type { Desk } from "./caller-accounts.ts";
import {
  type Client,
  CREDENTIALS,
  donePage,
  problemPage,
  type SignInPage,
  signInPage,
} from "./html.ts";
import { toActor } from "./names.ts";
import { CALLBACK, clientIdFor, redirectUriOf } from "./oauth-metadata.ts";
import { beginOAuth, finishOAuth } from "./oauth-redirects.ts";
import { MINUTES } from "./setup.ts";
import { type NewAccount, signInWithAppPassword } from "./sign-in.ts";
import { mainPasswordUsed } from "./password-texts.ts";

export interface AttemptOptions {
  readonly ways: { readonly oauth: boolean; readonly page: boolean };
  readonly handle: string | undefined;
  readonly service: string;
  readonly port: number | undefined;
  /** True if the page stays open after the call, for clients that cannot open pages themselves. */
  readonly stays: boolean;
}

/** How an attempt ended. */
export type Ending =
  | { readonly type: "signed_in"; readonly account: NewAccount }
  | { readonly type: "refused"; readonly problem: string };

export interface Attempt {
  readonly desk: Desk;
  readonly client: Client;
  readonly options: AttemptOptions;
  /** The URL of the page. */
  readonly url: string;
  /** The URL that starts OAuth, if it is offered. */
  readonly oauthUrl: string | undefined;
  readonly ended: Operation<Ending>;
  /** The OAuth client. It is needed again when the browser returns. */
  readonly oauth: { readonly clientId: string; readonly redirectUri: string } | undefined;
  readonly states: Map<string, NodeSavedState>;
  readonly until: number;
  end(ending: Ending): void;
}

/** Attempts that have not ended. A browser may return to them. */
const underWay = new Set<Attempt>();

export function useAttempt(
  ctx: McpToolContext,
  desk: Desk,
  options: AttemptOptions,
): Operation<Attempt> {
  return resource(function* (provide) {
    const { setup, principal } = desk;
    for (const one of underWay) if (one.until < setup.now()) underWay.delete(one);
    const { operation: ended, resolve } = withResolvers<Ending>();
    const life = MINUTES * 60_000;
    const { port } = options;
    const place = {
      ...(options.stays && { stays: life }),
      ...(port !== undefined && { port }),
    };
    const page = yield* ctx.usePage({ ...place, respond: (request) => visit(attempt, request) });
    const clientId = options.ways.oauth ? clientIdFor(desk.site) : undefined;
    const back = clientId === undefined ? undefined : yield* ctx.usePage({
      ...place,
      path: CALLBACK,
      respond: (request) => visitBack(principal, request),
    });
    const attempt: Attempt = {
      desk,
      client: ctx.client,
      options,
      url: page.url,
      oauthUrl: clientId && `${page.url}/oauth`,
      oauth: clientId && back ? { clientId, redirectUri: redirectUriOf(back.url) } : undefined,
      states: new Map(),
      ended,
      until: setup.now() + life,
      // SIGNIN-1: the attempt is over, and its pages close.
      end(ending) {
        underWay.delete(attempt);
        resolve(ending);
        page.close();
        back?.close();
      },
    };
    underWay.add(attempt);
    try {
      yield* provide(attempt);
    } finally {
      if (!options.stays) underWay.delete(attempt);
    }
  });
}

/** Handles a request for the page, or a submission of its form. */
function* visit(attempt: Attempt, request: Request): Operation<Response> {
  const { ways } = attempt.options;
  const { pathname } = new URL(request.url);
  if (request.method === "POST" && ways.page) return yield* takePassword(attempt, request);
  if (request.method !== "GET") {
    return new Response(
      `Cannot serve ${request.method} here: this page can only be viewed; open it in a browser`,
      {
        status: 405,
      },
    );
  }
  if (attempt.oauth && pathname.endsWith("/oauth")) return yield* beginOAuth(attempt);
  return startPage(attempt);
}

/** Handles the browser's return from the authorization server. */
function* visitBack(principal: string, request: Request): Operation<Response> {
  const answer = new URL(request.url).searchParams;
  const state = answer.get("state") ?? "";
  for (const attempt of underWay) {
    if (attempt.desk.principal === principal && attempt.states.has(state)) {
      return yield* finishOAuth(attempt, answer);
    }
  }
  return problemPage("This sign-in has ended, or was not started here.");
}

function* takePassword(attempt: Attempt, request: Request): Operation<Response> {
  const { desk, options: { service } } = attempt;
  const posted = yield* until(readPostedForm(request, CREDENTIALS, attempt.url));
  if (!posted) return startPage(attempt, { problem: "The form could not be read. Try again." });
  if (posted.problems.length > 0) return startPage(attempt, { posted });
  const { handle: given, password } = posted.content as { handle: string; password: string };
  try {
    const handle = toActor(given);
    // SIGNIN-2
    const account = yield* signInWithAppPassword(desk, { handle, password, service });
    attempt.end({ type: "signed_in", account });
    const warning = account.mainPassword ? mainPasswordUsed(account.handle) : undefined;
    return donePage(account.handle, attempt.client, warning);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return startPage(attempt, { posted, problem: error.message });
  }
}

function startPage(
  attempt: Attempt,
  more: Pick<SignInPage, "posted" | "problem"> = {},
): Response {
  const { url, options, desk, client } = attempt;
  return signInPage({
    oauth: options.ways.oauth,
    password: options.ways.page,
    base: new URL(url).pathname,
    handle: options.handle,
    service: options.service,
    principal: desk.principal,
    client,
    ...more,
  });
}
