/** Hides what the author marked as sensitive. */
import type { JsonObject } from "../model/content.ts";

export const MASK = "••••••";

/**
 * A copy in which every sensitive field that is present reads as a mask. Of what
 * is no object at all nothing is copied: who knows where in it the secret is.
 */
export function mask(content: JsonObject, sensitive: readonly string[]): JsonObject {
  if (typeof content !== "object" || content === null || Array.isArray(content)) return {};
  const masked: JsonObject = { ...content };
  for (const field of sensitive) if (field in masked) masked[field] = MASK;
  return masked;
}
