/** OpenAI models, and any other service with the Chat Completions API. */
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
    // The library requires a key. `withoutKey` removes this one from the request.
    apiKey: apiKey ?? "none",
    fetch: apiKey === undefined ? withoutKey(fetch) : fetch,
  });
  const schema = schemaAskedFor(params);
  const own = schema ? dataOptions(schema) : toolOptions(params);
  return await askLanguageModel(chat(model), params, { picturesInResults: false }, own);
};

/** Returns the options for structured data. Uses `strict` only if the schema allows it. */
function dataOptions(schema: JsonObject): Partial<CallOptions> {
  const strict = strictSchema(schema);
  return {
    responseFormat: { type: "json", name: "answer", schema: strict ?? schema },
    providerOptions: { openai: { strictJsonSchema: strict !== undefined } },
  };
}

/** Removes the authorization header for services without a key. */
function withoutKey(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  const send = (input: RequestInfo | URL, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.delete("authorization");
    return fetch(input, { ...init, headers });
  };
  return send as typeof globalThis.fetch;
}
