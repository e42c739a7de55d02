/**
 * Converts sampling requests for clients that do not support tools: tools, calls and results become
 * text.
 */
import { type McpMessage, type MessageContent, text } from "../model/content.ts";
import type { SamplingToolChoice } from "../tool/sample-types.ts";
import { type OfferedTool, SCHEMA_TOOL } from "./schema-tool.ts";

/** Returns an instruction that asks the model for a call of one of the tools, or for data. */
export function toolTexts(tools: readonly OfferedTool[], mode: SamplingToolChoice): string {
  const [only] = tools;
  if (!only || mode === "none") return "";
  if (only.name === SCHEMA_TOOL) {
    return `Answer with nothing but one JSON value that fits this JSON Schema:\n${
      JSON.stringify(only.schema.json)
    }`;
  }
  const list = tools.map(({ name, description, schema }) =>
    `- ${name}${description ? `: ${description}` : ""}\n  arguments: ${JSON.stringify(schema.json)}`
  );
  const form = '{"tool": "<name>", "arguments": {…}}';
  const must = mode === "required"
    ? `Call exactly one of these tools. Answer with nothing but JSON of the form ${form}.`
    : `You may call one of these tools. To call one, answer with nothing but JSON of the form ${form}.`;
  return `${must}\n\n${list.join("\n")}`;
}

/** Returns true if a message contains tool calls or results. */
export function usesTools({ content }: McpMessage): boolean {
  return content.some((block) => block.type === "tool_use" || block.type === "tool_result");
}

/**
 * Returns the messages for a client that does not support tools. Calls and results become text. The
 * instruction comes at the end, because a client may drop the system prompt.
 */
export function asText(messages: readonly McpMessage[], instruction: string): McpMessage[] {
  const said = messages.map(({ role, content }): McpMessage => ({
    role,
    content: content.flatMap(blockInWords),
  }));
  if (instruction === "") return said;
  const last = said.at(-1);
  return last?.role === "user"
    ? [...said.slice(0, -1), { role: "user", content: [...last.content, text(instruction)] }]
    : [...said, { role: "user", content: [text(instruction)] }];
}

function blockInWords(block: MessageContent): MessageContent[] {
  if (block.type === "tool_use") {
    // The instruction asks for data as plain JSON, so show earlier data as plain JSON too.
    const { name, input } = block;
    return [text(JSON.stringify(name === SCHEMA_TOOL ? input : { tool: name, arguments: input }))];
  }
  if (block.type !== "tool_result") return [block];
  if (block.content.length === 0) return [text(JSON.stringify(block.structuredContent ?? "ok"))];
  return block.content.map((part): MessageContent => {
    switch (part.type) {
      case "resource_link":
        return text(part.uri);
      case "resource":
        return text("text" in part.resource ? part.resource.text : part.resource.uri);
      default:
        return part;
    }
  });
}
