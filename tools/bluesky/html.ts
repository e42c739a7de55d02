/** The sign-in page, in the style of the server's other pages. */
import { escapeHtml, formHtml, htmlPage, type PageForm, type PostedForm } from "parley-mcp";
import {
  adaptText,
  APP_PASSWORDS,
  askerOf,
  MAKE_ONE,
  NEVER_MAIN,
  OAUTH_HOW,
  OAUTH_IS_BETTER,
} from "./password-texts.ts";
import { questions } from "./questions.ts";

/** The form for an app password. */
export const CREDENTIALS: PageForm = {
  schema: questions.credentials.response,
  sensitive: questions.credentials.sensitive,
};

export interface SignInPage {
  readonly oauth: boolean;
  readonly password: boolean;
  /** The base URL of the page. */
  readonly base: string;
  readonly handle?: string | undefined;
  /** The form that was posted before, with its problems. */
  readonly posted?: PostedForm | undefined;
  readonly service: string;
  readonly problem?: string;
  /** The caller's name. Empty if callers have no names. */
  readonly principal: string;
  readonly client: Client;
}

/** The client that asked for the sign-in. */
export interface Client {
  readonly name?: string | undefined;
}

export function signInPage(page: SignInPage): Response {
  const { oauth, password, base, service, problem, posted, principal, client } = page;
  const { asked, ifNotYou } = askerOf(client);
  const host = new URL(service).host;
  return html(problem || posted ? 400 : 200, "Sign in to Bluesky", [
    "<h1>Sign in to Bluesky</h1>",
    `<p>${escapeHtml(asked)}${
      principal ? `, on behalf of <strong>${escapeHtml(principal)}</strong>` : ""
    }. ${escapeHtml(ifNotYou)}, close this page.</p>`,
    ...(problem
      ? [`<p class="problem" role="alert">${escapeHtml(adaptText(problem, client))}</p>`]
      : []),
    ...(oauth
      ? [
        `<p>${escapeHtml(OAUTH_IS_BETTER)}</p>`,
        `<p><a class="button" href="${escapeHtml(`${base}/oauth`)}">Sign in at ${
          escapeHtml(host)
        } (recommended)</a></p>`,
      ]
      : []),
    ...(password ? [passwordForm(page)] : []),
  ]);
}

function passwordForm(page: SignInPage): string {
  const { base, oauth: second, client, handle, posted } = page;
  const given = handle === undefined ? {} : { entered: new Map([["handle", [handle]]]) };
  return `<h2>${second ? "Or with an app password" : "With an app password"}</h2>
<p>${escapeHtml(NEVER_MAIN)} ${
    escapeHtml(MAKE_ONE).replace(APP_PASSWORDS, `<a href="${APP_PASSWORDS}">${APP_PASSWORDS}</a>`)
  }${second ? "" : ` ${escapeHtml(adaptText(`${OAUTH_IS_BETTER} ${OAUTH_HOW}`, client))}`}</p>
<form method="post" action="${escapeHtml(base)}" novalidate>
${formHtml(CREDENTIALS, posted ?? given)}
<div class="actions"><button class="main">Sign in</button></div>
</form>`;
}

export function donePage(handle: string, client: Client, warning?: string): Response {
  return html(200, "Signed in", [
    `<h1>You are signed in as @${escapeHtml(handle)}</h1>`,
    ...(warning ? [`<p class="warning">${escapeHtml(warning)}</p>`] : []),
    `<p>You can close this page and go back to ${escapeHtml(askerOf(client).back)}.</p>`,
  ]);
}

export function problemPage(problem: string, client?: Client, again?: string): Response {
  const text = client ? adaptText(problem, client) : problem;
  const back = client ? askerOf(client).back : "the app in which you started";
  return html(400, "Not signed in", [
    "<h1>You are not signed in</h1>",
    `<p class="problem" role="alert">${escapeHtml(text)}</p>`,
    again
      ? `<p><a href="${escapeHtml(again)}">Try again</a></p>`
      : `<p>Go back to ${escapeHtml(back)} and start again.</p>`,
  ]);
}

function html(status: number, title: string, body: readonly string[]): Response {
  return htmlPage({ status, title, body: body.join("\n") });
}
