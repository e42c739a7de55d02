/** Recognises tools, prompts and resources among a module's exports. */
import type { Definition } from "../tool/types.ts";

const KINDS = ["tool", "prompt", "resource"];

export function isDefinition(value: unknown): value is Definition {
  return typeof value === "object" && value !== null && "kind" in value && "body" in value &&
    KINDS.includes(value.kind as string);
}
