/**
 * Reads the capabilities that a client declares in `initialize`.
 *
 * A declared elicitation mode counts in every revision: a client that names a mode supports its
 * messages, and some clients declare URL mode under a revision that precedes it. Elicitation
 * without a mode counts from the revision that introduced it.
 */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import type { ClientCapabilities } from "../../model/events.ts";
import { type LegacyVersion, since } from "../versions.ts";

/** Reads only values that are objects: some clients send null for capabilities that they lack. */
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
