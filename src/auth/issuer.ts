/** An authorization server: its metadata and its keys. */
import { createLocalJWKSet, type JSONWebKeySet } from "jose";
import {
  allowInsecureRequests,
  type AuthorizationServer,
  customFetch,
  discoveryRequest,
  processDiscoveryResponse,
} from "oauth4webapi";
import { isLoopback } from "../server/guard.ts";
import type { IssuerOptions } from "../server/access.ts";
import { boundedFetch, type Reach } from "./bounded-fetch.ts";
import { type Profile, profileOf } from "./profiles.ts";
import { IssuerProblem, IssuerUnavailable } from "./refusal.ts";
import { RemoteDocument } from "./remote-document.ts";

export type KeySet = ReturnType<typeof createLocalJWKSet>;

const METADATA_AGE = 3_600_000;
const KEYS_AGE = 600_000;
/** Milliseconds after which a new key of the issuer is accepted, at the latest. */
const COOLDOWN = 10_000;
/** Maximum number of keys. There is a limit, because each verification searches all keys. */
const MAX_KEYS = 100;

export class Issuer {
  /** The configured URL. Clients get the same URL. */
  readonly url: string;
  readonly profile: Profile;
  readonly introspection: IssuerOptions["introspection"];
  readonly metadata: RemoteDocument<AuthorizationServer>;
  readonly keys: RemoteDocument<KeySet>;
  /** The options of each request to this issuer, for `oauth4webapi`. */
  readonly http: {
    readonly [customFetch]: (url: string, init: object) => Promise<Response>;
    readonly [allowInsecureRequests]: boolean;
  };

  constructor(options: IssuerOptions, reach: Reach) {
    const { issuer, jwksUri } = options;
    this.url = issuer;
    this.profile = profileOf(options);
    this.introspection = options.introspection;
    const insecure = isLoopback(new URL(issuer).host);
    this.http = {
      [customFetch]: (url, init) => boundedFetch(reach, url, init),
      [allowInsecureRequests]: insecure,
    };
    const { clock } = reach;
    this.metadata = new RemoteDocument({
      issuer,
      clock,
      maxAge: METADATA_AGE,
      cooldown: COOLDOWN,
      load: () => this.#discover(),
    });
    this.keys = new RemoteDocument({
      issuer,
      clock,
      maxAge: KEYS_AGE,
      cooldown: COOLDOWN,
      load: async () => {
        const uri = jwksUri ?? (await this.metadata.get()).jwks_uri;
        if (uri === undefined) throw new IssuerProblem("its metadata has no jwks_uri");
        return keySetOf(await boundedFetch(reach, checked(uri, insecure)));
      },
    });
  }

  /**
   * The value of `iss` in this issuer's tokens. The metadata may add a slash to the configured URL.
   */
  async name(): Promise<string> {
    if (this.profile.exactIssuer) return this.url;
    return (await this.metadata.get()).issuer;
  }

  /** The URL at which people sign in. */
  async signInUrl(): Promise<URL> {
    const { authorization_endpoint: endpoint } = await this.metadata.get();
    const url = endpoint !== undefined && URL.canParse(endpoint) ? new URL(endpoint) : undefined;
    // Browsers are sent to this address, so it must be a safe web address.
    if (url && isSafe(url, isLoopback(new URL(this.url).host))) return url;
    const why = "its metadata has no https address at which people sign in";
    throw new IssuerUnavailable(this.url, METADATA_AGE, why);
  }

  /**
   * Loads the metadata document of OpenID Connect, or that of OAuth if the first does not exist.
   */
  async #discover(): Promise<AuthorizationServer> {
    const issuer = new URL(this.url);
    const first = await discoveryRequest(issuer, { ...this.http, algorithm: "oidc" });
    const response = first.status === 200
      ? first
      : await discoveryRequest(issuer, { ...this.http, algorithm: "oauth2" });
    if (response.status !== 200) {
      throw new IssuerProblem(`it has no metadata (its answer has status ${response.status})`);
    }
    return await processDiscoveryResponse(issuer, response);
  }
}

async function keySetOf(response: Response): Promise<KeySet> {
  if (response.status !== 200) {
    throw new IssuerProblem(`its keys cannot be read (the answer has status ${response.status})`);
  }
  const set = await response.json() as JSONWebKeySet;
  const keys = createLocalJWKSet(set);
  if (set.keys.length > MAX_KEYS) throw new IssuerProblem(`it has more than ${MAX_KEYS} keys`);
  return keys;
}

function checked(uri: string, insecure: boolean): URL {
  const url = new URL(uri);
  if (isSafe(url, insecure)) return url;
  throw new IssuerProblem("the address of its keys is not https");
}

/**
 * Whether an address of an issuer is https. If the issuer is on this machine, its addresses on this
 * machine are accepted too.
 */
function isSafe({ protocol, host }: URL, insecure: boolean): boolean {
  return protocol === "https:" || insecure && protocol === "http:" && isLoopback(host);
}
