/** Asking the model: for text, for data, or for a decision among tools. */
import type { Operation } from "effection";
import type { JsonObject, McpMessage, ToolUseContent } from "../content.ts";
import { SampleValidationError } from "../errors.ts";
import { describeIssues } from "../schema/issues.ts";
import { SchemaProblem } from "../schema/problem.ts";
import { schemaOf } from "../schema/schema.ts";
import type { Schema, SchemaInput } from "../schema/types.ts";
import type { Asker } from "./ask.ts";
import { type Attempt, attempt, type Conversation, prepare, type Prepared } from "./attempt.ts";
import { checkLimit } from "./limit.ts";
import { toolResults, toolUses } from "./messages.ts";
import { type FoundCall, type OfferedTool, SCHEMA_TOOL } from "./schema-tool.ts";
import { text } from "../content.ts";
import type {
  McpToolSampleConfig,
  SampleResult,
  SampleResultBase,
  SampleResultWithParsed,
  SampleResultWithToolCalls,
  SampleSchemaConfig,
  SampleSchemaResult,
  SampleToolsConfig,
  SampleToolsResult,
  SamplingToolCall,
} from "./sample-types.ts";

export type { Conversation } from "./attempt.ts";

const DEFAULT_RETRIES = 2;

/** One question, one answer, whatever it is worth. */
export function* sample(
  asker: Asker,
  conversation: Conversation,
  config: McpToolSampleConfig,
): Operation<SampleResult | SampleResultWithParsed<unknown> | SampleResultWithToolCalls> {
  refuseBoth(config);
  if (config?.schema) {
    const schema = schemaTool(config.schema);
    const prepared = prepare(conversation, config, [schema], "required");
    const made = yield* attempt(asker, conversation, prepared);
    const data = dataOf(made, schema);
    return "value" in data
      ? keep(conversation, prepared, parsedResult(prepared, made, data))
      : keep(conversation, prepared, unparsedResult(prepared, made, excused(made, data.problem)));
  }
  if (config?.tools) {
    const prepared = prepare(
      conversation,
      config,
      offered(config.tools),
      config.toolChoice ?? "auto",
    );
    const made = yield* attempt(asker, conversation, prepared);
    return keep(conversation, prepared, callsResult(prepared, made, made.calls.map(rawCall)));
  }
  const prepared = prepare(conversation, config, [], "none");
  const made = yield* attempt(asker, conversation, prepared);
  return keep(conversation, prepared, {
    ...base(made),
    exchange: exchange(prepared, made.response),
  });
}

/** Asks until the answer fits the schema, or tries run out. */
export function* sampleSchema(
  asker: Asker,
  conversation: Conversation,
  config: SampleSchemaConfig,
): Operation<SampleSchemaResult<unknown>> {
  refuseBoth(config);
  const schema = schemaTool(config?.schema);
  const prepared = prepare(conversation, config, [schema], "required");
  return yield* guaranteed(
    "sampleSchema",
    asker,
    conversation,
    prepared,
    config.retries,
    (made) => {
      const data = dataOf(made, schema);
      return "value" in data ? { ok: parsedResult(prepared, made, data) } : data;
    },
  );
}

/** Asks until the model calls a tool with arguments that fit, or tries run out. */
export function* sampleTools(
  asker: Asker,
  conversation: Conversation,
  config: SampleToolsConfig,
): Operation<SampleToolsResult> {
  refuseBoth(config);
  const tools = offered(config?.tools);
  const { toolChoice = "required" } = config;
  if (toolChoice === "none") {
    throw new TypeError(
      'Cannot sample for calls of tools: toolChoice is "none"; leave it out, or use ctx.sample',
    );
  }
  const prepared = prepare(conversation, config, tools, toolChoice);
  return yield* guaranteed("sampleTools", asker, conversation, prepared, config.retries, (made) => {
    const calls = checkedCalls(made, tools);
    if ("problem" in calls) return calls;
    const result = callsResult(prepared, made, calls.calls);
    return { ok: { ...result, stopReason: "toolUse" } as unknown as SampleToolsResult };
  });
}

/** Types say the same at compile time; this is for callers without types. */
function refuseBoth(config: { readonly schema?: unknown; readonly tools?: unknown }): void {
  if (config?.schema === undefined || config.tools === undefined) return;
  throw new Error(
    "Cannot specify both schema and tools in sample config - they are mutually exclusive",
  );
}

function* guaranteed<R extends SampleResultBase & { exchange: { messages: McpMessage[] } }>(
  method: "sampleSchema" | "sampleTools",
  asker: Asker,
  conversation: Conversation,
  prepared: Prepared,
  retries: number = DEFAULT_RETRIES,
  check: (made: Attempt) => { ok: R } | { problem: string },
): Operation<R> {
  checkLimit("retries", retries);
  let { messages } = prepared;
  for (let tries = 1;; tries++) {
    const made = yield* attempt(asker, conversation, { ...prepared, messages });
    const checked = check(made);
    if ("ok" in checked) return keep(conversation, prepared, checked.ok);
    const problem = excused(made, checked.problem);
    if (tries > retries) throw new SampleValidationError(method, tries, problem, base(made));
    messages = corrected(messages, made.response, problem);
  }
}

/** Why an answer does not fit, if whoever gave it said so. */
function excused({ answer: { stopReason } }: Attempt, problem: string): string {
  if (stopReason === "maxTokens") return `it was cut off, because it grew too long, and ${problem}`;
  return stopReason === "refusal" ? `the model refused to give it, and ${problem}` : problem;
}

