/** Asks the model for text, for structured data, or for a tool call. */
import type { Operation } from "effection";
import { type McpMessage, text } from "../model/content.ts";
import { SampleValidationError } from "../model/errors.ts";
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
} from "../tool/sample-types.ts";
import { type Asker, checkLimit } from "./ask.ts";
import { type Attempt, attempt, type Conversation, prepare, type Prepared } from "./attempt.ts";
import { toolResults, toolUses } from "./messages.ts";
import {
  base,
  callsResult,
  checkedCalls,
  dataOf,
  exchange,
  parsedResult,
  rawCall,
  unparsedResult,
} from "./sample-results.ts";
import { offeredTools, schemaTool } from "./schema-tool.ts";

export type { Conversation } from "./attempt.ts";

const DEFAULT_RETRIES = 2;

/** Asks once and returns the answer, whether or not it is valid. */
export function* sample(
  asker: Asker,
  conversation: Conversation,
  config: McpToolSampleConfig,
): Operation<SampleResult | SampleResultWithParsed<unknown> | SampleResultWithToolCalls> {
  refuseBoth(config);
  if (config?.schema !== undefined) {
    const schema = schemaTool(asker, config.schema);
    const prepared = prepare(conversation, config, [schema], "required");
    const made = yield* attempt(asker, conversation, prepared);
    const data = dataOf(made, schema);
    return "value" in data
      ? keep(conversation, prepared, parsedResult(prepared, made, data))
      : keep(
        conversation,
        prepared,
        unparsedResult(prepared, made, withReason(made, data.problem)),
      );
  }
  if (config?.tools !== undefined) {
    const prepared = prepare(
      conversation,
      config,
      offeredTools(asker, config.tools),
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

/** Asks until the answer fits the schema, or the retries run out. */
export function* sampleSchema(
  asker: Asker,
  conversation: Conversation,
  config: SampleSchemaConfig,
): Operation<SampleSchemaResult<unknown>> {
  refuseBoth(config);
  const schema = schemaTool(asker, config?.schema);
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

/** Asks until the model calls a tool with valid arguments, or the retries run out. */
export function* sampleTools(
  asker: Asker,
  conversation: Conversation,
  config: SampleToolsConfig,
): Operation<SampleToolsResult> {
  refuseBoth(config);
  const tools = offeredTools(asker, config?.tools);
  const { toolChoice = "required" } = config;
  if (toolChoice === "none") {
    throw new TypeError(
      'Cannot sample with tools: toolChoice is "none"; leave it out, or use ctx.sample',
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

/** Repeats a check of the type checker, for tools that are written in JavaScript. */
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
    const problem = withReason(made, checked.problem);
    if (tries > retries) throw new SampleValidationError(method, tries, problem, base(made));
    messages = corrected(messages, made.response, problem);
  }
}

/** Adds the reason why an answer is invalid, if the stop reason of the model shows it. */
function withReason({ answer: { stopReason } }: Attempt, problem: string): string {
  if (stopReason === "maxTokens") return `it was cut off at the token limit, and ${problem}`;
  return stopReason === "refusal" ? `the model refused, and ${problem}` : problem;
}

/** Returns the conversation with the invalid answer and a request to correct it. */
function corrected(
  messages: readonly McpMessage[],
  response: McpMessage,
  problem: string,
): McpMessage[] {
  const correction = `This answer cannot be used: ${problem}. Correct this and answer again.`;
  const reply: McpMessage = toolUses(response).length > 0
    ? toolResults(response, () => correction, true)
    : { role: "user", content: [text(correction)] };
  return [...messages, response, reply];
}

/** Adds the exchange to the branch's conversation, if the sampling request had a prompt. */
function keep<R extends { exchange: { messages: McpMessage[] } }>(
  conversation: Conversation,
  { continues }: Prepared,
  result: R,
): R {
  if (continues) conversation.messages.push(...continues, ...result.exchange.messages);
  return result;
}
