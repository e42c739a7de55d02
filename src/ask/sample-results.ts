/** Builds the results that a tool gets for a sampling request. */
import { isObject } from "../lib/json.ts";
import type { JsonObject, McpMessage, ToolUseContent } from "../model/content.ts";
import { describeIssues } from "../schema/issues.ts";
import type {
  SampleResultBase,
  SampleResultWithParsed,
  SampleResultWithToolCalls,
  SampleSchemaResult,
  SamplingToolCall,
} from "../tool/sample-types.ts";
import type { Attempt, Prepared } from "./attempt.ts";
import { toolResults, toolUses } from "./messages.ts";
import { type FoundCall, type OfferedTool, SCHEMA_TOOL } from "./schema-tool.ts";

export function base({ said, answer, via }: Attempt): SampleResultBase {
  return {
    text: said,
    model: answer.model,
    via,
    ...(answer.stopReason !== undefined && { stopReason: answer.stopReason }),
  };
}

export function exchange({ request }: Prepared, response: McpMessage, ...rest: McpMessage[]) {
  return { request, response, messages: [request, response, ...rest] };
}

/** Validated data, and the tool call that contained it. */
type Data = { readonly value: unknown; readonly call: FoundCall };

/** Returns the data of an answer, or the problem of the answer. */
export function dataOf(made: Attempt, tool: OfferedTool): Data | { readonly problem: string } {
  const call = made.calls.find(({ name }) => name === SCHEMA_TOOL);
  if (!call) {
    const [other] = made.calls;
    return { problem: other ? `it calls "${other.name}" and has no data` : "it contains no JSON" };
  }
  const parsed = tool.schema.parse(call.input);
  return parsed.ok ? { value: parsed.value, call } : { problem: describeIssues(parsed.issues) };
}

/**
 * Builds the result of a sampling request whose data is valid. The tool call contains the data, so
 * the tool result in the exchange only confirms it.
 */
export function parsedResult(
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

export function unparsedResult(
  prepared: Prepared,
  made: Attempt,
  message: string,
): SampleResultWithParsed<unknown> {
  const { response, said, calls } = made;
  const [call] = calls;
  const closing = toolUses(response).length > 0
    ? [toolResults(response, () => `This answer cannot be used: ${message}`, true)]
    : [];
  return {
    ...base(made),
    parsed: null,
    parseError: { message, rawText: call && !said ? JSON.stringify(call.input) : said },
    exchange: exchange(prepared, response, ...closing),
  };
}

export function callsResult(
  prepared: Prepared,
  made: Attempt,
  toolCalls: SamplingToolCall[],
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

/** Converts a call without validating its arguments. */
export function rawCall({ id, name, input }: FoundCall): SamplingToolCall {
  return { id, name, arguments: isObject(input) ? input : { value: input } };
}

/** Returns the calls with validated arguments, or the problem of an invalid call. */
export function checkedCalls(
  { calls }: Attempt,
  tools: readonly OfferedTool[],
): { readonly calls: SamplingToolCall[] } | { readonly problem: string } {
  if (calls.length === 0) return { problem: "it calls no tool" };
  const checked: SamplingToolCall[] = [];
  for (const { id, name, input } of calls) {
    const tool = tools.find((offered) => offered.name === name);
    if (!tool) {
      const known = tools.map((offered) => offered.name).join(", ");
      return { problem: `it calls "${name}", but the only tools are ${known}` };
    }
    const parsed = tool.schema.parse(input);
    if (!parsed.ok) {
      return { problem: `the arguments of "${name}" do not fit: ${describeIssues(parsed.issues)}` };
    }
    checked.push({ id, name, arguments: parsed.value as JsonObject });
  }
  return { calls: checked };
}
