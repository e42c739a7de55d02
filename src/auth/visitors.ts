/**
 * People who open pages in a browser: who they are, and how they sign in, sign out and change their
 * account.
 *
 * VISITOR-1  The rights of a person are confirmed at least every ten minutes. A person who opens a
 *            page is checked again by the issuer after five minutes, mostly without noticing, so
 *            that a form can be sent for at least five minutes after it was opened.
 * VISITOR-2  After a sign-out, the issuer asks at the next sign-in who the person is. Otherwise the
 *            issuer would sign the same person in again without asking.
 * VISITOR-3  A person can return only to a page of this server.
 */
import type { Principal } from "../model/principal.ts";
import type { VisitorSignIn } from "../server/access.ts";
import { escapeHtml, isOwnPost, respondWith } from "../server/html-page.ts";
import { type BrowserSessions, cookieIn, type Visitor } from "./browser-session.ts";
import type { SignIn } from "./sign-in.ts";

/** The paths for browsers, relative to the public URL. */
const CALLBACK = "/signed-in";
const SIGN_IN = "/sign-in";
const SIGN_OUT = "/sign-out";

/** The cookie of a browser in which a person has signed out (VISITOR-2). It has no secret. */
const SIGNED_OUT = "parley_signed_out";
const SIGNED_OUT_TIME = 24 * 3_600_000;

const MAX_PAGE = 2_048;

export interface VisitorParts {
  readonly sessions: BrowserSessions;
  /** The URL at which browsers reach the server. */
  publicUrl(): string;
  now(): number;
  /** Loads the code that signs people in. */
  signIn(): Promise<SignIn>;
}

export class Visitors {
  readonly #parts: VisitorParts;

  constructor(parts: VisitorParts) {
    this.#parts = parts;
  }

  /** The person whose session a request belongs to, and whether to check them again (VISITOR-1). */
  in(request: Request): Visitor | undefined {
    return this.#parts.sessions.visitorIn(request, this.#parts.now());
  }

