/**
 * The interface of access control: the gate that identifies callers, and its options. `auth/`
 * contains the implementation.
 */
import type { Principal } from "../model/principal.ts";

/** Identifies the callers of a server, and serves the requests with which clients sign in. */
export interface Gate {
  /** The response to a request for one of the gate's own paths. Undefined for other requests. */
  serve(request: Request, path: string): Response | Promise<Response> | undefined;
  /**
   * The caller of a request, or a response that refuses the request. Returns a promise only if the
   * caller's token is not in the cache.
   */
  callerOf(request: Request): Principal | Response | Promise<Principal | Response>;
  /** Stops all requests to authorization servers. */
  close(): void;
}

/** The access control of a server. The server is an OAuth resource server. */
export interface AuthOptions {
  /**
   * The authorization servers whose tokens are accepted, as issuer URLs or with more options.
   * Default: none; `tokenFile` is required in that case.
   */
  readonly issuers?: readonly (string | IssuerOptions)[];
  /**
   * A file with static tokens, for programs that cannot sign in. `parley token` adds tokens to the
   * file. Default: none.
   */
  readonly tokenFile?: string;
  /**
   * The URL of the MCP endpoint, as people type it into their clients. Default: `publicUrl` plus
   * `path`.
   */
  readonly resource?: string;
  /** The accepted audiences (`aud`) of tokens. Default: `resource`. */
  readonly audience?: string | readonly string[];
  /** Scopes that every request needs. Default: none. */
  readonly scopes?: readonly string[];
  /** Sends the requests to issuers. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** An authorization server whose tokens are accepted. */
export interface IssuerOptions {
  /** The issuer URL, exactly as tokens name it in `iss`. */
  readonly issuer: string;
  /** The URL of the issuer's keys. Default: the URL in the issuer's metadata. */
  readonly jwksUri?: string;
  /** The format of the issuer's access tokens. Default: `standard`, which is RFC 9068. */
  readonly profile?: TokenProfile;
  /** The ids of the clients whose tokens are accepted. Default: all clients. */
  readonly clients?: readonly string[];
  /**
   * Credentials with which this server asks the issuer about tokens that are not JWTs (RFC 7662).
   * Default: such tokens are refused.
   */
  readonly introspection?: {
    /** The id of this server at the issuer. */
    readonly clientId: string;
    /** The secret of this server at the issuer. */
    readonly clientSecret: string;
  };
}

/**
 * The format of an issuer's access tokens. `standard` is RFC 9068. The others are named after
 * products whose tokens differ from it.
 */
export type TokenProfile = "standard" | "keycloak" | "auth0" | "entra" | "okta" | "cognito";