/** The conversation with the answer that did not fit, and what was wrong with it. */
function corrected(
  messages: readonly McpMessage[],
  response: McpMessage,
  problem: string,
): McpMessage[] {
  const reproach = `This answer cannot be used: ${problem}. Answer again, and mend that.`;
  const reply: McpMessage = toolUses(response).length > 0
    ? toolResults(response, () => reproach, true)
    : { role: "user", content: [text(reproach)] };
  return [...messages, response, reply];
}

// -------------------------------------------------------------------- results

function base({ said, answer }: Attempt): SampleResultBase {
  return {
    text: said,
    model: answer.model,
    ...(answer.stopReason !== undefined && { stopReason: answer.stopReason }),
  };
}

function exchange({ request }: Prepared, response: McpMessage, ...rest: McpMessage[]) {
  return { request, response, messages: [request, response, ...rest] };
}

/** A prompt becomes part of the branch's conversation, with what came back. */
function keep<R extends { exchange: { messages: McpMessage[] } }>(
  conversation: Conversation,
  { continues }: Prepared,
  result: R,
): R {
  if (continues) conversation.messages.push(...continues, ...result.exchange.messages);
  return result;
}

type Data = { readonly value: unknown; readonly call: FoundCall };

function dataOf(made: Attempt, tool: OfferedTool): Data | { readonly problem: string } {
  const call = made.calls.find(({ name }) => name === SCHEMA_TOOL);
  if (!call) {
    const [other] = made.calls;
    return { problem: other ? `it calls "${other.name}" and holds no data` : "it holds no JSON" };
  }
  const parsed = tool.schema.parse(call.input);
  return parsed.ok ? { value: parsed.value, call } : { problem: describeIssues(parsed.issues) };
}

/** The data stands once, in the call; the result only says that it arrived. */
function parsedResult(
  prepared: Prepared,
  made: Attempt,
  { value, call }: Data,
): SampleSchemaResult<unknown> {
  const use = assistantCalls([{ ...call, name: SCHEMA_TOOL }]);
  return {
    ...base(made),
    parsed: value,
    exchange: { ...exchange(prepared, use, toolResults(use, () => "ok")), parsed: value },
  };
}

function unparsedResult(
  prepared: Prepared,
  made: Attempt,
  message: string,
): SampleResultWithParsed<unknown> {
  const { response, said, calls } = made;
  const [call] = calls;
  const closing = toolUses(response).length > 0
    ? [toolResults(response, () => `This cannot be used: ${message}`, true)]
    : [];
  return {
    ...base(made),
    parsed: null,
    parseError: { message, rawText: call && !said ? JSON.stringify(call.input) : said },
    exchange: exchange(prepared, response, ...closing),
  };
}

function callsResult(
  prepared: Prepared,
  made: Attempt,
  toolCalls: readonly SamplingToolCall[],
): SampleResultWithToolCalls {
  const response = made.calls.length > 0 && toolUses(made.response).length === 0
    ? assistantCalls(made.calls)
    : made.response;
  return { ...base(made), toolCalls, exchange: exchange(prepared, response) };
}

function assistantCalls(calls: readonly FoundCall[]): McpMessage {
  return {
    role: "assistant",
    content: calls.map(({ id, name, input }): ToolUseContent => ({
      type: "tool_use",
      id,
      name,
      input: isObject(input) ? input : { value: input },
    })),
  };
}

function rawCall({ id, name, input }: FoundCall): SamplingToolCall {
  return { id, name, arguments: isObject(input) ? input : { value: input } };
}

function checkedCalls(
  { calls }: Attempt,
  tools: readonly OfferedTool[],
): { readonly calls: SamplingToolCall[] } | { readonly problem: string } {
  if (calls.length === 0) return { problem: "it calls no tool" };
  const checked: SamplingToolCall[] = [];
  for (const { id, name, input } of calls) {
    const tool = tools.find((offered) => offered.name === name);
    if (!tool) {
      const known = tools.map((offered) => offered.name).join(", ");
      return { problem: `it calls "${name}", but there are only ${known}` };
    }
    const parsed = tool.schema.parse(input);
    if (!parsed.ok) {
      return { problem: `the arguments of "${name}" do not fit: ${describeIssues(parsed.issues)}` };
    }
    checked.push({ id, name, arguments: parsed.value as JsonObject });
  }
  return { calls: checked };
}

// ---------------------------------------------------------------------- tools

function schemaTool(input: SchemaInput): OfferedTool {
  return {
    name: SCHEMA_TOOL,
    description: "Answer by calling this tool with the data that was asked for.",
    schema: usable("the schema of a sample", input),
  };
}

/** The schema, or an error that says whose it is. */
function usable(whose: string, input: SchemaInput): Schema<unknown> {
  try {
    return schemaOf(input);
  } catch (error) {
    if (!(error instanceof SchemaProblem)) throw error;
    const field = error.field === "" ? "it" : `"${error.field}"`;
    throw new TypeError(`Cannot use ${whose}: ${field} ${error.problem}; ${error.wayOut}`);
  }
}

function offered(tools: SampleToolsConfig["tools"]): OfferedTool[] {
  if (!Array.isArray(tools) || tools.length === 0) {
    throw new TypeError("Cannot sample with tools: there are none; pass at least one");
  }
  const names = new Set<string>();
  return tools.map(({ name, description, inputSchema }) => {
    if (typeof name !== "string" || name === "") {
      throw new TypeError("Cannot offer a tool without a name; give it one");
    }
    if (name === SCHEMA_TOOL) {
      throw new TypeError(
        `Cannot offer a tool named "${SCHEMA_TOOL}": the name is reserved; give it another`,
      );
    }
    if (names.has(name)) {
      throw new TypeError(`Cannot offer two tools named "${name}"; give one another name`);
    }
    names.add(name);
    return {
      name,
      ...(description !== undefined && { description }),
      schema: usable(`the inputSchema of tool "${name}"`, inputSchema),
    };
  });
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
