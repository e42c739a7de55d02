/**
 * The names under which sampling was first described, and its shapes: code that was
 * written against them, with plain mutable types, is type-checked here.
 */
import type { Operation } from "effection";
import type {
  McpToolContext,
  SampleSchemaConfig,
  SampleSchemaConfigMessages,
  SampleSchemaResult,
  SampleToolsConfig,
  SampleToolsConfigMessages,
  SampleToolsResult,
  SamplingToolCall,
  SamplingToolDefinition,
  ToolCall,
  ToolDefinition,
} from "parley-mcp";
import { z } from "zod";

interface PlainDefinition {
  name: string;
  description?: string;
  inputSchema: z.ZodType | Record<string, unknown>;
}

interface PlainCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

interface PlainToolsConfig {
  messages: { role: "user" | "assistant"; content: string }[];
  tools: PlainDefinition[];
  toolChoice?: "auto" | "required" | "none";
  retries?: number;
  systemPrompt?: string;
  maxTokens?: number;
}

interface PlainSchemaConfig<T> {
  messages: { role: "user" | "assistant"; content: string }[];
  schema: z.ZodType<T>;
  retries?: number;
  systemPrompt?: string;
  maxTokens?: number;
}

type Assignable<From, To> = [From] extends [To] ? true : false;
type Equal<A, B> = (<X>() => X extends A ? 1 : 2) extends (<X>() => X extends B ? 1 : 2) ? true
  : false;
const holds = <_T extends true>() => {};

holds<Equal<ToolDefinition, SamplingToolDefinition>>();
holds<Equal<ToolCall, SamplingToolCall>>();
holds<Assignable<PlainDefinition, ToolDefinition>>();
holds<Assignable<PlainCall, ToolCall>>();
holds<Assignable<ToolCall, PlainCall>>();
holds<Assignable<PlainToolsConfig, SampleToolsConfigMessages>>();
holds<Assignable<PlainSchemaConfig<{ cell: number }>, SampleSchemaConfigMessages>>();
holds<Assignable<SampleToolsConfigMessages, SampleToolsConfig>>();
holds<Assignable<SampleSchemaConfigMessages, SampleSchemaConfig>>();
holds<Assignable<SampleToolsResult["toolCalls"], [PlainCall, ...PlainCall[]]>>();
holds<Assignable<SampleSchemaResult<{ cell: number }>["parsed"], { cell: number }>>();

// A config with messages has no prompt.
// @ts-expect-error messages are missing
const promptForTools: SampleToolsConfigMessages = { prompt: "?", tools: [] };
// @ts-expect-error messages are missing
const promptForData: SampleSchemaConfigMessages = { prompt: "?", schema: z.string() };
void [promptForTools, promptForData];

export function* play(
  ctx: McpToolContext,
  tools: PlainToolsConfig,
  schema: PlainSchemaConfig<{ cell: number }>,
): Operation<PlainCall[]> {
  const strategy = yield* ctx.sampleTools(tools);
  const guaranteed: [PlainCall, ...PlainCall[]] = strategy.toolCalls;
  const move = yield* ctx.sampleSchema(schema);
  const cell: number = move.parsed.cell;
  const typed = yield* ctx.sampleTools({
    messages: [{ role: "user", content: "?" }],
    tools: [{ name: "pick", inputSchema: z.object({ cell: z.number() }) }],
  });
  const calls: PlainCall[] = typed.toolCalls;
  const { toolCalls } = yield* ctx.sample({ prompt: "?", tools: [] });
  const loose: PlainCall[] = toolCalls;
  return [...guaranteed, ...calls, ...loose].slice(cell);
}
