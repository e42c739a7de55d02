/**
 * A configured model as a `SamplingProvider`. Loads the provider's library on the first request.
 */
import type { SampleParams, SampleResponse } from "../model/events.ts";
import type { ProviderSetup } from "./config.ts";
import { badAnswer, ModelFailure, unsupportedContent } from "./failure.ts";
import { chooseModels } from "./choose-model.ts";
import { retryingFetch, type Subject } from "./retrying-fetch.ts";
import type { SamplingProvider } from "./provider.ts";

/** One request, for the module that implements the provider's wire format. */
export interface ModelRequest {
  readonly params: SampleParams;
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly baseUrl: string;
  readonly subject: Subject;
  readonly fetch: typeof fetch;
}

/** The function that each module for a wire format exports. */
export type AskModel = (request: ModelRequest) => Promise<SampleResponse>;

export class ModelProvider implements SamplingProvider {
  readonly #setup: ProviderSetup;
  /** Models from hints that this provider does not have. */
  readonly #unknown = new Set<string>();

  constructor(setup: ProviderSetup) {
    this.#setup = setup;
  }

  get name(): string {
    return `${this.#setup.kind}:${this.#setup.model}`;
  }

  async sample(params: SampleParams, signal: AbortSignal): Promise<SampleResponse> {
    const { kind, model } = this.#setup;
    const ask = await load(kind);
    const [first = model, second] = chooseModels(kind, model, params, this.#unknown);
    try {
      return await this.#ask(ask, first, params, signal);
    } catch (error) {
      // A hint is only a preference: an unknown model must not fail the sampling request.
      if (second === undefined || !isNotFound(error)) throw error;
      if (this.#unknown.size < MAX_REMEMBERED) this.#unknown.add(first);
      return await this.#ask(ask, second, params, signal);
    }
  }

  async #ask(
    ask: AskModel,
    model: string,
    params: SampleParams,
    signal: AbortSignal,
  ): Promise<SampleResponse> {
    const { kind, apiKey, baseUrl, keyVariable, retryPolicy } = this.#setup;
    const subject: Subject = {
      name: `${kind}:${model}`,
      model,
      url: withoutSecrets(baseUrl),
      keyVariable,
      key: apiKey,
    };
    const fetch = retryingFetch(subject, retryPolicy, signal);
    try {
      return await ask({ params, model, apiKey, baseUrl, subject, fetch });
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ModelFailure ? error : toModelFailure(subject, error);
    }
  }
}

const MAX_REMEMBERED = 100;

async function load(kind: ProviderSetup["kind"]): Promise<AskModel> {
  switch (kind) {
    case "anthropic":
      return (await import("./anthropic.ts")).askAnthropic;
    case "ollama":
      return (await import("./ollama.ts")).askOllama;
    case "openai":
    case "openai-compatible":
      return (await import("./openai.ts")).askOpenAI;
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof ModelFailure && error.status === 404;
}

/**
 * Converts an error of a provider's library. Such errors contain whole requests and responses,
 * which must not leak.
 */
function toModelFailure(subject: Subject, error: unknown): ModelFailure {
  const { name, functionality } = error as { name?: unknown; functionality?: unknown };
  return name === "AI_UnsupportedFunctionalityError" && typeof functionality === "string"
    ? unsupportedContent(subject, functionality)
    : badAnswer(subject, "is not in the format of this API");
}

/** Removes the credentials that an address may contain. */
function withoutSecrets(address: string): string {
  const url = new URL(address);
  url.username = url.password = url.search = "";
  return url.href.replace(/\/$/, "");
}
