/** The sign-in page. It has no script and loads nothing from other servers. */
import {
  adaptText,
  APP_PASSWORDS,
  askerOf,
  MAKE_ONE,
  NEVER_MAIN,
  OAUTH_HOW,
  OAUTH_IS_BETTER,
} from "./password-texts.ts";

const STYLE = `
:root { color-scheme: light dark; font: 17px/1.5 system-ui, sans-serif; }
body { max-width: 34rem; margin: 3rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input { width: 100%; box-sizing: border-box; font: inherit; padding: .5rem; }
.button, button { display: inline-block; margin: 1rem 0 0; padding: .6rem 1.2rem; border: 0;
  border-radius: .4rem; background: #0a66d0; color: #fff; font: inherit; text-decoration: none; }
button { background: #5a6270; }
.problem { border-left: .3rem solid #c0392b; padding: .25rem 1rem; }
.warning { border-left: .3rem solid #c77700; padding: .25rem 1rem; }
`;

export interface SignInPage {
  readonly oauth: boolean;
  readonly password: boolean;
  /** The base URL of the page. */
  readonly base: string;
  readonly handle?: string | undefined;
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
  const { oauth, password, base, handle = "", service, problem, principal, client } = page;
  const { asked, ifNotYou } = askerOf(client);
  const host = new URL(service).host;
  return html(problem ? 400 : 200, "Sign in to Bluesky", [
    "<h1>Sign in to Bluesky</h1>",
    `<p>${asked}${
      principal ? `, on behalf of <strong>${escaped(principal)}</strong>` : ""
    }. ${ifNotYou}, close this page.</p>`,
    ...(problem
      ? [`<p class="problem" role="alert">${escaped(adaptText(problem, client))}</p>`]
      : []),
    ...(oauth
      ? [
        `<p>${escaped(OAUTH_IS_BETTER)}</p>`,
        `<p><a class="button" href="${escaped(`${base}/oauth`)}">Sign in at ${
          escaped(host)
        } (recommended)</a></p>`,
      ]
      : []),
    ...(password ? [passwordForm(page, handle)] : []),
  ]);
}

function passwordForm({ base, oauth: second, client }: SignInPage, handle: string): string {
  return `<h2>${second ? "Or with an app password" : "With an app password"}</h2>
<p>${escaped(NEVER_MAIN)} ${
    escaped(MAKE_ONE).replace(APP_PASSWORDS, `<a href="${APP_PASSWORDS}">${APP_PASSWORDS}</a>`)
  }${second ? "" : ` ${escaped(adaptText(`${OAUTH_IS_BETTER} ${OAUTH_HOW}`, client))}`}</p>
<form method="post" action="${escaped(base)}">
<label for="handle">Handle</label>
<input id="handle" name="handle" required autocomplete="username" autocapitalize="none"
 spellcheck="false" placeholder="name.bsky.social" value="${escaped(handle)}">
<label for="password">App password</label>
<input id="password" name="password" type="password" required autocomplete="off"
 placeholder="xxxx-xxxx-xxxx-xxxx">
<button>Sign in</button>
</form>`;
}

export function donePage(handle: string, client: Client, warning?: string): Response {
  return html(200, "Signed in", [
    `<h1>You are signed in as @${escaped(handle)}</h1>`,
    ...(warning ? [`<p class="warning">${escaped(warning)}</p>`] : []),
    `<p>You can close this page and go back to ${askerOf(client).back}.</p>`,
  ]);
}

export function problemPage(problem: string, client?: Client, again?: string): Response {
  const text = client ? adaptText(problem, client) : problem;
  const back = client ? askerOf(client).back : "the app in which you started";
  return html(400, "Not signed in", [
    "<h1>You are not signed in</h1>",
    `<p class="problem" role="alert">${escaped(text)}</p>`,
    again
      ? `<p><a href="${escaped(again)}">Try again</a></p>`
      : `<p>Go back to ${back} and start again.</p>`,
  ]);
}

function html(status: number, title: string, body: readonly string[]): Response {
  const text = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>${STYLE}</style></head>
<body><main>
${body.join("\n")}
</main></body>
</html>
`;
  return new Response(text, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    },
  });
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.codePointAt(0)};`);
}
