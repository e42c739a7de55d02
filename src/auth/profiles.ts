/**
 * How the access tokens of an issuer look. The default is RFC 9068. Many products issue tokens
 * that differ from it, and a profile says how.
 */
import type { IssuerOptions, TokenProfile } from "../server/access.ts";

export interface Profile {
  /** Accepted values of the `typ` header, in lower case; `""` stands for no header. Undefined: any. */
  readonly types: readonly string[] | undefined;
  /** The claim that must name the audience. Undefined if tokens have none. */
  readonly audience: "aud" | undefined;
  /** The claims of scopes, the first of which counts. */
  readonly scopes: readonly string[];
  /** The claims of the client's id, the first of which counts. */
  readonly client: readonly string[];
  /** Claims that every token must have. */
  readonly required: readonly string[];
  /** Claims that tell access tokens from ID tokens, with the value that is required if present. */
  readonly marks: { readonly [claim: string]: string };
  /** The clients whose tokens are accepted. Undefined: all clients. */
  readonly clients: readonly string[] | undefined;
  /** True if there is no metadata that could tell the issuer's exact name. */
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
  },
  entra: {
    ...STANDARD,
    types: ["jwt"],
    scopes: ["scp", "roles"],
    client: ["azp", "appid"],
    required: ["sub", "exp", "iat"],
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
      `Cannot accept tokens of issuer "${issuer}": with profile "${profile}" they name no audience; list the ids of your clients`,
    );
  }
  return { ...preset, clients, exactIssuer: jwksUri !== undefined };
}
