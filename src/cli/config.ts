/** The type of a project's config file. `server-flags.ts` has the flag of each key. */
import type { Door } from "../model/events.ts";
import type { TokenProfile } from "../server/access.ts";
import type { ParleyLimits } from "../server/options.ts";

/**
 * The content of `parley.config.ts` or `parley.config.json`. The commands in its folder use it.
 * Flags and environment variables override it. Paths are relative to the file. Secrets do not belong
 * here: keep them in environment variables, or in files of their own.
 */
export interface ParleyConfig {
  /** Files or folders with the tools to serve, if the command names none. */
  readonly tools?: readonly string[];
  /** The name of the server, as clients see it. Default: `parley`. */
  readonly name?: string;
  /** The version of the server. Default: that of Parley. */
  readonly version?: string;
  /** Instructions for the model on how to use the server. */
  readonly instructions?: string;

  /** The port to listen on. Default: 7411. */
  readonly port?: number;
  /** The address to listen on. Default: `127.0.0.1`. */
  readonly host?: string;
  /** The URL at which browsers reach the server. */
  readonly publicUrl?: string;
  /** Host names that clients may use besides localhost. */
  readonly allowHosts?: readonly string[];
  /** Origins whose web pages may call the server. */
  readonly allowOrigins?: readonly string[];
  /** Proxies whose `Forwarded` and `X-Forwarded-*` headers are trusted. */
  readonly trustProxies?: readonly string[];
  /** Also serve the HTTP+SSE transport of revision 2024-11-05. Default: false. */
  readonly legacySse?: boolean;
  /** Also serve the console, at `/console`. Default: false. */
  readonly console?: boolean;
  /** Seconds that running calls may continue after a signal. Default: 10. */
  readonly grace?: number;

  /** The store for calls of durable tools, as `sqlite:PATH`. Default: in memory. */
  readonly store?: string;
  /** Where calls of modern clients wait for answers. Default: `here`. */
  readonly state?: "here" | "sealed";
  /** Days for which an abandoned call is kept. Default: 7. */
  readonly keep?: number;
  /** The memory limit for all waiting calls together, in megabytes. Default: 256. */
  readonly maxMemory?: number;
  /** The size limit for all calls in the store together, in megabytes. Default: 1024. */
  readonly maxStore?: number;
  /** The maximum number of requests per minute of one named caller. Default: no limit. */
  readonly maxRequests?: number;
  /** The folder of skills. Default: `skills` beside a folder named `tools`. */
  readonly skills?: string;
  /** All other limits of the server. */
  readonly limits?: Partial<
    Omit<ParleyLimits, "durableTimeToLive" | "maxMemory" | "maxStore" | "maxRequestsPerMinute">
  >;

  /** Where tools may ask the person. Default: everywhere. */
  readonly doors?: readonly Door[];
  /** Seconds that `continue_call` waits for the person. Default: 20. */
  readonly askWait?: number;
  /**
   * Seconds that a form may stay unanswered before its question is also asked on a page. Default:
   * forever.
   */
  readonly askPatience?: number;
  /** When to open pages in a browser of this machine. Default: `auto`. */
  readonly browser?: "auto" | "always" | "never";
  /** Let forms ask for passwords, although the client can read them. Default: false. */
  readonly allowFormPasswords?: boolean;

  /** Who may call the server. Default: programs on this machine. */
  readonly auth?: {
    /** Authorization servers whose access tokens are accepted. */
    readonly issuers?: readonly string[];
    /** Audiences that tokens must be for. Default: `publicUrl` plus `/mcp`. */
    readonly audience?: readonly string[];
    /** Scopes that every request needs. */
    readonly scopes?: readonly string[];
    /** The format of the issuer's access tokens. Default: `standard`, which is RFC 9068. */
    readonly profile?: TokenProfile;
    /** The id of this server at the issuer, to sign in people who open its pages. */
    readonly clientId?: string;
    /** The file with the secret of this server at the issuer. */
    readonly clientSecretFile?: string;
    /** Require a nonce of this server in DPoP proofs (RFC 9449). Default: false. */
    readonly dpopNonces?: boolean;
    /** The file of static tokens. */
    readonly tokenFile?: string;
    /** Let everybody who can connect call tools, without signing in. Default: false. */
    readonly allowAnonymous?: boolean;
  };

  /** The server's own model. It answers sampling requests that the client cannot answer. */
  readonly model?: {
    /** The provider and the name of the model, such as `ollama:llama3.3`. */
    readonly name?: string;
    /** The base URL of the API. Default: the provider's own. */
    readonly url?: string;
    /** The file with the API key. Default: the key in the environment. */
    readonly keyFile?: string;
    /**
     * Let the model that called a tool answer the tool's sampling requests, if there is no other
     * model. Default: false.
     */
    readonly byCaller?: boolean;
  };

  /** What the server logs. */
  readonly log?: {
    /** The lowest level of messages to log. Default: `info` for `serve`, `warning` for `stdio`. */
    readonly level?: "debug" | "info" | "warning" | "error" | "silent";
    /** The format of the log. Default: `text`. */
    readonly format?: "text" | "json";
    /** The file of the audit log. Default: none. */
    readonly auditFile?: string;
    /** Also write arguments and answers to the audit log. Default: false. */
    readonly auditData?: boolean;
  };
}

/** The keys whose values are objects with further keys. */
type Group = "auth" | "model" | "log";

/** The keys of the file that have a flag, such as `port` and `auth.issuers`. */
export type ConfigKey =
  | Exclude<keyof ParleyConfig, Group | "tools">
  | { [name in Group]: `${name}.${keyof NonNullable<ParleyConfig[name]> & string}` }[Group];

/**
 * Gives the config in `parley.config.ts` its type. It returns the config unchanged.
 *
 * @example
 * ```ts
 * import { defineConfig } from "parley-mcp";
 *
 * export default defineConfig({
 *   tools: ["./tools"],
 *   name: "travel",
 *   store: "sqlite:./parley.db",
 *   limits: { maxBody: 1_000_000 },
 *   log: { format: "json" },
 * });
 * ```
 */
export function defineConfig(config: ParleyConfig): ParleyConfig {
  return config;
}
