/**
 * The flags of a server, each with its key in the config file. This table is the only place that
 * defines a flag: `parley serve` and `parley stdio` take their flags from it, and so do the
 * environment variables, the config file, and the types of the values.
 */
import { type Command, Option } from "commander";
import type { ConfigKey } from "./config.ts";
import {
  collect,
  toAddress,
  toCount,
  toDays,
  toDoors,
  toLimits,
  toMegabytes,
  toPort,
  toRanges,
  toSeconds,
} from "./flag-values.ts";
import { LOG_FORMATS, LOG_LEVELS } from "./log.ts";

/** The type of a setting's value in the config file. A `file` is a path, relative to that file. */
export type SettingKind = "boolean" | "number" | "text" | "file" | "list" | "numbers";

interface Flag {
  /** The flag as the help shows it. */
  readonly flags: string;
  readonly description: string;
  /** Default: `text`, or `boolean` for a flag without a value. */
  readonly kind?: SettingKind;
  /**
   * Checks and converts the text of a value. The parser of a repeatable flag also gets the values
   * before.
   */
  readonly parse?: (text: string, before?: never) => unknown;
  readonly choices?: readonly string[];
  readonly default?: unknown;
  /** The default in `parley stdio`, if it differs. */
  readonly stdioDefault?: unknown;
  /** The environment variable. Default: derived from the flag, `PARLEY_MAX_MEMORY` for `--max-memory`. */
  readonly variable?: string;
}

type Flags = { readonly [key in ConfigKey]?: Flag };

/** Flags of servers that listen on a port: only `parley serve` has them. */
const HTTP_FLAGS = {
  "port": {
    flags: "-p, --port <number>",
    description: "port to listen on; 0 picks a free one",
    kind: "number",
    parse: toPort,
    default: 7411,
    variable: "PORT",
  },
  "host": {
    flags: "--host <address>",
    description: "address to listen on; 0.0.0.0 for all addresses of this machine",
    default: "127.0.0.1",
    variable: "HOST",
  },
  "publicUrl": {
    flags: "--public-url <address>",
    description: "URL at which browsers reach the server; default: its address on this machine",
    parse: toAddress,
  },
  "allowHosts": {
    flags: "--allow-host <name>",
    description: "host name that clients may use besides localhost; * for any (repeatable)",
    kind: "list",
    parse: collect,
  },
  "allowOrigins": {
    flags: "--allow-origin <origin>",
    description:
      "origin whose web pages may call the server, such as https://example.com (repeatable)",
    kind: "list",
    parse: collect,
  },
  "trustProxies": {
    flags: "--trust-proxy <cidr>",
    description:
      "proxy whose Forwarded and X-Forwarded-* headers are trusted, as an address or a range such as 10.0.0.0/8 (repeatable)",
    kind: "list",
    parse: toRanges,
  },
  "legacySse": {
    flags: "--legacy-sse",
    description: "also serve the HTTP+SSE transport of revision 2024-11-05, at /sse",
  },
  "console": {
    flags: "--console",
    description: "also serve the console at /console, to see and answer calls and to try tools",
  },
  "grace": {
    flags: "--grace <seconds>",
    description: "how long running calls may continue after Ctrl-C",
    kind: "number",
    parse: toSeconds,
    default: 10,
  },
  "store": {
    flags: "--store <address>",
    description:
      "store for calls of durable tools, so that they survive a restart, in the form sqlite:PATH",
  },
  "state": {
    flags: "--state <where>",
    description:
      "where calls of modern clients wait for answers: in this server (here), or encrypted in the client's requestState (sealed), for durable tools that allow it; sealed needs PARLEY_KEY",
    choices: ["here", "sealed"],
    default: "here",
  },
  "keep": {
    flags: "--keep <days>",
    description: "how long an abandoned call is kept",
    kind: "number",
    parse: toDays,
    default: 7,
  },
  "maxMemory": {
    flags: "--max-memory <MB>",
    description: "memory limit for all waiting calls together",
    kind: "number",
    parse: toMegabytes,
    default: 256,
  },
  "maxStore": {
    flags: "--max-store <MB>",
    description: "size limit for all calls in the store together",
    kind: "number",
    parse: toMegabytes,
    default: 1_024,
  },
  "maxRequests": {
    flags: "--max-requests <number>",
    description: "maximum number of requests per minute of one named caller; default: no limit",
    kind: "number",
    parse: toCount,
  },
  "auth.issuers": {
    flags: "--auth-issuer <url>",
    description:
      "authorization server whose access tokens are accepted, such as https://login.example.com (repeatable)",
    kind: "list",
    parse: collect,
  },
  "auth.audience": {
    flags: "--auth-audience <name>",
    description: "audience that tokens must be for; default: --public-url plus /mcp (repeatable)",
    kind: "list",
    parse: collect,
  },
  "auth.scopes": {
    flags: "--auth-scope <scope>",
    description: "scope that every request needs (repeatable)",
    kind: "list",
    parse: collect,
  },
  "auth.profile": {
    flags: "--auth-profile <name>",
    description: "format of the issuer's access tokens; default: standard, which is RFC 9068",
    choices: ["standard", "keycloak", "auth0", "entra", "okta", "cognito"],
  },
  "auth.clientId": {
    flags: "--auth-client-id <id>",
    description: "id of this server at the issuer, to sign in people who open its pages",
  },
  "auth.clientSecretFile": {
    flags: "--auth-client-secret-file <file>",
    description:
      "file with the secret of this server at the issuer; also lets it ask about tokens that are not JWTs",
    kind: "file",
  },
  "auth.dpopNonces": {
    flags: "--auth-dpop-nonces",
    description: "require a nonce of this server in DPoP proofs (RFC 9449)",
  },
  "auth.tokenFile": {
    flags: "--token-file <file>",
    description:
      "file of static tokens for programs that cannot sign in; `parley token` creates them",
    kind: "file",
  },
  "auth.allowAnonymous": {
    flags: "--allow-anonymous",
    description: "let everybody who can connect call tools, without signing in",
  },
  "log.auditFile": {
    flags: "--audit-log <file>",
    description:
      "file to which a JSON line is added for each call, answer and refusal: who, what, when, and how it ended",
    kind: "file",
  },
  "log.auditData": {
    flags: "--audit-data",
    description: "also write arguments and answers to the audit log, without sensitive fields",
  },
} as const satisfies Flags;

