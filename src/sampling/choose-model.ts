/** Which of a provider's models a sample would like. */
import type { SampleParams } from "../model/events.ts";
import type { ProviderKind } from "./config.ts";

/** What a full name of a model looks like, by who serves it. */
const FULL_NAMES: Record<ProviderKind, RegExp> = {
  "openai": /^(?:gpt|chatgpt|o|codex|ft:gpt)-?\d[\w.:-]*$/,
  "anthropic": /^claude-[a-z\d.-]*\d[a-z\d.-]*$/,
  // Only with a tag: a bare word may be a wish for a family of models, and not for this one.
  "ollama": /^[\w./-]+:[\w.-]+$/,
  // Anything may be a model there, so only our own notation counts.
  "openai-compatible": /^$/,
};

/** A name in our own notation, with who serves it. */
const OURS = /^(openai|anthropic|ollama|openai-compatible):(.+)$/;

/**
 * The models to try, the preferred one first and the configured one last. Hints
 * may be parts of names, or other providers' names: only what looks like a full
 * name of a model of this provider counts, with or without `provider:` before it.
 */
export function chooseModels(
  kind: ProviderKind,
  configured: string,
  { modelPreferences }: SampleParams,
  unknown: ReadonlySet<string>,
): string[] {
  for (const { name } of modelPreferences?.hints ?? []) {
    if (typeof name !== "string" || name === "") continue;
    const [, prefix, hinted = name] = OURS.exec(name) ?? [];
    const counts = prefix === undefined
      ? hinted === configured || FULL_NAMES[kind].test(hinted)
      : prefix === kind;
    if (!counts || unknown.has(hinted)) continue;
    return hinted === configured ? [configured] : [hinted, configured];
  }
  return [configured];
}
