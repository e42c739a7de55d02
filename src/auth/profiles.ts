/**
 * The format of an issuer's access tokens. The default is RFC 9068. Many products issue tokens that
 * differ from it. A profile describes the differences.
 */
import type { IssuerOptions, TokenProfile } from "../server/access.ts";

export interface Profile {
  /** Accepted values of the `typ` header, in lower case; `""` stands for no header. Undefined: any. */
  readonly types: readonly string[] | undefined;
  /** The claim that must name the audience. Undefined if tokens have none. */
  readonly audience: "aud" | undefined;
  /** The claims that may contain the scopes. The first one that a token has is used. */
  readonly scopes: readonly string[];
  /** The claims that may contain the client's id. The first one that a token has is used. */
  readonly client: readonly string[];
  /** Claims that every token must have. */
  readonly required: readonly string[];
  /**
   * Claims that distinguish access tokens from ID tokens, and the values that they must have. A
   * token may lack them.
   */
  readonly marks: { readonly [claim: string]: string };
  /**
   * True if access tokens cannot be told from ID tokens by a type or a mark. A token must then name
   * its client, and it must not have a claim that only ID tokens have.
   */
  readonly resemblesIdToken: boolean;
  /** The clients whose tokens are accepted. Undefined: all clients. */
  readonly clients: readonly string[] | undefined;
  /**
   * True if the configured URL is the exact value of `iss`: no metadata is loaded that could
   * correct it.
   */
  readonly exactIssuer: boolean;
}

type Preset = Omit<Profile, "clients" | "exactIssuer">;

const STANDARD: Preset = {
  types: ["at+jwt", "application/at+jwt"],
  audience: "aud",
  scopes: ["scope"],
  client: ["client_id"],
  required: ["sub", "exp", "iat", "client_id"],
  marks: {},
  resemblesIdToken: false,
};

const PRESETS: { readonly [name in TokenProfile]: Preset } = {
  standard: STANDARD,
  keycloak: {
    ...STANDARD,
    types: ["jwt", "at+jwt"],
    client: ["client_id", "azp"],
    required: ["sub", "exp", "iat", "typ"],
    marks: { typ: "Bearer" },
  },
  auth0: {
    ...STANDARD,
    types: ["jwt", "at+jwt"],
    client: ["client_id", "azp"],
    required: ["sub", "exp", "iat"],
    resemblesIdToken: true,
  },
  entra: {
    ...STANDARD,
    types: ["jwt"],
    scopes: ["scp", "roles"],
    client: ["azp", "appid"],
    required: ["sub", "exp", "iat"],
    resemblesIdToken: true,
  },
  okta: {
    ...STANDARD,
    types: ["", "jwt", "at+jwt", "application/okta-internal-at+jwt"],
    scopes: ["scp"],
    client: ["cid"],
    required: ["sub", "exp", "iat", "cid"],
  },
  cognito: {
    ...STANDARD,
    types: ["", "jwt"],
    audience: undefined,
    required: ["sub", "exp", "iat", "client_id", "token_use"],
    marks: { token_use: "access" },
  },
};

export function profileOf(options: IssuerOptions): Profile {
  const { issuer, profile = "standard", clients, jwksUri } = options;
  const preset = PRESETS[profile];
  if (!Object.hasOwn(PRESETS, profile)) {
    throw new TypeError(
      `Cannot use profile "${profile}" for issuer "${issuer}": there is none; use one of ${
        Object.keys(PRESETS).join(", ")
      }`,
    );
  }
  if (preset.audience === undefined && !clients?.length) {
    throw new TypeError(
      `Cannot accept tokens of issuer "${issuer}": tokens of profile "${profile}" have no audience; set clients to the ids of the clients that you trust`,
    );
  }
  return { ...preset, clients, exactIssuer: jwksUri !== undefined };
}
