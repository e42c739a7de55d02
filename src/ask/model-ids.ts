/**
 * Converts the ids of tool calls to ids that all models accept. Some providers reject a whole
 * conversation if one id is longer than 40 characters or has characters other than letters, digits,
 * `_` and `-`.
 */
import type { McpMessage, MessageContent } from "../model/content.ts";

const ACCEPTED = /^[A-Za-z0-9_-]{1,40}$/;

/**
 * Returns the conversation with ids that every provider accepts. Valid ids stay unchanged. Invalid
 * ids come from authors, from other models, and from sessions that earlier versions stored.
 */
export function withModelIds(messages: readonly McpMessage[]): McpMessage[] {
  const given = new Set(messages.flatMap(({ content }) => content.flatMap(idsIn)));
  const short = new Map<string, string>();
  for (const id of given) if (!ACCEPTED.test(id)) short.set(id, "");
  if (short.size === 0) return [...messages];
  // Number the new ids in order of appearance, so that they stay the same when the conversation
  // grows.
  let number = 0;
  for (const id of short.keys()) {
    let next: string;
    do next = `call_${++number}`; while (given.has(next));
    short.set(id, next);
  }
  const renamed = (id: string) => short.get(id) ?? id;
  return messages.map((message) => ({
    ...message,
    content: message.content.map((block): MessageContent => {
      if (block.type === "tool_use") return { ...block, id: renamed(block.id) };
      if (block.type !== "tool_result") return block;
      return { ...block, toolUseId: renamed(block.toolUseId) };
    }),
  }));
}

function idsIn(block: MessageContent): string[] {
  if (block.type === "tool_use") return [block.id];
  return block.type === "tool_result" ? [block.toolUseId] : [];
}
