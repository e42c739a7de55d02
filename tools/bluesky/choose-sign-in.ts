/**
 * Chooses the way to sign in: the requested way, or the best way that the client supports.
 *
 * | client can | if no method is requested | if the person declines, the error explains |
 * |---|---|---|
 * | open pages | a page with OAuth and a form for an app password | how to start OAuth |
 * | show forms | a choice: OAuth, a page, or a password field if the server allows it | the same |
 * | neither | an error that lists links and other ways | |
 */
import { type Operation, race } from "effection";
import { ToolError } from "parley-mcp";
import { type Attempt, type AttemptOptions, type Ending, useAttempt } from "./sign-in-attempt.ts";
import { type Desk, listing } from "./caller-accounts.ts";
import type { LoginParameters } from "./login.ts";
import { toActor, toService } from "./names.ts";
import { clientIdFor } from "./oauth-metadata.ts";
import { choices, type Context } from "./questions.ts";
import type { Accounts } from "./schemas.ts";
import { MINUTES } from "./setup.ts";
import { type NewAccount, signInWithAppPassword } from "./sign-in.ts";
import {
  ABOUT_PASSWORDS,
  adaptText,
  ASK_HANDLE,
  askPassword,
  cannotAsk,
  CHOOSE,
  goToPage,
  mainPasswordUsed,
  NO_PASSWORD_FIELD,
  notSignedIn,
  openYourself,
  passwordWithoutHandle,
  tooLate,
} from "./password-texts.ts";

/** The message for the person, and the accounts afterwards. */
interface Told {
  readonly told: string;
  readonly result: Accounts;
}

/** The arguments of a sign-in. */
interface Wish {
  readonly handle: string | undefined;
  readonly service: string;
  readonly port: number | undefined;
}

export function* signIn(params: LoginParameters, ctx: Context, desk: Desk): Operation<Told> {
  const { setup, site } = desk;
  const wish: Wish = {
    handle: params.handle === undefined ? undefined : toActor(params.handle),
    service: params.service === undefined ? setup.service : toService(params.service, site.local),
    port: params.port,
  };
  if (params.password !== undefined) return yield* withGiven(params, wish, ctx, desk);
  const method = params.method ?? (yield* chosen(ctx, desk));
  switch (method) {
    case "oauth":
      return yield* inBrowser(ctx, desk, wish, { oauth: true, page: false });
    case "page":
      return yield* inBrowser(ctx, desk, wish, { oauth: false, page: true });
    case "best":
      return yield* inBrowser(ctx, desk, wish, { oauth: hasOAuth(desk), page: true });
    case "app-password":
      return yield* inForm(ctx, desk, wish);
  }
}

/** Returns the best way for the client. Asks the person if the client supports only forms. */
function* chosen(ctx: Context, desk: Desk): Operation<"best" | "oauth" | "page" | "app-password"> {
  if (canOpen(ctx) || !canShowForms(ctx)) return hasPages(desk) ? "best" : "app-password";
  if (!hasPages(desk)) return "app-password";
  if (!hasOAuth(desk)) return "page";
  const response = desk.site.formPasswords ? choices.all : choices.pages;
  const answer = yield* ctx.elicit("way", { message: CHOOSE }, { response });
  if (answer.action !== "accept") throw new ToolError(notSignedIn(answer.action));
  return answer.content.way;
}

// Sign-in with a password.

function* withGiven(
  { password, method }: LoginParameters,
  wish: Wish,
  ctx: Context,
  desk: Desk,
): Operation<Told> {
  if (method === "oauth" || method === "page") {
    throw new ToolError(
      `Cannot sign in with method "${method}" and a password: this method does not use the argument "password"; leave one of the two out. ${ABOUT_PASSWORDS}`,
    );
  }
  if (password === "") {
    throw new ToolError(`Cannot sign in: the password is empty. ${ABOUT_PASSWORDS}`);
  }
  const handle = wish.handle ?? (yield* askHandle(ctx));
  return yield* withPassword(desk, { ...wish, handle }, password!);
}

function* askHandle(ctx: Context): Operation<string> {
  if (!canShowForms(ctx)) {
    throw new ToolError(passwordWithoutHandle(nameOf(ctx)));
  }
  const answer = yield* ctx.elicit("handle", { message: adaptText(ASK_HANDLE, ctx.client) });
  if (answer.action !== "accept") throw new ToolError(notSignedIn(answer.action));
  return toActor(answer.content.handle);
}

