/** Chooses a model by the hints of a sampling request. */
import type { SampleParams } from "../model/events.ts";
import type { ProviderKind } from "./config.ts";

/** The pattern of a full model name, for each provider. */
const FULL_NAMES: Record<ProviderKind, RegExp> = {
  "openai": /^(?:gpt|chatgpt|o|codex|ft:gpt)-?\d[\w.:-]*$/,
  "anthropic": /^claude-[a-z\d.-]*\d[a-z\d.-]*$/,
  // The pattern requires a tag, because a name without one may mean a whole family of models.
  "ollama": /^[\w./-]+:[\w.-]+$/,
  // Any name could be a model of such a service, so only the `provider:model` notation counts.
  "openai-compatible": /^$/,
};

/** A model name in the `provider:model` notation. */
const PREFIXED = /^(openai|anthropic|ollama|openai-compatible):(.+)$/;

/**
 * Returns the models to try: first those that the hints name, and last the configured one. A hint
 * counts only if it is the full name of a model of this provider, with or without the `provider:`
 * prefix.
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