/** Flags of every server. */
const SERVER_FLAGS = {
  "name": {
    flags: "--server-name <name>",
    description: "name of the server, for clients; default: parley",
  },
  "version": {
    flags: "--server-version <version>",
    description: "version of the server; default: that of Parley",
  },
  "instructions": {
    flags: "--instructions <text>",
    description: "tells the model how to use the server",
  },
  "skills": {
    flags: "--skills <folder>",
    description: "folder of skills to serve; default: skills beside a folder named tools",
    kind: "file",
  },
  "limits": {
    flags: "--limit <name=number>",
    description: "another limit of the server, such as maxBody=1000000 (repeatable)",
    kind: "numbers",
    parse: toLimits,
  },
  "doors": {
    flags: "--doors <list>",
    description: "where tools may ask the person: form, app, page, model; default: all",
    kind: "list",
    parse: toDoors,
  },
  "askWait": {
    flags: "--ask-wait <seconds>",
    description: "how long continue_call waits for the person",
    kind: "number",
    parse: toSeconds,
    default: 20,
  },
  "askPatience": {
    flags: "--ask-patience <seconds>",
    description:
      "how long a form may stay unanswered before its question is also asked on a page; default: forever",
    kind: "number",
    parse: toSeconds,
  },
  "browser": {
    flags: "--browser <when>",
    description: "open pages that ask the person in a browser of this machine",
    choices: ["auto", "always", "never"],
    default: "auto",
  },
  "allowFormPasswords": {
    flags: "--allow-form-passwords",
    description: "let forms ask for passwords, although the client can read them",
  },
  "model.name": {
    flags: "--model <name>",
    description:
      "model of the server, as anthropic:NAME, openai:NAME, ollama:NAME or openai-compatible:NAME",
  },
  "model.url": {
    flags: "--model-url <address>",
    description: "base URL of the model's API",
    parse: toAddress,
  },
  "model.keyFile": {
    flags: "--model-key-file <file>",
    description: "file with the key of the model's API",
    kind: "file",
  },
  "model.byCaller": {
    flags: "--model-by-caller",
    description:
      "let the model that called a tool answer the tool's sampling requests, if there is no other model",
  },
  "log.level": {
    flags: "--log-level <level>",
    description: "lowest level of messages to log on stderr",
    choices: LOG_LEVELS,
    default: "info",
    stdioDefault: "warning",
  },
  "log.format": {
    flags: "--log-format <format>",
    description: "format of the log",
    choices: LOG_FORMATS,
    default: "text",
  },
} as const satisfies Flags;

