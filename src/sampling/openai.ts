/** OpenAI, and everything else that speaks Chat Completions. */
import { createOpenAI } from "@ai-sdk/openai";
import type { JsonObject } from "../model/content.ts";
import {
  askLanguageModel,
  type CallOptions,
  schemaAskedFor,
  toolOptions,
} from "./language-model.ts";
import type { AskModel } from "./model-provider.ts";
import { strictSchema } from "./strict-schema.ts";

export const askOpenAI: AskModel = async ({ params, model, apiKey, baseUrl, fetch }) => {
  const { chat } = createOpenAI({
    baseURL: baseUrl,
    // The library insists on one.
    apiKey: apiKey ?? "none",
    fetch: apiKey === undefined ? withoutKey(fetch) : fetch,
  });
  const schema = schemaAskedFor(params);
  const own = schema ? dataOptions(schema) : toolOptions(params);
  return await askLanguageModel(chat(model), params, { picturesInResults: false }, own);
};

/** Data is asked for natively; `strict` only where the schema is one that it allows. */
function dataOptions(schema: JsonObject): Partial<CallOptions> {
  const strict = strictSchema(schema);
  return {
    responseFormat: { type: "json", name: "answer", schema: strict ?? schema },
    providerOptions: { openai: { strictJsonSchema: strict !== undefined } },
  };
}

/** A server that asks for no key is not told one. */
function withoutKey(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  const send = (input: RequestInfo | URL, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.delete("authorization");
    return fetch(input, { ...init, headers });
  };
  return send as typeof globalThis.fetch;
}
