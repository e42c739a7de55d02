/** What a tool can know about its server, and the pages that it can open there. */
import type { Operation } from "effection";

/** The server that runs a tool. */
export interface ServerSite {
  /** Whether only this machine can reach the server: over stdio, on loopback, or in this process. */
  readonly local: boolean;
  /** The URL under which browsers reach the server; undefined if they cannot. */
  readonly url: string | undefined;
  /** Whether forms may ask for passwords. By default only pages may. */
  readonly formPasswords: boolean;
}

/** The options of a page for a browser, or of a document for another program. */
export interface PageOptions {
  /** Answers each request for the page's URL, and for URLs below it. */
  readonly respond: (request: Request) => Operation<Response>;
  /** The path of the page, such as `/shop/callback`. Default: a path that cannot be guessed. */
  readonly path?: string;
  /** A port of this machine on which to serve the page. Default: the server's own address. */
  readonly port?: number;
  /** Milliseconds for which the page stays open after the tool ends, or `Infinity`. Default: 0. */
  readonly stays?: number;
  /** Whether everybody may open the page. Default: false; with named callers, only the tool's caller may. */
  readonly open?: boolean;
}

/** An open page. */
export interface Page {
  /** The URL of the page. */
  readonly url: string;
  /** Closes the page early. */
  close(): void;
}

/** What a tool can know about its caller and its server, and how it opens pages. */
export interface ToolEnvironment {
  /** The name of the caller, from the server's `principal` option; empty for the anonymous caller. */
  readonly principal: string;
  /** The server that runs the tool. */
  readonly server: ServerSite;
  /** Opens a page until the current scope ends. Throws `PageError` if the server cannot have pages. */
  usePage(page: PageOptions): Operation<Page>;
}
