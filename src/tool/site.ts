/** What a tool may know of where it runs, and the pages that it can open there. */
import type { Operation } from "effection";

/** The server that runs a tool. */
export interface ServerSite {
  /** Only this machine reaches it: over stdio, on loopback, or inside of this process. */
  readonly local: boolean;
  /** Where browsers reach it, if they do. */
  readonly url: string | undefined;
  /** Whether forms may ask for passwords; by default a server asks for them on pages only. */
  readonly formPasswords: boolean;
}

/** A page for a person's browser, or a document for another program. */
export interface PageOptions {
  /** Answers whatever is asked below the page's address. */
  readonly respond: (request: Request) => Operation<Response>;
  /** A path of its own, such as `/shop/callback`; one that cannot be guessed unless told. */
  readonly path?: string;
  /** A port of this machine to be reached at, instead of where the server is. */
  readonly port?: number;
  /** Milliseconds for which it outlasts the tool; none unless told, `Infinity` for good. */
  readonly stays?: number;
  /** Anybody may read it. Otherwise only whom the tool runs for, where callers have names. */
  readonly open?: boolean;
}

/** A page that is there. */
export interface Page {
  readonly url: string;
  /** Takes it away, before its time. */
  close(): void;
}

/** What a tool can find out about where it runs, and what it can open there: pages for people. */
export interface ToolEnvironment {
  /** On whose behalf the tool runs, as the operator's `principal` says; empty if nobody says. */
  readonly principal: string;
  readonly server: ServerSite;
  /** Opens a page, until the surrounding scope ends. Throws `PageError` where there can be none. */
  usePage(page: PageOptions): Operation<Page>;
}
