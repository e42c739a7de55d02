/** Returns the first line of the message of a thrown value, without the stack. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.split("\n", 1)[0]!.trim().replace(/^(?:[A-Z]\w*)?Error: /, "");
}
