/** Turns what a prompt returned into its messages. */
import { text } from "../model/content.ts";
import type { PromptResult } from "../model/events.ts";
import type { FinalizedMcpPrompt } from "./types.ts";

export function toPromptResult(prompt: FinalizedMcpPrompt, value: unknown): PromptResult {
  const { description } = prompt;
  if (typeof value === "string") {
    return { description, messages: [{ role: "user", content: text(value) }] };
  }
  if (Array.isArray(value)) return { description, messages: value };
  if (typeof value === "object" && value !== null && "messages" in value) {
    return { description, ...value as PromptResult };
  }
  throw new TypeError(
    `Cannot use what prompt "${prompt.name}" returned: it is neither a string, messages nor a full result; return one of these`,
  );
}
