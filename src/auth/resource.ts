/**
 * The server as a protected resource (RFC 9728): its address, its metadata document, and the
 * challenges that lead clients to both.
 */
import { isLoopback } from "../server/guard.ts";
import type { RequestHeaders } from "../wire/request-headers.ts";

/** The header that names the server. */
type Named = Pick<RequestHeaders, "host">;

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** The algorithms of DPoP proofs that clients are told about. */
export const PROOF_ALGORITHMS = ["ES256", "EdDSA", "RS256", "PS256"];

export interface ResourceOptions {
  /** The URL of the MCP endpoint. Undefined while the server does not know it. */
  readonly url: () => string | undefined;
  /** The path of the MCP endpoint. */
  readonly path: string;
  readonly issuers: readonly string[];
  readonly audience: readonly string[] | undefined;
  readonly scopes: readonly string[];
  readonly name: string;
}

export class ProtectedResource {
  readonly #options: ResourceOptions;

  constructor(options: ResourceOptions) {
    this.#options = options;
  }

  /**
   * The URL of the MCP endpoint. A client on this machine gets it with the host name that it used.
   */
  urlFor(headers: Named | undefined): string {
    const url = new URL(this.url);
    const host = headers?.host ?? null;
    // `localhost` and `127.0.0.1` are the same server. A client compares this URL with the one it
    // used.
    if (host !== null && isLoopback(url.host) && isLoopback(host) && portOf(host) === url.port) {
      url.host = host;
    }
    return url.href;
  }

  /** The audiences that tokens may be for. */
  get audience(): readonly string[] {
    return this.#options.audience ?? aliases(this.url);
  }

  /** Whether this URL is the address of a request with this path. */
  isAt(url: string, path: string): boolean {
    const own = this.#options.path;
    const at = new URL(this.url);
    // A proxy may add a prefix to all paths, or serve the MCP endpoint at another path.
    if (path !== own) {
      const prefix = at.pathname.endsWith(own) ? at.pathname.slice(0, -own.length) : "";
      at.pathname = prefix + path;
    }
    return aliases(at.href).includes(url);
  }

  /** Whether the metadata document is served at this path. */
  hasMetadataAt(path: string): boolean {
    if (!path.startsWith(WELL_KNOWN) || !this.#leadsToIssuers) return false;
    const rest = path.slice(WELL_KNOWN.length);
    return rest === "" || rest === this.#options.path || rest === new URL(this.url).pathname;
  }

  metadata(headers: Named): object {
    const { issuers, scopes, name } = this.#options;
    return {
      resource: this.urlFor(headers),
      authorization_servers: issuers,
      bearer_methods_supported: ["header"],
      ...(scopes.length > 0 && { scopes_supported: scopes }),
      dpop_signing_alg_values_supported: PROOF_ALGORITHMS,
      resource_name: name,
    };
  }

  /**
   * The value of `WWW-Authenticate`. It starts with `Bearer`, because some clients read only the
   * first word.
   */
  challenge(
    headers: Named | undefined,
    parameters: { readonly [name: string]: string } = {},
  ): string {
    const { scopes } = this.#options;
    const all = {
      ...parameters,
      ...(this.#leadsToIssuers && { resource_metadata: this.#metadataUrl(headers) }),
      ...(scopes.length > 0 && !("scope" in parameters) && { scope: scopes.join(" ") }),
    };
    const words = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
    return words.length > 0 ? `Bearer ${words.join(", ")}` : "Bearer";
  }

  /** False if all tokens come from a file, so that there is no issuer to sign in to. */
  get #leadsToIssuers(): boolean {
    return this.#options.issuers.length > 0;
  }

  #metadataUrl(headers: Named | undefined): string {
    const { origin, pathname } = new URL(this.urlFor(headers));
    return `${origin}${WELL_KNOWN}${pathname === "/" ? "" : pathname}`;
  }

  /** The URL of the MCP endpoint. */
  get url(): string {
    const url = this.#options.url();
    if (url !== undefined) return url;
    throw new TypeError(
      "Cannot check tokens: the server does not know its own address; set publicUrl or auth.resource",
    );
  }
}

/**
 * All spellings of a URL of the server: as it was configured, and as the metadata document has it. A
 * server on this machine has several names.
 */
function aliases(text: string): string[] {
  const url = new URL(text);
  if (!isLoopback(url.host)) return [...new Set([text, url.href])];
  return ["localhost", "127.0.0.1", "[::1]"].map((name) => {
    url.hostname = name;
    return url.href;
  });
}

function portOf(host: string): string {
  return /:(\d+)$/.exec(host)?.[1] ?? "";
}
