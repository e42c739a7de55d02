/** A configured model as a `SamplingProvider`. Its library is loaded when it is first asked. */
import type { SampleParams, SampleResponse } from "../model/events.ts";
import type { ProviderSetup } from "./config.ts";
import { badAnswer, ModelFailure, unsayable } from "./failure.ts";
import { chooseModels } from "./choose-model.ts";
import { retryingFetch, type Subject } from "./retrying-fetch.ts";
import type { SamplingProvider } from "./provider.ts";

/** One request, ready for the library that knows its wire format. */
export interface ModelRequest {
  readonly params: SampleParams;
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly baseUrl: string;
  readonly subject: Subject;
  readonly fetch: typeof fetch;
}

/** What a module for a wire format exports. */
export type AskModel = (request: ModelRequest) => Promise<SampleResponse>;

export class ModelProvider implements SamplingProvider {
  readonly #setup: ProviderSetup;
  /** Hinted models that turned out not to exist here. */
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
      // A hint is a wish: what is not to be had must not fail the sample.
      if (second === undefined || !isNotThere(error)) throw error;
      if (this.#unknown.size < MOST_REMEMBERED) this.#unknown.add(first);
      return await this.#ask(ask, second, params, signal);
    }
  }

  async #ask(
    ask: AskModel,
    model: string,
    params: SampleParams,
    signal: AbortSignal,
  ): Promise<SampleResponse> {
    const { kind, apiKey, baseUrl, keyVariable, patience } = this.#setup;
    const subject: Subject = {
      name: `${kind}:${model}`,
      model,
      url: withoutSecrets(baseUrl),
      keyVariable,
      key: apiKey,
    };
    const fetch = retryingFetch(subject, patience, signal);
    try {
      return await ask({ params, model, apiKey, baseUrl, subject, fetch });
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ModelFailure ? error : translated(subject, error);
    }
  }
}

const MOST_REMEMBERED = 100;

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

function isNotThere(error: unknown): boolean {
  return error instanceof ModelFailure && error.status === 404;
}

/** Libraries throw errors that hold whole requests and answers; none of that may get out. */
function translated(subject: Subject, error: unknown): ModelFailure {
  const { name, functionality } = error as { name?: unknown; functionality?: unknown };
  return name === "AI_UnsupportedFunctionalityError" && typeof functionality === "string"
    ? unsayable(subject, functionality)
    : badAnswer(subject, "is not what such a model answers");
}

/** An address may carry a password. */
function withoutSecrets(address: string): string {
  const url = new URL(address);
  url.username = url.password = url.search = "";
  return url.href.replace(/\/$/, "");
}
