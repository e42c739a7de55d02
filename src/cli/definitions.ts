/** Tells tools, prompts and resources from everything else that a module may export. */
import type { Definition } from "../tool/types.ts";

const KINDS = ["tool", "prompt", "resource"];

export function isDefinition(value: unknown): value is Definition {
  return typeof value === "object" && value !== null && "kind" in value && "body" in value &&
    KINDS.includes(value.kind as string);
}
