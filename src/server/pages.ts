/**
 * The pages that tools have open, and where browsers find them: where the server
 * is, or, for one that is not on HTTP, at a port of this machine.
 *
 * P1  A page is there until it is closed, its time is over, or the server closes.
 * P2  A port is open as long as a page needs it, and no longer.
 * P3  Whatever a page throws, its visitor gets a response, and the operator the reason.
 */
import type { Operation, Scope } from "effection";
import { PageError } from "../model/errors.ts";
import type { Deadlines } from "../lib/deadlines.ts";
import type { Fault, Site } from "../run/run-port.ts";
import { Owned, Shares } from "../lib/shares.ts";
import { Strand } from "../lib/strand.ts";
import type { Page, PageOptions } from "../tool/site.ts";
import { Guard, isLoopback, pathOf } from "./guard.ts";
import type { ParleyOptions } from "./options.ts";
import { type OpenPort, Ports } from "./ports.ts";

export interface PagesOptions extends Pick<ParleyOptions, "publicUrl" | "formPasswords"> {
  /** Opens a port, for pages of a server that is not on HTTP. */
  readonly openPort?: OpenPort;
}

/** What pages need from the registry whose tools open them. */
export interface PagesHome {
  readonly scope: Scope;
  readonly deadlines: Deadlines;
  report(fault: Fault): void;
}

/** A page as it is kept. */
export interface HeldPage {
  readonly principal: string;
  /** Anybody may see it. */
  readonly open: boolean;
  readonly respond: PageOptions["respond"];
  close(): void;
}

/** Pages without a path of their own are here, under names that cannot be guessed. */
const UNNAMED = /^\/pages\/[^/]+/;

const HEADERS = {
  "cache-control": "no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

export class Pages implements Site {
  readonly formPasswords: boolean;
  /** Its client holds the other end of a channel. */
  privately = false;
  /** It has been called over HTTP, by whoever that was. */
  exposed = false;
  /** A proxy has forwarded a request from elsewhere, so others than this machine reach it. */
  proxied = false;
  readonly #publicUrl: PagesOptions["publicUrl"];
  readonly #ports: Ports;
  readonly #guard = new Guard({});
  /** By path. Several with the same path differ in whose they are; the latest comes first. */
  readonly #held = new Map<string, HeldPage[]>();
  readonly #shares: Shares;
  /** Those that have an end, and so may have to give room before it. */
  readonly #transient = new Owned<HeldPage>();
  /** Visits under way. */
  readonly #visits = new Set<Strand<Response>>();
  #home: PagesHome | undefined;

  /** `shares` says how many each caller may have open; by default any number. */
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
    // Browsers behind a proxy do not reach it at an address of this machine.
    if (told !== undefined && this.proxied && isLoopback(new URL(told).host)) return undefined;
    return told?.replace(/\/+$/, "");
  }

  get local(): boolean {
    if (this.proxied) return false;
    const { url } = this;
    return url === undefined ? this.privately && !this.exposed : isLoopback(new URL(url).host);
  }

  /** Tells it whose tools open pages. */
  settle(home: PagesHome): this {
    this.#home = home;
    return this;
  }

  *open(options: PageOptions, principal: string, name: string): Operation<Page> {
    const { path = `/pages/${name}`, respond, stays, open = false } = options;
    this.#makeRoom(principal);
    const { url, release } = yield* this.#place(options.port);
    // Again, because others may have come meanwhile.
    try {
      this.#makeRoom(principal);
    } catch (error) {
      release();
      throw error;
    }
    const held = this.#held.get(path) ?? [];
    const close = () => {
      if (!held.includes(page)) return;
      this.#shares.give(principal);
      this.#transient.delete(principal, page);
      held.splice(held.indexOf(page), 1);
      if (held.length === 0) this.#held.delete(path);
      end?.cancel();
      release();
    };
    const page: HeldPage = { principal, open, respond, close };
    const end = stays && Number.isFinite(stays)
      ? this.#home!.deadlines.add(stays, close)
      : undefined;
    this.#shares.take(principal);
    if (stays !== Infinity) this.#transient.add(principal, page);
    held.unshift(page);
    this.#held.set(path, held);
    return { url: `${url}${path}`, close };
  }

  /** The pages at a path. */
  at(path: string): readonly HeldPage[] {
    if (this.#held.size === 0) return [];
    const below = new URL(this.url ?? "http://localhost").pathname;
    const own = below !== "/" && path.startsWith(`${below}/`) ? path.slice(below.length) : path;
    return this.#held.get(own) ?? this.#held.get(UNNAMED.exec(own)?.[0] ?? "") ?? [];
  }

  /** Lets a page answer. */
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

  /** Takes every page away, halts every visit, and waits until the last port is closed. */
  async close(): Promise<void> {
    for (const page of [...this.#held.values()].flat()) page.close();
    for (const visit of this.#visits) visit.halt();
    await this.#ports.closed();
  }

  /** The largest holder's oldest page goes for a newcomer's. Throws if there is no room. */
  #makeRoom(principal: string): void {
    const shares = this.#shares;
    const reached = shares.reached(principal);
    if (reached === undefined) return;
    if (reached === "share") {
      throw new PageError(
        `the caller has ${shares.of(principal)} open, which is its share`,
        "use one of those, or try again in some minutes",
      );
    }
    const { largest = principal } = shares;
    const [oldest] = this.#transient.of(largest);
    if (!oldest || shares.of(largest) <= shares.of(principal)) {
      throw new PageError(
        `${shares.total} are open, which is the limit`,
        "try again in some minutes",
      );
    }
    oldest.close();
  }

  *#place(port: number | undefined): Operation<{ url: string; release: () => void }> {
    const { url, local } = this;
    if (!local && port !== undefined) {
      throw new PageError(`port ${port} is not of the machine where the browser is`, "name none");
    }
    if (url !== undefined && port === undefined) return { url, release: () => {} };
    if (local) return yield* this.#ports.use(port);
    throw new PageError(
      "nobody told this server where browsers reach it",
      "start it with --public-url and its address",
    );
  }

  /** Somebody came to a port that is open for pages alone. */
  async #visited(request: Request): Promise<Response> {
    const refusal = this.#guard.refuses(request);
    const [page] = this.at(pathOf(request.url));
    const response = refusal
      ? new Response(`Cannot show the page: ${refusal}`, { status: 403 })
      : page
      ? await this.visit(page, request)
      : gone();
    // Such a port closes soon, and must not wait for a browser to let go of it.
    response.headers.set("connection", "close");
    return response;
  }

  #report(error: unknown): void {
    this.#home!.report({ what: "a page failed", toolName: "-", sessionId: "-", error });
  }
}

/** What a visitor is told who comes too late. */
export function gone(): Response {
  const text = "This page is no longer here. Go back to your assistant and start again.";
  return careful(new Response(text, { status: 404 }));
}

function failed(): Response {
  const text = "Cannot show the page: the server failed; its log has the details";
  return new Response(text, { status: 500 });
}

/** Not kept, not framed, not guessed at, and nobody else hears of its address. */
function careful(given: Response): Response {
  const response = new Response(given.body, given);
  for (const [name, value] of Object.entries(HEADERS)) {
    if (!response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}