  /** The response to a request for one of the paths for browsers. Undefined for other requests. */
  serve(request: Request, path: string): Promise<Response> | undefined {
    const below = new URL(this.#base).pathname;
    // A proxy may have removed the path of the public URL.
    const own = path.startsWith(`${below}/`) && below !== "/" ? path.slice(below.length) : path;
    if (own === CALLBACK && request.method === "GET") return this.#finish(request);
    if (own === SIGN_IN && request.method === "GET") return this.#changeAccount(request);
    if (own !== SIGN_OUT) return undefined;
    if (request.method === "GET") return Promise.resolve(this.#signOutPage(request));
    return request.method === "POST" ? this.#signOut(request) : undefined;
  }

  /**
   * Sends the browser to the issuer, which sends it back to the page. `person` is the person who is
   * signed in. Their scopes are requested again.
   */
  async begin(
    request: Request,
    person: Principal | undefined,
    { scopes = [], again }: VisitorSignIn,
  ): Promise<Response> {
    const signIn = await this.#parts.signIn();
    const page = this.#pageOf(new URL(again ?? request.url, request.url));
    const asksWho = cookieIn(request, SIGNED_OUT) !== undefined;
    return await signIn.begin(page, [...scopes, ...person?.scopes ?? []], asksWho);
  }

  /**
   * Sends a person to the issuer for more scopes. Undefined if these scopes were requested before.
   */
  stepUp(request: Request, scopes: readonly string[]): Promise<Response> | undefined {
    const { person, asked } = this.in(request) ?? {};
    if (!person || scopes.every((scope) => asked!.includes(scope))) return undefined;
    return this.begin(request, person, { scopes });
  }

  /** The page for a person who may not see a page, because it belongs to another caller. */
  refuse(request: Request, { subject }: Principal): Response {
    const page = encodeURIComponent(this.#pageOf(new URL(request.url)));
    return respondWith(403, {
      title: "This page belongs to another caller",
      body: `<h1>This page belongs to another caller</h1>
<p>You are signed in as ${
        escapeHtml(subject)
      }. Only the caller who started it can see this page.</p>
<p><a href="${escapeHtml(`${this.#base}${SIGN_IN}?page=${page}`)}">Use another account</a></p>`,
    }, NOT_STORED);
  }

  /** The page for a person who has sent a form after the session had ended. */
  refuseForm(request: Request, { status, headers }: Response): Response {
    const page = this.#pageOf(new URL(request.url));
    return respondWith(status, {
      title: "Your answer was not sent",
      body: `<h1>Your answer was not sent</h1>
<p>Your sign-in has ended. <a href="${
        escapeHtml(page)
      }" target="_blank" rel="noreferrer">Sign in again</a> in a new tab. Then go back in this tab, and
send your answer again.</p>`,
    }, { ...NOT_STORED, "www-authenticate": headers.get("www-authenticate")! });
  }

  /** The URL to which the issuer sends the browser back. */
  get callback(): string {
    return this.#base + CALLBACK;
  }

  get #base(): string {
    return this.#parts.publicUrl().replace(/\/+$/, "");
  }

  async #finish(request: Request): Promise<Response> {
    const response = await (await this.#parts.signIn()).finish(request);
    if (response.status === 303) {
      response.headers.append("set-cookie", this.#parts.sessions.remove(SIGNED_OUT));
    }
    return response;
  }

  async #changeAccount(request: Request): Promise<Response> {
    const page = new URL(request.url).searchParams.get("page") ?? "";
    const origin = new URL(this.#base).origin;
    // VISITOR-3: refuse a path that a browser would treat as the address of another server.
    const isOwn = /^\/(?![/\\])/.test(page) && page.length <= MAX_PAGE &&
      URL.canParse(page, origin) && new URL(page, origin).origin === origin;
    if (!isOwn) {
      return respondWith(400, {
        title: "You were not signed in",
        body:
          "<h1>You were not signed in</h1><p>The link is not complete. Open the page again.</p>",
      }, NOT_STORED);
    }
    const { pathname, search } = new URL(page, origin);
    return await (await this.#parts.signIn()).begin(pathname + search, [], true);
  }

  #signOutPage(request: Request): Response {
    const { person } = this.in(request) ?? {};
    const body = person
      ? `<p>You are signed in as ${escapeHtml(person.subject)}.</p>
<form method="post"><button class="primary">Sign out</button></form>`
      : "<p>You are not signed in on this server.</p>";
    return respondWith(200, { title: "Sign out", body: `<h1>Sign out</h1>${body}` }, {
      ...NOT_STORED,
      // With `no-referrer`, browsers send the form with `Origin: null`, which is refused.
      "referrer-policy": "same-origin",
    });
  }

  async #signOut(request: Request): Promise<Response> {
    if (!isOwnPost(request.headers, this.#base)) {
      return respondWith(403, {
        title: "You were not signed out",
        body: "<h1>You were not signed out</h1><p>The request came from another site.</p>",
      }, NOT_STORED);
    }
    await request.body?.cancel();
    const { sessions } = this.#parts;
    const response = respondWith(200, {
      title: "You are signed out",
      body: `<h1>You are signed out</h1>
<p>You may still be signed in at the service where you signed in. On a computer that others use, sign
out there too.</p>`,
    }, NOT_STORED);
    response.headers.append("set-cookie", sessions.end());
    response.headers.append("set-cookie", sessions.mark(SIGNED_OUT, SIGNED_OUT_TIME));
    return response;
  }

  /** The path of a page, as browsers see it. */
  #pageOf({ pathname, search }: URL): string {
    const below = new URL(this.#base).pathname.replace(/\/+$/, "");
    // A proxy may have removed the path of the public URL.
    return (pathname.startsWith(`${below}/`) ? pathname : below + pathname) + search;
  }
}

const NOT_STORED = { "cache-control": "no-store", "referrer-policy": "no-referrer" };

/** Whether a person opens a page. False if a script sends the request. */
export function isNavigation(request: Request): boolean {
  return request.method === "GET" && showsHtml(request);
}

/** Whether a person sends a form. */
export function isForm(request: Request): boolean {
  return request.method === "POST" && showsHtml(request);
}

function showsHtml({ headers }: Request): boolean {
  const mode = headers.get("sec-fetch-mode");
  return (mode === null || mode === "navigate") &&
    (headers.get("accept") ?? "").includes("text/html");
}
