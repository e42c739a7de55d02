/**
 * The types of the data that a tool can read about its server, and of the pages that it can open.
 */
import type { Operation } from "effection";
import type { Principal } from "../model/principal.ts";

/** The server that runs a tool. */
export interface ServerSite {
  /**
   * Whether only programs on this machine can reach the server: over stdio, on loopback, or in the
   * same process.
   */
  readonly local: boolean;
  /** The URL at which browsers reach the server. Undefined if they cannot. */
  readonly url: string | undefined;
  /** Whether forms may ask for passwords. Default: false; only pages may ask for them. */
  readonly formPasswords: boolean;
}

/** The options of a page that a browser or another program requests. */
export interface PageOptions {
  /** Answers each request for the page's URL, and for URLs below it. */
  readonly respond: (request: Request) => Operation<Response>;
  /** The path of the page, such as `/shop/callback`. Default: a path that cannot be guessed. */
  readonly path?: string;
  /** A port of this machine on which to serve the page. Default: the server's own address. */
  readonly port?: number;
  /** Milliseconds for which the page stays open after the tool ends, or `Infinity`. Default: 0. */
  readonly stays?: number;
  /**
   * Whether everybody may open the page. Default: false; if the server identifies its callers, only
   * the caller of the tool may.
   */
  readonly open?: boolean;
}

/** An open page. */
export interface Page {
  /** The URL of the page. */
  readonly url: string;
  /** Closes the page early. */
  close(): void;
}

/**
 * The data that a tool can read about its caller and its server, and the method that opens pages.
 */
export interface ToolEnvironment {
  /**
   * The caller, as it was when the call began. Compare callers by `id`, which is empty for the
   * anonymous caller.
   */
  readonly principal: Principal;
  /** The server that runs the tool. */
  readonly server: ServerSite;
  /** Opens a page until the current scope ends. Throws `PageError` if the server cannot have pages. */
  usePage(page: PageOptions): Operation<Page>;
}
