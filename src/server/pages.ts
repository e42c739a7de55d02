/**
 * The web pages that tools have open. Browsers reach a page at the server's own URL, or at a
 * local port if the server does not use HTTP.
 *
 * PAGE-1  A page exists until it is closed, expires, is evicted at the limit, or the server closes.
 * PAGE-2  A port is open only while a page uses it.
 * PAGE-3  If a page throws, the browser gets an error response, and the operator gets the error.
 */
import type { Operation, Scope } from "effection";
import { PageError } from "../model/errors.ts";
import type { Deadlines } from "../lib/deadlines.ts";
import { FORM_ONLY } from "../registry/options.ts";
import type { DoorPort, Fault, OwnedPage, Site } from "../run/run-port.ts";
import { Owned, Shares } from "../lib/shares.ts";
import { Strand } from "../lib/strand.ts";
import type { Page, PageOptions } from "../tool/site.ts";
import { noticePage } from "./html-page.ts";
import { Guard, isLoopback, pathOf } from "./guard.ts";
import type { ParleyOptions } from "./options.ts";
import { type OpenPort, Ports } from "./ports.ts";

export interface PagesOptions extends Pick<ParleyOptions, "publicUrl" | "formPasswords"> {
  /** Opens a local port, for pages of a server that does not use HTTP. */
  readonly openPort?: OpenPort;
}

/** The part of the registry that pages use. */
export interface PagesHome {
  readonly scope: Scope;
  readonly deadlines: Deadlines;
  report(fault: Fault): void;
}

/** An open page. */
export interface HeldPage {
  readonly principal: string;
  /** True if any visitor may see the page, not only its owner. */
  readonly open: boolean;
  /** True if people who can sign in must do so: an access token does not open the page. */
  readonly isForPerson: boolean;
  readonly owner: OwnedPage["owner"];
  readonly respond: PageOptions["respond"];
  close(): void;
}

/** The path of a page that has no path of its own. Its last part is random. */
const UNNAMED = /^\/pages\/[^/]+/;

