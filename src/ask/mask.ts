/** Masks the fields that the author declared sensitive. */
import type { JsonObject } from "../model/content.ts";

export const MASK = "••••••";

/**
 * Returns a copy in which every sensitive field is masked. Returns `{}` if the content is not an
 * object, because the secret may be anywhere in it.
 */
export function mask(content: JsonObject, sensitive: readonly string[]): JsonObject {
  if (typeof content !== "object" || content === null || Array.isArray(content)) return {};
  const masked: JsonObject = { ...content };
  for (const field of sensitive) if (field in masked) masked[field] = MASK;
  return masked;
}