function* inForm(ctx: Context, desk: Desk, wish: Wish): Operation<Told> {
  if (!canShowForms(ctx) && !canOpen(ctx)) {
    return yield* byHand(ctx, desk, wish, { oauth: hasOAuth(desk), page: true });
  }
  if (!canShowForms(ctx) || !desk.site.formPasswords) {
    if (!hasPages(desk)) throw new ToolError(NO_PASSWORD_FIELD);
    return yield* inBrowser(ctx, desk, wish, { oauth: false, page: true });
  }
  const message = adaptText(askPassword(wish.handle), ctx.client);
  if (wish.handle !== undefined) {
    const answer = yield* ctx.elicit("password", { message });
    if (answer.action !== "accept") throw new ToolError(notSignedIn(answer.action));
    return yield* withPassword(desk, { ...wish, handle: wish.handle }, answer.content.password);
  }
  const answer = yield* ctx.elicit("credentials", { message });
  if (answer.action !== "accept") throw new ToolError(notSignedIn(answer.action));
  const { handle, password } = answer.content;
  return yield* withPassword(desk, { ...wish, handle: toActor(handle) }, password);
}

function* withPassword(
  desk: Desk,
  { handle, service }: Wish & { handle: string },
  password: string,
): Operation<Told> {
  return yield* welcome(desk, yield* signInWithAppPassword(desk, { handle, password, service }));
}

// Sign-in in a browser.

type Ways = AttemptOptions["ways"];

function* inBrowser(ctx: Context, desk: Desk, wish: Wish, ways: Ways): Operation<Told> {
  if (!hasPages(desk) || (ways.oauth && !ways.page && !hasOAuth(desk))) {
    throw new ToolError(
      `Cannot sign in with a browser: this server does not know the URL at which browsers reach it; ask its operator to start it with --public-url and an https URL, or call login with "handle" and "password". ${ABOUT_PASSWORDS}`,
    );
  }
  if (!canOpen(ctx)) return yield* byHand(ctx, desk, wish, ways);
  const attempt = yield* useAttempt(ctx, desk, { ...wish, ways, stays: false });
  const url = ways.page ? attempt.url : attempt.oauthUrl!;
  const life = { timeout: MINUTES * 60_000 };
  const message = adaptText(goToPage(MINUTES, ways), ctx.client);
  // The person may finish the page before the client reports that it was opened.
  const first = yield* race([ctx.elicitUrl({ message, url }, life), attempt.ended]);
  if ("type" in first) return yield* concluded(desk, first);
  if (first.action === "timeout") throw new ToolError(tooLate(MINUTES));
  if (first.action !== "accept") throw new ToolError(notSignedIn(first.action));
  yield* ctx.notify("Waiting for you to sign in with your browser");
  const ending = yield* race([attempt.ended, late(ctx, attempt)]);
  if (!ending) throw new ToolError(tooLate(MINUTES));
  yield* first.complete();
  return yield* concluded(desk, ending);
}

function* late(ctx: Context, { until, desk }: Attempt): Operation<undefined> {
  yield* ctx.sleep(Math.max(0, until - desk.setup.now()));
  return undefined;
}

/** Returns a link for the person to open, if the client cannot open pages. It outlives the call. */
function* byHand(ctx: Context, desk: Desk, wish: Wish, ways: Ways): Operation<Told> {
  const client = nameOf(ctx);
  if (!hasPages(desk)) throw new ToolError(cannotAsk(client, { minutes: MINUTES }));
  const { url, oauthUrl } = yield* useAttempt(ctx, desk, { ...wish, ways, stays: true });
  if (!canShowForms(ctx)) {
    const links = { ...(oauthUrl && { oauth: oauthUrl }), ...(ways.page && { page: url }) };
    throw new ToolError(cannotAsk(client, { ...links, minutes: MINUTES }));
  }
  const link = ways.oauth && oauthUrl ? oauthUrl : url;
  const told = openYourself(link, ways.oauth ? "oauth" : "page", MINUTES);
  return { told, result: yield* listing(desk, { link }) };
}

function* concluded(desk: Desk, ending: Ending): Operation<Told> {
  if (ending.type === "refused") throw new ToolError(ending.problem);
  return yield* welcome(desk, ending.account);
}

function* welcome(desk: Desk, { did, handle, mainPassword }: NewAccount): Operation<Told> {
  const warning = mainPassword ? mainPasswordUsed(handle) : undefined;
  return {
    told: `You are signed in to Bluesky as @${handle}.`,
    result: yield* listing(desk, { signedIn: did, ...(warning && { warning }) }),
  };
}

// Functions that check what the client supports.

function nameOf({ client }: Context): string {
  return client.name ?? "this client";
}

function canOpen({ client: { capabilities } }: Context): boolean {
  return capabilities.elicitation?.url !== undefined;
}

/** A client that declares elicitation without modes supports forms. */
function canShowForms({ client: { capabilities: { elicitation } } }: Context): boolean {
  return elicitation !== undefined &&
    (elicitation.form !== undefined || elicitation.url === undefined);
}

function hasPages({ site }: Desk): boolean {
  return site.local || site.url !== undefined;
}

function hasOAuth({ site }: Desk): boolean {
  return clientIdFor(site) !== undefined;
}