const HEADERS = {
  "cache-control": "no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

export class Pages implements Site {
  readonly formPasswords: boolean;
  /** Chooses how a person is asked. A server replaces this object. */
  doors: DoorPort = FORM_ONLY;
  /** True if the server serves a private channel, such as stdio. */
  privately = false;
  /** True after the server has received any call over HTTP. */
  exposed = false;
  /** True after a request that may come from another machine: through a proxy, or by another name. */
  proxied = false;
  readonly #publicUrl: PagesOptions["publicUrl"];
  readonly #ports: Ports;
  readonly #guard = new Guard({});
  /** Open pages by path, newest first. Pages of several owners can have the same path. */
  readonly #held = new Map<string, HeldPage[]>();
  readonly #shares: Shares;
  /** Pages that are not permanent. At the limit, the oldest can be closed early. */
  readonly #transient = new Owned<HeldPage>();
  /** Running requests to pages. */
  readonly #visits = new Set<Strand<Response>>();
  #home: PagesHome | undefined;

  /** `shares` limits how many pages each caller may have open. Default: no limit. */
  constructor(
    { publicUrl, formPasswords = false, openPort }: PagesOptions,
    shares = new Shares({ max: Infinity, maxPerPrincipal: Infinity }),
  ) {
    this.#shares = shares;
    this.#publicUrl = publicUrl;
    this.formPasswords = formPasswords;
    this.#ports = new Ports(openPort, (request) => this.#visited(request));
  }

  get url(): string | undefined {
    const told = typeof this.#publicUrl === "function" ? this.#publicUrl() : this.#publicUrl;
    // Browsers behind a proxy cannot reach the server at a loopback address.
    if (told !== undefined && this.proxied && isLoopback(new URL(told).host)) return undefined;
    return told?.replace(/\/+$/, "");
  }

  get local(): boolean {
    if (this.proxied) return false;
    const { url } = this;
    return url === undefined ? this.privately && !this.exposed : isLoopback(new URL(url).host);
  }

  /** Sets the registry whose tools open pages. Call this before `open`. */
  settle(home: PagesHome): this {
    this.#home = home;
    return this;
  }

  *open(
    options: OwnedPage & { readonly isForPerson?: true },
    principal: string,
    name: string,
  ): Operation<Page> {
    const { path = `/pages/${name}`, respond, stays, open = false, isForPerson = false, owner } =
      options;
    this.#makeRoom(principal);
    const { url, release } = yield* this.#place(options.port);
    // Check again: other pages may have been opened while this one waited for its port.
    try {
      this.#makeRoom(principal);
    } catch (error) {
      release();
      throw error;
    }
    const held = this.#held.get(path) ?? [];
    // PAGE-1, PAGE-2: closing the page also releases its port.
    const close = () => {
      if (!held.includes(page)) return;
      this.#shares.give(principal);
      this.#transient.delete(principal, page);
      held.splice(held.indexOf(page), 1);
      if (held.length === 0) this.#held.delete(path);
      end?.cancel();
      release();
    };
    const page: HeldPage = { principal, open, isForPerson, owner, respond, close };
    const end = stays && Number.isFinite(stays)
      ? this.#home!.deadlines.add(stays, close)
      : undefined;
    this.#shares.take(principal);
    if (stays !== Infinity) this.#transient.add(principal, page);
    held.unshift(page);
    this.#held.set(path, held);
    return { url: `${url}${path}`, close };
  }

  /** The open pages at a path. The path may include the path prefix of the public URL. */
  at(path: string): readonly HeldPage[] {
    if (this.#held.size === 0) return [];
    const below = new URL(this.url ?? "http://localhost").pathname;
    const own = below !== "/" && path.startsWith(`${below}/`) ? path.slice(below.length) : path;
    return this.#held.get(own) ?? this.#held.get(UNNAMED.exec(own)?.[0] ?? "") ?? [];
  }

  /** Lets a page respond to a request (PAGE-3). */
  visit(page: HeldPage, request: Request): Promise<Response> {
    return new Promise((resolve) => {
      const respond = () => page.respond(request);
      const visit = new Strand<Response>(this.#home!.scope, respond, (outcome) => {
        this.#visits.delete(visit);
        if (outcome.type === "threw") this.#report(outcome.error);
        resolve(careful(outcome.type === "returned" ? outcome.value : failed()));
      });
      this.#visits.add(visit);
      visit.start();
    });
  }

  /** Closes all pages, halts all requests to pages, and waits until all ports are closed. */
  async close(): Promise<void> {
    for (const page of [...this.#held.values()].flat()) page.close();
    for (const visit of this.#visits) visit.halt();
    await this.#ports.closed();
  }

  /**
   * Makes room for a new page. At the total limit, closes the oldest page of the principal with
   * the most pages, if it has more than the caller. Throws if there is no room.
   */
  #makeRoom(principal: string): void {
    const shares = this.#shares;
    const reached = shares.reached(principal);
    if (reached === undefined) return;
    if (reached === "share") {
      throw new PageError(
        `the caller has reached its limit of ${shares.of(principal)} open pages`,
        "use one of them, or try again in a few minutes",
      );
    }
    const { largest = principal } = shares;
    const [oldest] = this.#transient.of(largest);
    if (!oldest || shares.of(largest) <= shares.of(principal)) {
      throw new PageError(
        `the server has reached its limit of ${shares.total} open pages`,
        "try again in a few minutes",
      );
    }
    oldest.close();
  }

  *#place(port: number | undefined): Operation<{ url: string; release: () => void }> {
    const { url, local } = this;
    if (!local && port !== undefined) {
      throw new PageError(
        `port ${port} would be on this server, but the browser is on another machine`,
        "leave the port out",
      );
    }
    if (url !== undefined && port === undefined) return { url, release: () => {} };
    if (local) return yield* this.#ports.use(port);
    throw new PageError(
      "this server does not know the URL at which browsers reach it",
      "start it with --public-url URL",
    );
  }

  /** Handles a request at a port that serves only pages. */
  async #visited(request: Request): Promise<Response> {
    const refusal = this.#guard.refuses(request);
    const [page] = this.at(pathOf(request.url));
    const response = refusal
      ? new Response(`Cannot show the page: ${refusal}`, { status: 403 })
      : page
      ? await this.visit(page, request)
      : gone();
    // The port closes soon, and must not wait for a browser's keep-alive connection.
    response.headers.set("connection", "close");
    return response;
  }

  #report(error: unknown): void {
    this.#home!.report({ what: "a page failed", toolName: "-", sessionId: "-", error });
  }
}

/** The response for a page that is no longer open. */
export function gone(): Response {
  const text =
    "This page is no longer available. Go back to the app in which you started, and start again.";
  return careful(noticePage(404, "Nothing to show", text));
}

function failed(): Response {
  const text = "Cannot show the page: an internal error occurred; see the server's log";
  return new Response(text, { status: 500 });
}

/** Adds security headers against caching, framing, content sniffing and referrers to other sites. */
function careful(given: Response): Response {
  const response = new Response(given.body, given);
  for (const [name, value] of Object.entries(HEADERS)) {
    if (!response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}
