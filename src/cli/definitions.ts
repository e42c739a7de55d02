/** Recognises tools, prompts, resources and skills among a module's exports. */
import type { FinalizedMcpSkill, Served } from "../tool/skill.ts";
import type { Definition } from "../tool/types.ts";

const KINDS = ["tool", "prompt", "resource"];

export function isServed(value: unknown): value is Served {
  return isDefinition(value) || isSkill(value);
}

export function isDefinition(value: unknown): value is Definition {
  return typeof value === "object" && value !== null && "kind" in value && "body" in value &&
    KINDS.includes(value.kind as string);
}

function isSkill(value: unknown): value is FinalizedMcpSkill {
  return typeof value === "object" && value !== null && "kind" in value && "files" in value &&
    value.kind === "skill";
}
