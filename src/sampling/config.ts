/**
 * Configures the server's own model, from code or from environment variables.
 *
 * | model                   | key                 | address                              |
 * |-------------------------|---------------------|--------------------------------------|
 * | `openai:…`              | `OPENAI_API_KEY`    | `OPENAI_BASE_URL`                    |
 * | `anthropic:…`           | `ANTHROPIC_API_KEY` | `ANTHROPIC_BASE_URL`                 |
 * | `ollama:…`              | none                | `OLLAMA_HOST`                        |
 * | `openai-compatible:…`   | `PARLEY_MODEL_KEY`  | `PARLEY_MODEL_URL` (required)        |
 *
 * `PARLEY_MODEL_KEY` and `PARLEY_MODEL_URL` take precedence over the provider's own variables.
 */
import { type Clock, systemClock } from "../lib/clock.ts";
import { ModelProvider } from "./model-provider.ts";
import type { SamplingProvider } from "./provider.ts";
import type { RetryPolicy } from "./retrying-fetch.ts";

const KINDS = ["openai", "anthropic", "ollama", "openai-compatible"] as const;

/** The service, or kind of service, that runs a model. */
export type ProviderKind = (typeof KINDS)[number];

const DEFAULT_URLS: Record<ProviderKind, string | undefined> = {
  "openai": "https://api.openai.com/v1",
  "anthropic": "https://api.anthropic.com/v1",
  "ollama": "http://127.0.0.1:11434",
  "openai-compatible": undefined,
};

const KEY_VARIABLES: Record<ProviderKind, string | undefined> = {
  "openai": "OPENAI_API_KEY",
  "anthropic": "ANTHROPIC_API_KEY",
  "ollama": undefined,
  "openai-compatible": undefined,
};

const URL_VARIABLES: Record<ProviderKind, string | undefined> = {
  "openai": "OPENAI_BASE_URL",
  "anthropic": "ANTHROPIC_BASE_URL",
  "ollama": "OLLAMA_HOST",
  "openai-compatible": undefined,
};

/** A language model, and how to reach it. */
export interface SamplingProviderConfig {
  /** The provider and the name of the model, such as `anthropic:claude-sonnet-5` or `ollama:llama3.3`. */
  readonly model: string;
  /** The API key of the provider. */
  readonly apiKey?: string;
  /** The base URL of the API. Default: the provider's own. */
  readonly baseUrl?: string;
  /** The timeout of one attempt, in milliseconds. Default: two minutes. */
  readonly timeout?: number;
  /** How often to retry when the model is busy, fails or is unreachable. Default: 2. */
  readonly retries?: number;
  /** The `fetch` function to use. Default: the global one. */
  readonly fetch?: typeof fetch;
  /** The clock for timeouts and retries. Default: the system's clock. */
  readonly clock?: Clock;
}

/** A validated configuration. */
export interface ProviderSetup {
  readonly kind: ProviderKind;
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly keyVariable: string | undefined;
  readonly baseUrl: string;
  readonly retryPolicy: RetryPolicy;
}

/**
 * Creates the server's own language model. It answers sampling requests that the client cannot
 * answer. Nothing is loaded or sent before the first sampling request.
 *
 * @example
 * ```ts
 * import { createParley, createSamplingProvider } from "parley-mcp";
 *
 * const provider = createSamplingProvider({ model: "ollama:llama3.3" });
 * const parley = createParley({ sampling: { provider } });
 * await parley.close();
 * ```
 */
export function createSamplingProvider(config: SamplingProviderConfig): SamplingProvider {
  return provider(config, "model", "apiKey", "baseUrl");
}

/** Environment variables. */
export type EnvironmentVariables = { readonly [name: string]: string | undefined };

/**
 * Creates the language model that the variable `PARLEY_MODEL` names, as the `parley` program does.
 * Returns undefined if the variable is not set.
 *
 * @example
 * ```ts
 * import process from "node:process";
 * import { createParley, samplingFromEnvironment } from "parley-mcp";
 *
 * const provider = samplingFromEnvironment(process.env);
 * const parley = createParley(provider ? { sampling: { provider } } : {});
 * await parley.close();
 * ```
 */
