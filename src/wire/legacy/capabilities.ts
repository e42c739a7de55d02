/**
 * What a client declared in `initialize`.
 *
 * A declared elicitation mode counts whatever the revision: a client that names one
 * knows its messages, and some declare URL mode under a revision that came before it.
 * Without a mode, elicitation counts from the revision that introduced it.
 */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import type { ClientCapabilities } from "../../model/events.ts";
import { type LegacyVersion, since } from "../versions.ts";

/** Only an object declares anything: some clients write null for what they lack. */
export function declaredCapabilities(
  { elicitation, sampling, roots, ...others }: JsonObject,
  version: LegacyVersion,
): ClientCapabilities {
  const modes = isObject(elicitation) ? only(elicitation, ["form", "url"]) : undefined;
  const canElicit = modes && (since(version, "2025-06-18") || Object.keys(modes).length > 0);
  return {
    ...others,
    ...(canElicit && { elicitation: modes }),
    ...(isObject(sampling) && {
      sampling: since(version, "2025-11-25") ? only(sampling, ["tools", "context"]) : {},
    }),
    ...(isObject(roots) && { roots }),
  };
}

function only(declared: JsonObject, modes: readonly string[]): { [mode: string]: JsonObject } {
  const found: { [mode: string]: JsonObject } = {};
  for (const mode of modes) {
    const value = declared[mode];
    if (isObject(value)) found[mode] = value;
  }
  return found;
}
