/** Anthropic models. Structured data is requested as a forced tool call. */
import { createAnthropic } from "@ai-sdk/anthropic";
import type { SampleParams } from "../model/events.ts";
import {
  askLanguageModel,
  type CallOptions,
  schemaAskedFor,
  toolOptions,
} from "./language-model.ts";
import { SCHEMA_TOOL } from "./provider.ts";
import type { AskModel } from "./model-provider.ts";

export const askAnthropic: AskModel = async ({ params, model, apiKey, baseUrl, fetch }) => {
  const { messages } = createAnthropic({ baseURL: baseUrl, apiKey: apiKey!, fetch });
  const own = schemaAskedFor(params) ? dataOptions(params) : callOptions(params);
  return await askLanguageModel(messages(model), params, { picturesInResults: true }, own);
};

/**
 * Forces the model to call the schema tool exactly once. For models that do not support this, the
 * library adds an instruction to the prompt.
 */
function dataOptions(params: SampleParams): Partial<CallOptions> {
  return {
    ...toolOptions(params),
    toolChoice: { type: "tool", toolName: SCHEMA_TOOL },
    providerOptions: { anthropic: { disableParallelToolUse: true } },
  };
}

function callOptions(params: SampleParams): Partial<CallOptions> {
  const { tools = [], messages } = params;
  if (tools.length > 0) return toolOptions(params);
  // Anthropic rejects a conversation that contains tool calls if the request does not declare those
  // tools.
  const called = new Set(
    messages.flatMap(({ content }) =>
      content.flatMap((block) => block.type === "tool_use" ? [block.name] : [])
    ),
  );
  if (called.size === 0) return {};
  return toolOptions({
    ...params,
    tools: [...called].map((name) => ({ name, inputSchema: { type: "object" } })),
    toolChoice: { mode: "none" },
  });
}