export function samplingFromEnvironment(env: EnvironmentVariables): SamplingProvider | undefined {
  const model = env.PARLEY_MODEL?.trim();
  if (!model) return undefined;
  const kind = kindOf(model);
  const keyVariable = firstSet(env, ["PARLEY_MODEL_KEY", kind && KEY_VARIABLES[kind]]);
  const urlVariable = firstSet(env, ["PARLEY_MODEL_URL", kind && URL_VARIABLES[kind]]);
  const apiKey = keyVariable && env[keyVariable]?.trim();
  const baseUrl = urlVariable && env[urlVariable]?.trim();
  return provider(
    { model, ...(apiKey && { apiKey }), ...(baseUrl && { baseUrl }) },
    "PARLEY_MODEL",
    keyVariable ?? (kind && KEY_VARIABLES[kind]) ?? "PARLEY_MODEL_KEY",
    urlVariable ?? "PARLEY_MODEL_URL",
  );
}

/**
 * Creates a provider. `modelName`, `keyName` and `urlName` are the names of the settings in error
 * messages.
 */
function provider(
  config: SamplingProviderConfig,
  modelName: string,
  keyName: string,
  urlName: string,
): SamplingProvider {
  const { model: full, apiKey, retries = 2, timeout = 120_000 } = config;
  const kind = typeof full === "string" ? kindOf(full) : undefined;
  const model = kind && full.slice(kind.length + 1).trim();
  if (!kind || !model) {
    throw new TypeError(
      `Cannot use ${modelName} "${full}": it is not a provider and a model; write it as ${
        KINDS.map((each) => `${each}:…`).join(", ")
      }`,
    );
  }
  if ((kind === "openai" || kind === "anthropic") && !apiKey) {
    throw new TypeError(
      `Cannot use ${modelName} "${full}": it needs an API key; set ${keyName}, or use a model that needs no key`,
    );
  }
  checkNumber(modelName, full, "timeout", timeout, 1);
  checkNumber(modelName, full, "retries", retries, 0);
  return new ModelProvider({
    kind,
    model,
    apiKey,
    keyVariable: keyName,
    baseUrl: checkedUrl(kind, `${modelName} "${full}"`, urlName, config.baseUrl),
    retryPolicy: {
      timeout,
      retries,
      fetch: config.fetch ?? globalThis.fetch,
      clock: config.clock ?? systemClock,
    },
  });
}

function kindOf(model: string): ProviderKind | undefined {
  return KINDS.find((kind) => model.startsWith(`${kind}:`));
}

function firstSet(
  env: EnvironmentVariables,
  names: readonly (string | undefined)[],
): string | undefined {
  return names.find((name) => name !== undefined && env[name]?.trim());
}

/**
 * Returns the base URL without a trailing slash. Adds `http://` to an address of Ollama if it is
 * missing, because `OLLAMA_HOST` is often set without it.
 */
function checkedUrl(
  kind: ProviderKind,
  what: string,
  urlName: string,
  given: string | undefined = DEFAULT_URLS[kind],
): string {
  if (given === undefined) {
    throw new TypeError(
      `Cannot use ${what}: it has no address; set ${urlName} to an address such as http://127.0.0.1:8080/v1`,
    );
  }
  const full = kind === "ollama" && !given.includes("://") ? `http://${given}` : given;
  const url = URL.parse(full);
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new TypeError(
      `Cannot use ${what}: ${urlName} is not a full http or https URL; write it in full, as in http://127.0.0.1:8080/v1`,
    );
  }
  if (kind === "ollama" && full !== given && url.port === "") url.port = "11434";
  const trimmed = url.href.replace(/\/+$/, "");
  // Anthropic's own tools expect the address without the version, so add the version here.
  return kind === "anthropic" && url.pathname === "/" ? `${trimmed}/v1` : trimmed;
}

function checkNumber(
  modelName: string,
  model: string,
  what: string,
  value: unknown,
  least: number,
): void {
  if (typeof value === "number" && value >= least && Number.isFinite(value)) return;
  throw new TypeError(
    `Cannot use ${modelName} "${model}": its ${what} is ${value}; give a number of ${least} or more`,
  );
}
