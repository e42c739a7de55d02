/**
 * What a client declared that it can do, in the words of its own revision. What
 * that revision has no message for cannot be sent, whatever else was declared.
 */
import type { JsonObject } from "../../content.ts";
import type { ClientCapabilities } from "../../events.ts";
import { isObject } from "../json-rpc.ts";
import { type LegacyVersion, since } from "../versions.ts";

/** Only an object declares anything: some clients write null for what they lack. */
export function declaredCapabilities(
  { elicitation, sampling, roots, ...others }: JsonObject,
  version: LegacyVersion,
): ClientCapabilities {
  return {
    ...others,
    ...(since(version, "2025-06-18") && isObject(elicitation) && {
      elicitation: since(version, "2025-11-25") ? only(elicitation, ["form", "url"]) : {},
    }),
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
