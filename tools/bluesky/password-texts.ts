/** All texts about passwords, for forms, the page, errors, the terminal and the docs. */
import type { Operation } from "effection";
import { ToolError } from "parley-mcp";

/** The page on which people create app passwords. */
export const APP_PASSWORDS = "https://bsky.app/settings/app-passwords";

export const NEVER_MAIN =
  "Never use the main password of your Bluesky account: it gives full access to the account.";
export const MAKE_ONE =
  `Create an app password instead, at ${APP_PASSWORDS}: it works only for apps, and you can revoke it at any time.`;
export const OAUTH_IS_BETTER =
  "Signing in with OAuth is the better way: you sign in at Bluesky itself, in your browser, and no password is handed over.";

/** How to start OAuth through an assistant. `adaptText` replaces it for a terminal. */
export const OAUTH_HOW =
  'To start it, say "sign in to Bluesky with OAuth": your assistant then calls login with method "oauth".';

const OAUTH_HOW_AT_TERMINAL = 'To start it, run: parley call login \'{"method": "oauth"}\'';

/**
 * Adapts a message to the client. Messages are written for people who talk to an assistant. In a
 * terminal (`parley call`), there is no assistant.
 */
export function adaptText(text: string, client: { readonly name?: string | undefined }): string {
  return client.name === "parley" ? text.replaceAll(OAUTH_HOW, OAUTH_HOW_AT_TERMINAL) : text;
}

/** The words with which pages describe the client that asked for the sign-in. */
export interface Asker {
  readonly asked: string;
  readonly ifNotYou: string;
  /** Where to go after the page. */
  readonly back: string;
}

export function askerOf(client: { readonly name?: string | undefined }): Asker {
  return client.name === "parley"
    ? {
      asked: 'The command "parley call login" asked for this',
      ifNotYou: "If you did not run this command",
      back: "the terminal",
    }
    : {
      asked: "Your assistant asked for this",
      ifNotYou: "If you did not ask your assistant to sign you in",
      back: "your assistant",
    };
}

/** Runs `body`, and adapts the messages of its errors to the client. */
export function* adaptErrors<T>(
  client: { readonly name?: string | undefined },
  body: () => Operation<T>,
): Operation<T> {
  try {
    return yield* body();
  } catch (error) {
    throw error instanceof ToolError ? new ToolError(adaptText(error.message, client)) : error;
  }
}

/** The full text, used wherever a password is requested or missing. */
export const ABOUT_PASSWORDS = [NEVER_MAIN, MAKE_ONE, OAUTH_IS_BETTER, OAUTH_HOW].join(" ");

/** The question for clients that support only forms. */
export const CHOOSE = `How do you want to sign in to Bluesky? ${OAUTH_IS_BETTER} ` +
  `The other way is an app password. ${NEVER_MAIN} ${MAKE_ONE}`;

export function askPassword(handle: string | undefined): string {
  const whose = handle === undefined
    ? "your Bluesky handle and an app password"
    : "an app password";
  const whom = handle === undefined ? "" : ` for @${handle}`;
  return `Enter ${whose}${whom}. ${ABOUT_PASSWORDS}`;
}

export const ASK_HANDLE = `Which account is the app password for? ${ABOUT_PASSWORDS}`;

/** Shown if a password is given without a handle, and the client cannot ask for the handle. */
export function passwordWithoutHandle(client: string): string {
  return `Cannot sign in: the handle is missing, and ${client} cannot show questions from tools; pass the handle with "handle". ${ABOUT_PASSWORDS}`;
}

/** Shown if neither a form nor a page can ask for a password. */
export const NO_PASSWORD_FIELD =
  `Cannot ask for a password here: this server does not allow passwords in forms, and browsers cannot reach it; call login with "handle" and "password", or ask its operator to start it with --public-url and an https URL. ${ABOUT_PASSWORDS}`;

/** Shown before a browser opens. */
export function goToPage(minutes: number, ways: { oauth: boolean; page: boolean }): string {
  const there = ways.oauth && ways.page
    ? `${OAUTH_IS_BETTER} If you prefer an app password, you can type it into the page: neither this app nor the model sees it. ${NEVER_MAIN} ${MAKE_ONE}`
    : ways.oauth
    ? OAUTH_IS_BETTER
    : `Type an app password into the page: neither this app nor the model sees it. ${ABOUT_PASSWORDS}`;
  return `Sign in to Bluesky in your browser. ${there} The page expires after ${minutes} minutes.`;
}

/** Shown after the person declined or closed the question. */
export function notSignedIn(action: "decline" | "cancel"): string {
  const what = action === "decline" ? "you declined" : "the question was closed";
  return `Cannot sign in to Bluesky: ${what}, and nothing was stored. ${OAUTH_IS_BETTER} ${OAUTH_HOW}`;
}

export function tooLate(minutes: number): string {
  return `Cannot sign in to Bluesky: the sign-in was not finished in the browser within ${minutes} minutes, and nothing was stored. ${OAUTH_IS_BETTER} ${OAUTH_HOW}`;
}

/** Links for the person to open, because the client cannot open pages. */
export interface Links {
  readonly oauth?: string;
  readonly page?: string;
  readonly minutes: number;
}

/** The message for clients that cannot show questions. */
export function cannotAsk(client: string, { oauth, page, minutes }: Links): string {
  const ways = [
    ...(oauth
      ? [`Sign in with OAuth (recommended): open this link in your browser: ${oauth}`]
      : []),
    ...(page ? [`Or type an app password into a page of this server: ${page}`] : []),
    'Or share an app password: call login with "handle" and "password". ' +
    `${NEVER_MAIN} ${MAKE_ONE}`,
  ];
  const after = oauth || page
    ? `\n\nThe links expire after ${minutes} minutes. When you have signed in, call login with command "list" to see the account.`
    : "";
  return `Cannot ask you to sign in to Bluesky: ${client} cannot show questions from tools. ${OAUTH_IS_BETTER} You can sign in like this:\n\n${
    ways.map((way) => `- ${way}`).join("\n")
  }${after}`;
}

/** The message for clients that can show forms but cannot open pages. */
export function openYourself(link: string, way: "oauth" | "page", minutes: number): string {
  const what = way === "oauth" ? OAUTH_IS_BETTER : ABOUT_PASSWORDS;
  return `Open this link in your browser to sign in to Bluesky: ${link}\n\n${what} The link expires after ${minutes} minutes. When you have signed in, call login with command "list" to see the account.`;
}

/** The warning after a sign-in with the main password. */
export function mainPasswordUsed(handle: string): string {
  return `Warning: that was the main password of @${handle}. You are signed in, but anybody who obtains this sign-in has full access to the account. ${NEVER_MAIN} ${MAKE_ONE} Then sign in again with the app password, or with OAuth, and change your main password if others have seen it. ${OAUTH_IS_BETTER}`;
}

/** Shown when a sign-in has expired or was revoked. */
export function signInAgain(handle: string): string {
  return `The sign-in of @${handle} is no longer valid: it has expired or was revoked. Sign in again: call login with handle "${handle}". ${OAUTH_IS_BETTER} ${OAUTH_HOW}`;
}

/** Shown if the list of accounts is empty. */
export const NOBODY_LISTED =
  `Nobody is signed in to Bluesky. To sign in, call login without a command. ${OAUTH_IS_BETTER} ${OAUTH_HOW}`;

export const NOBODY_SIGNED_IN =
  `Cannot use Bluesky: nobody is signed in. Call login first. ${OAUTH_IS_BETTER} ${OAUTH_HOW}`;
