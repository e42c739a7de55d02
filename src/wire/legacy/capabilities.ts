/**
 * Reads the capabilities that a client declares in `initialize`.
 *
 * A declared elicitation mode is accepted in every revision, because some clients declare URL mode
 * together with a revision that is older than URL mode. Elicitation without a mode is accepted from
 * 2025-06-18 on, the revision that introduced it.
 */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import type { ClientCapabilities } from "../../model/events.ts";
import { type LegacyVersion, since } from "../versions.ts";

/** Ignores values that are not objects: some clients send null for capabilities that they lack. */
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
