/** Samples that are sent to every provider, and the response formats of the providers. */
import type { McpMessage, SampleParams, SampleResponse } from "../../src/mod.ts";

export const user = (text: string): McpMessage => ({
  role: "user",
  content: [{ type: "text", text }],
});

export const CELL = {
  type: "object",
  properties: { cell: { type: "integer", minimum: 0, maximum: 8 } },
  required: ["cell"],
};

export const plain: SampleParams = { messages: [user("Hello?")], maxTokens: 100 };

/** The request of `ctx.sampleSchema` to a provider. */
export const data: SampleParams = {
  messages: [user("Pick a cell.")],
  maxTokens: 100,
  tools: [{
    name: "__schema__",
    description: "Answer by calling this tool.",
    inputSchema: { $schema: "https://json-schema.org/draft/2020-12/schema", ...CELL },
  }],
  toolChoice: { mode: "required" },
};

export const tools: SampleParams = {
  messages: [user("Choose.")],
  maxTokens: 100,
  tools: [
    { name: "attack", description: "Attacks.", inputSchema: CELL },
    { name: "defend", inputSchema: { type: "object", properties: {} } },
  ],
  toolChoice: { mode: "required" },
};

/** Everything that a conversation may contain, except audio. */
export const conversation: McpMessage[] = [
  {
    role: "user",
    content: [
      { type: "text", text: "Look:" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "text", text: "Hm." },
      { type: "tool_use", id: "a1", name: "attack", input: { cell: 4 } },
      { type: "tool_use", id: "d1", name: "defend", input: {} },
    ],
  },
  {
    role: "user",
    content: [
      { type: "tool_result", toolUseId: "a1", content: [{ type: "text", text: "done" }] },
      {
        type: "tool_result",
        toolUseId: "d1",
        content: [{ type: "text", text: "no" }],
        isError: true,
      },
    ],
  },
  { role: "assistant", content: [] },
  user("And now?"),
];

/** The answer without generated ids. */
export function withoutIds({ content, ...rest }: SampleResponse): unknown {
  const blocks = Array.isArray(content) ? content : [content];
  return {
    ...rest,
    content: blocks.map((block) =>
      typeof block === "object" && block.type === "tool_use" ? { ...block, id: "?" } : block
    ),
  };
}

export const call = (name: string, input: object) => ({ type: "tool_use", id: "?", name, input });
export const said = (text: string) => ({ type: "text", text });

export const ask = (
  provider: { sample(params: SampleParams, signal: AbortSignal): Promise<SampleResponse> },
  params: SampleParams,
) => provider.sample(params, new AbortController().signal);

// The response formats of the three providers, from their documentation.

export function openaiAnswer(message: object, finish_reason = "stop"): object {
  return {
    id: "chatcmpl-Cx1",
    object: "chat.completion",
    created: 1763270000,
    model: "gpt-4o-2024-08-06",
    choices: [{
      index: 0,
      message: { role: "assistant", content: null, refusal: null, annotations: [], ...message },
      logprobs: null,
      finish_reason,
    }],
    usage: {
      prompt_tokens: 21,
      completion_tokens: 9,
      total_tokens: 30,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
    },
    service_tier: "default",
    system_fingerprint: "fp_a1",
  };
}

export function openaiCall(name: string, args: string, id = "call_9"): object {
  return { id, type: "function", function: { name, arguments: args } };
}

export function anthropicAnswer(content: object[], stop_reason = "end_turn"): object {
  return {
    id: "msg_01",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5-20250929",
    content,
    stop_reason,
    stop_sequence: null,
    usage: {
      input_tokens: 21,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 9,
      service_tier: "standard",
    },
  };
}

export function ollamaAnswer(message: object, done_reason = "stop"): object {
  return {
    model: "llama3.3",
    created_at: "2026-11-16T05:00:00.000000Z",
    message: { role: "assistant", content: "", ...message },
    done_reason,
    done: true,
    total_duration: 4_000_000,
    load_duration: 1_000_000,
    prompt_eval_count: 21,
    prompt_eval_duration: 1_000_000,
    eval_count: 9,
    eval_duration: 2_000_000,
  };
}
