/**
 * Warns the operator, once for each tool, if the text of a result contains words that are missing
 * from its structured content. The warning does not quote the text, because results may be private;
 * `testTool` shows it.
 */
import type { ToolResult } from "../../model/events.ts";
import type { EndedCall } from "../../session/types.ts";
import { wordsOnlyInText } from "../../tool/text-and-data.ts";
import type { OperatorLog } from "../log.ts";

/** How many results of each tool are checked. */
const RESULTS = 5;
/** Longer texts are not checked, to save time. */
const MAX_TEXT_LENGTH = 4_000;

export function dataCheck(log: OperatorLog): (call: EndedCall) => void {
  const looks = new Map<string, number>();
  return ({ kind, toolName, outcome }) => {
    if (kind !== "tool" || outcome.status !== "completed") return;
    const result = outcome.result as ToolResult;
    if (result.structuredContent === undefined || result.isError) return;
    const looked = looks.get(toolName) ?? 0;
    if (looked >= RESULTS || lengthOf(result) > MAX_TEXT_LENGTH) return;
    looks.set(toolName, looked + 1);
    if (wordsOnlyInText(result).length === 0) return;
    looks.set(toolName, RESULTS);
    log.say(
      "warning",
      "the text of a tool's result says more than its structuredContent; some clients show the model only the structuredContent",
      { tool: toolName },
    );
  };
}

function lengthOf({ content }: ToolResult): number {
  return content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0);
}
