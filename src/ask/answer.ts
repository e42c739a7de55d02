/** What came back for a sample. It comes from outside, and may be anything. */
import { type McpMessage, normalizeMessage } from "../model/content.ts";
import { SampleError } from "../model/errors.ts";
import type { Response, SampleResponse } from "../model/events.ts";
import { isFailure } from "./ask.ts";
import { estimateTokens } from "./budget.ts";
import { problemOf } from "./messages.ts";

/** The answer, if it is one. */
export function answerOf(response: Response, who: string): SampleResponse {
  if (isFailure(response)) {
    throw new SampleError(
      `Cannot ask the model: ${who} refused or failed: ${response.error?.message}; try again, or do without`,
    );
  }
  const { content, model } = (response ?? {}) as Partial<SampleResponse>;
  if (!isContent(content) || typeof model !== "string") {
    throw new SampleError(
      `Cannot use the model's answer: it has no content or names no model; check ${who}`,
    );
  }
  return response as SampleResponse;
}

function isContent(content: unknown): boolean {
  if (typeof content === "string") return true;
  return Array.isArray(content) ? content.every(isBlock) : isBlock(content);
}

/** A block of a kind that is not ours to judge may be anything; it is left out later. */
function isBlock(block: unknown): boolean {
  if (typeof block !== "object" || block === null || !("type" in block)) return false;
  return !SAID.includes(block.type) || problemOf(block) === undefined;
}

/** What an assistant can say. Results of tools are the user's, and the rest is unknown here. */
const SAID: readonly unknown[] = ["text", "image", "audio", "tool_use"];

/** The answer as a message of the conversation. */
export function responseOf({ content }: SampleResponse): McpMessage {
  const message = normalizeMessage({ role: "assistant", content });
  return {
    role: "assistant",
    content: message.content.filter((block) =>
      SAID.includes(block.type) && !(block.type === "text" && block.text === "")
    ),
  };
}

/** What the answer cost. The count comes from outside, and must not give tokens back. */
export function costOf({ usage }: SampleResponse, { content }: McpMessage): number {
  const counted = usage?.outputTokens;
  if (Number.isFinite(counted) && counted! >= 0) return counted!;
  let tokens = 0;
  for (const block of content) {
    if (block.type === "text") tokens += estimateTokens(block.text);
    if (block.type === "tool_use") tokens += estimateTokens(JSON.stringify(block.input));
  }
  return tokens;
}
