/** JSON Pointers, as used in references and in the validator's errors. */

/** Decodes one part of a pointer. */
export function unescapePart(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Decodes one part of a pointer that is the fragment of a URI. */
export function decodePart(part: string): string {
  try {
    return unescapePart(decodeURIComponent(part));
  } catch {
    return unescapePart(part);
  }
}

/** Returns the name in `$defs` that a reference points to, or undefined if it points elsewhere. */
export function definitionName(ref: unknown): string | undefined {
  if (typeof ref !== "string" || !ref.startsWith("#/$defs/")) return undefined;
  return unescapePart(ref.slice("#/$defs/".length));
}
