/** Shows the person what a tool asks the model, and lets the person answer in place of the model. */
import { isCancel, select, text } from "@clack/prompts";
import { type Operation, until, useAbortSignal } from "effection";
import type { JsonObject, McpMessage } from "../../../model/content.ts";
import type { RequestFailure, SampleParams, SampleResponse } from "../../../model/events.ts";
import { SCHEMA_TOOL } from "../../../sampling/provider.ts";
import { promptStreams } from "../terminal.ts";
import { visible } from "../visible.ts";
import { askForm, show } from "./form.ts";
import { Stopped } from "../../problem.ts";

const MODEL = "you";
/** The choice to answer with text instead of calling one of the offered tools. */
const WORDS = "";

type OfferedTool = NonNullable<SampleParams["tools"]>[number];

export function* askInsteadOfModel(
  params: SampleParams,
): Operation<SampleResponse | RequestFailure> {
  const signal = yield* useAbortSignal();
  show(conversation(params), "The tool asks the model", signal);
  const { tools = [], toolChoice } = params;
  const offered = toolChoice?.mode === "none" ? [] : tools;
  const [only] = offered;
  if (only?.name === SCHEMA_TOOL) return yield* callTool(only);
  if (offered.length > 0) {
    const name = yield* until(chooseTool(offered, toolChoice?.mode === "required", signal));
    const tool = offered.find((one) => one.name === name);
    if (tool) return yield* callTool(tool);
  }
  const answer = yield* until(text({
    message: "What would the model say?",
    validate: (entered) => entered ? undefined : "Expected an answer.",
    ...promptStreams(signal),
  }));
  if (isCancel(answer)) throw new Stopped();
  return said({ type: "text", text: answer }, "endTurn");
}

async function chooseTool(
  tools: readonly OfferedTool[],
  required: boolean,
  signal: AbortSignal,
): Promise<string> {
  const options = tools.map(({ name, description }) => ({
    value: name,
    label: visible(name),
    ...(description !== undefined && { hint: visible(description) }),
  }));
  const words = { value: WORDS, label: "answer with text" };
  const answer = await select<string>({
    message: "Which tool would the model call?",
    options: required ? options : [...options, words],
    ...promptStreams(signal),
  });
  if (isCancel(answer)) throw new Stopped();
  return answer;
}

function* callTool(
  { name, inputSchema }: OfferedTool,
): Operation<SampleResponse | RequestFailure> {
  // The question is already on the screen.
  const answer = yield* askForm({ mode: "form", message: "", requestedSchema: inputSchema }, []);
  if (answer.action !== "accept") {
    return { error: { code: -1, message: "The person declined to answer for the model" } };
  }
  const input = answer.content ?? {};
  return said({ type: "tool_use", id: crypto.randomUUID(), name, input }, "toolUse");
}

function said(content: SampleResponse["content"], stopReason: string): SampleResponse {
  return { role: "assistant", content, model: MODEL, stopReason };
}

function conversation({ systemPrompt, messages }: SampleParams): string {
  return [
    ...(systemPrompt ? [`system: ${systemPrompt}`] : []),
    ...messages.map(readable),
  ].join("\n\n");
}

function readable({ role, content }: McpMessage): string {
  const isResult = content.every(({ type }) => type === "tool_result");
  const said = content.map((block) => describe(block as unknown as JsonObject)).filter(Boolean);
  return `${isResult ? "result" : role}: ${said.join(" ")}`;
}

function describe({ type, text, name, input, content }: JsonObject): string {
  switch (type) {
    case "text":
      return String(text);
    case "tool_use":
      return `[calls ${name} with ${JSON.stringify(input)}]`;
    case "tool_result":
      return Array.isArray(content) && content.every(isText)
        ? content.map(({ text }) => text).join("\n")
        : JSON.stringify(content);
    default:
      return `[${type}]`;
  }
}

function isText(block: unknown): block is { readonly text: string } {
  return (block as JsonObject | undefined)?.type === "text";
}