/** The name that Commander gives the value of a flag: `logLevel` for `--log-level <level>`. */
type ValueName<Text> = Text extends `${string}--${infer Rest}`
  ? CamelCase<Rest extends `${infer Name} ${string}` ? Name : Rest>
  : never;

type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** The type of a flag's value. */
type Value<F> = F extends { readonly parse: (...args: never) => infer Parsed } ? Parsed
  : F extends { readonly choices: readonly (infer Choice)[] } ? Choice
  : F extends { readonly flags: `${string}<${string}` } ? string
  : boolean;

/** The values of flags. A flag with a default always has a value. */
type FlagValues<Table extends Flags> =
  & {
    readonly [K in keyof Table as Table[K] extends { default: unknown } ? NameOf<Table[K]> : never]:
      Value<Table[K]>;
  }
  & {
    readonly [
      K in keyof Table as Table[K] extends { default: unknown } ? never : NameOf<Table[K]>
    ]?: Value<Table[K]>;
  };

type NameOf<F> = F extends { readonly flags: infer Text } ? ValueName<Text> : never;

/** The values of the flags of `parley stdio`. */
export type StdioFlags = FlagValues<typeof SERVER_FLAGS>;

/** The values of the flags of `parley serve`. */
export type ServeFlags = StdioFlags & FlagValues<typeof HTTP_FLAGS>;

/** All flags. The type makes sure that every key of the config file has one. */
const FLAGS: { readonly [key in ConfigKey]: Flag } = { ...HTTP_FLAGS, ...SERVER_FLAGS };

/** The keys of the config file that have a flag. */
export const CONFIG_KEYS = Object.keys(FLAGS) as readonly ConfigKey[];

/**
 * An option whose value may also come from an environment variable or the config file. It has no
 * default: only servers use the defaults of the table.
 */
export class SettingOption extends Option {
  readonly key: ConfigKey;
  readonly kind: SettingKind;
  /** The environment variable. */
  readonly variable: string;

  /** `changes` are the flag and the description in a command that is not a server. */
  constructor(key: ConfigKey, changes: Partial<Pick<Flag, "flags" | "description">> = {}) {
    const flag = FLAGS[key];
    super(changes.flags ?? flag.flags, changes.description ?? flag.description);
    this.key = key;
    this.kind = flag.kind ?? (this.isBoolean() ? "boolean" : "text");
    const [, name] = /--([\w-]+)/.exec(flag.flags)!;
    this.variable = flag.variable ?? `parley-${name}`.replaceAll("-", "_").toUpperCase();
    if (flag.parse) this.argParser<unknown>(flag.parse as (text: string) => unknown);
    if (flag.choices) this.choices(flag.choices);
  }
}

/** Adds the flags of a server to `parley serve` or `parley stdio`. */
export function addServerFlags(command: Command): Command {
  const isStdio = command.name() === "stdio";
  const keys = Object.keys(isStdio ? SERVER_FLAGS : FLAGS) as ConfigKey[];
  for (const key of keys) {
    const { variable, default: usual, stdioDefault } = FLAGS[key];
    const option = new SettingOption(key);
    if (variable !== undefined) option.env(variable);
    command.addOption(option.default(isStdio ? stdioDefault ?? usual : usual));
  }
  // Accepted for compatibility. It has no effect; using it logs a warning.
  return command.addOption(new Option("--no-form-passwords").hideHelp());
}
