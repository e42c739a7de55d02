/**
 * Access control as the server sees it: the gate that names callers, and its options. `auth/`
 * has the implementation.
 */
import type { Principal } from "../model/principal.ts";

/** Names the callers of a server, and answers the requests of people and programs that sign in. */
export interface Gate {
  /** The response to a request for one of the gate's own addresses. Undefined for other requests. */
  serve(request: Request, path: string): Response | Promise<Response> | undefined;
  /**
   * The caller of a request, or the refusal. Returns a promise only if the caller's token has not
   * been seen recently.
   */
  callerOf(request: Request): Principal | Response | Promise<Principal | Response>;
  /** Stops all requests to authorization servers. */
  close(): void;
}

/** The access control of a server, as an OAuth resource server. */
export interface AuthOptions {
  /**
   * The authorization servers whose tokens are accepted: their issuer URLs, or more about each.
   * Default: none. Then `tokenFile` is needed.
   */
  readonly issuers?: readonly (string | IssuerOptions)[];
  /**
   * A file of static tokens for programs that cannot sign in. `parley token` adds tokens to it.
   * Default: none.
   */
  readonly tokenFile?: string;
  /**
   * The URL of the MCP endpoint, as people type it into their clients. Default: `publicUrl` plus
   * `path`.
   */
  readonly resource?: string;
  /** The audiences that tokens may be for. Default: `resource`. */
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
  /** Where the issuer publishes its keys. Default: what its metadata says. */
  readonly jwksUri?: string;
  /** How the issuer's access tokens look. Default: `standard`, which is RFC 9068. */
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
 * How the access tokens of an issuer look. `standard` is RFC 9068; the others are named after
 * products whose tokens differ from it.
 */
export type TokenProfile = "standard" | "keycloak" | "auth0" | "entra" | "okta" | "cognito";
