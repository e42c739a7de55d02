/**
 * The ids of tool calls as models take them. Some providers refuse a whole conversation because
 * of one id that is longer than 40 characters or holds anything but letters, digits, `_` and `-`.
 */
import type { McpMessage, MessageContent } from "../model/content.ts";

const TAKEN = /^[A-Za-z0-9_-]{1,40}$/;

/**
 * The same conversation with ids that every provider takes. Ids that fit stay as they are. Others
 * come from authors, from other models, and from sessions that an earlier version stored.
 */
export function withModelIds(messages: readonly McpMessage[]): McpMessage[] {
  const given = new Set(messages.flatMap(({ content }) => content.flatMap(idsIn)));
  const short = new Map<string, string>();
  for (const id of given) if (!TAKEN.test(id)) short.set(id, "");
  if (short.size === 0) return [...messages];
  // Numbered in order: a conversation that only grows keeps the ids that it had.
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
