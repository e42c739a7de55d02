/** Runs a body that samples, and returns its requests to the model and its result. */
import type { Operation } from "effection";
import {
  type ClientInfo,
  createMcpTool,
  type McpMessage,
  type McpToolContext,
  type McpToolLimits,
  type MessageContent,
  type SampleParams,
  type SampleResponse,
  type SamplingProvider,
  type ScriptedSample,
  testTool,
  type ToolScript,
  type ToolTestRun,
} from "../../src/mod.ts";
import { assertModelIds } from "../support/model-ids.ts";

export interface Sampled<T> {
  /** What the body returned. Reading it fails the test if it threw. */
  readonly value: T;
  readonly error: unknown;
  /** The requests to the client, in order. */
  readonly asked: readonly SampleParams[];
  readonly run: ToolTestRun;
}

export async function sampling<T>(
  body: (ctx: McpToolContext) => Operation<T>,
  script: Omit<ToolScript<Record<never, never>>, "elicit">,
  limits: McpToolLimits = {},
): Promise<Sampled<T>> {
  let outcome: { value: T } | { error: unknown } | undefined;
  const tool = createMcpTool("sampling").description("Asks the model.").limits(limits)
    .execute(function* (_params, ctx) {
      try {
        outcome = { value: yield* body(ctx) };
      } catch (error) {
        outcome = { error };
      }
    });
  const run = await testTool(tool, {}, script);
  const asked = run.events.flatMap((event) =>
    event.type === "sample_request" ? [event.params] : []
  );
  for (const { messages } of asked) assertModelIds(messages);
  return {
    get value() {
      if (outcome && "value" in outcome) return outcome.value;
      throw outcome?.error ?? new Error("The tool did not come to its end");
    },
    error: outcome && "error" in outcome ? outcome.error : undefined,
    asked,
    run,
  };
}

export const user = (text: string): McpMessage => ({
  role: "user",
  content: [{ type: "text", text }],
});

export const model = (text: string): McpMessage => ({
  role: "assistant",
  content: [{ type: "text", text }],
});

/** A call of a tool, as the model makes it. */
export const use = (name: string, input: unknown, id = "u1"): MessageContent => ({
  type: "tool_use",
  id,
  name,
  input: input as Record<string, unknown>,
});

/** The answer of a model that calls tools. */
export function calls(...content: MessageContent[]): SampleResponse {
  return { role: "assistant", content, model: "m-1", stopReason: "toolUse" };
}

/** The answer of a model that returns data. */
export const data = (input: unknown, id?: string): SampleResponse =>
  calls(use("__schema__", input, id));

/** The results of calls, as a message. */
export const results = (text: string, isError: boolean, ...ids: string[]): McpMessage => ({
  role: "user",
  content: ids.map((toolUseId) => ({
    type: "tool_result",
    toolUseId,
    content: [{ type: "text", text }],
    ...(isError && { isError }),
  })),
});

/** The text of a message, calls and results included. */
export function wordsOf({ content }: McpMessage): string {
  return content.map((block) => {
    if (block.type === "text") return block.text;
    if (block.type === "tool_use") return `${block.name}(${JSON.stringify(block.input)})`;
    if (block.type !== "tool_result") return `[${block.type}]`;
    return block.content.map((part) => part.type === "text" ? part.text : `[${part.type}]`).join(
      "",
    );
  }).join("\n");
}

/** Clients, by what they can do. */
export const WITH_TOOLS: ClientInfo = { name: "Acme", capabilities: { sampling: { tools: {} } } };
export const WITHOUT_TOOLS: ClientInfo = { name: "Acme", capabilities: { sampling: {} } };
export const WITHOUT_SAMPLING: ClientInfo = { name: "Acme", capabilities: {} };
export const modern = (client: ClientInfo): ClientInfo => ({
  ...client,
  protocolVersion: "2026-07-28",
});

/** A provider with scripted answers that records its requests. */
export function scriptedProvider(...answers: (ScriptedSample | Error)[]): SamplingProvider & {
  readonly asked: SampleParams[];
} {
  const asked: SampleParams[] = [];
  return {
    name: "fake:model",
    asked,
    sample(params) {
      const answer = answers[Math.min(asked.length, answers.length - 1)];
      asked.push(params);
      assertModelIds(params.messages);
      if (answer instanceof Error) return Promise.reject(answer);
      return Promise.resolve(
        (typeof answer === "string"
          ? { role: "assistant", content: answer, model: "p-1" }
          : answer) as SampleResponse,
      );
    },
  };
}
