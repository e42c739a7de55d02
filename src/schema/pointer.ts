/** JSON pointers, as they come in references and in the validator's errors. */

/** The name that one part of a pointer stands for. */
export function unescapePart(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** The same for a pointer in a URI. */
export function decodePart(part: string): string {
  try {
    return unescapePart(decodeURIComponent(part));
  } catch {
    return unescapePart(part);
  }
}

/** The name of a definition that a reference points to, or nothing if it points elsewhere. */
export function definitionName(ref: unknown): string | undefined {
  if (typeof ref !== "string" || !ref.startsWith("#/$defs/")) return undefined;
  return unescapePart(ref.slice("#/$defs/".length));
}
