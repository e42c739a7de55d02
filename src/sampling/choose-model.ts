/** Picks a model from the hints of a sample. */
import type { SampleParams } from "../model/events.ts";
import type { ProviderKind } from "./config.ts";

/** The pattern of a full model name, by provider. */
const FULL_NAMES: Record<ProviderKind, RegExp> = {
  "openai": /^(?:gpt|chatgpt|o|codex|ft:gpt)-?\d[\w.:-]*$/,
  "anthropic": /^claude-[a-z\d.-]*\d[a-z\d.-]*$/,
  // Require a tag: a bare word may be a hint at a model family rather than at one model.
  "ollama": /^[\w./-]+:[\w.-]+$/,
  // Any name may be a model there, so only the `provider:model` notation counts.
  "openai-compatible": /^$/,
};

/** A model name in the `provider:model` notation. */
const PREFIXED = /^(openai|anthropic|ollama|openai-compatible):(.+)$/;

/**
 * Returns the models to try: hinted ones first, the configured one last. A hint may be a part of
 * a name or name another provider's model. Only a full name of a model of this provider counts,
 * with or without the `provider:` prefix.
 */
export function chooseModels(
  kind: ProviderKind,
  configured: string,
  { modelPreferences }: SampleParams,
  unknown: ReadonlySet<string>,
): string[] {
  for (const { name } of modelPreferences?.hints ?? []) {
    if (typeof name !== "string" || name === "") continue;
    const [, prefix, hinted = name] = PREFIXED.exec(name) ?? [];
    const counts = prefix === undefined
      ? hinted === configured || FULL_NAMES[kind].test(hinted)
      : prefix === kind;
    if (!counts || unknown.has(hinted)) continue;
    return hinted === configured ? [configured] : [hinted, configured];
  }
  return [configured];
}
