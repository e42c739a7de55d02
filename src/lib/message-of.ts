/** The first line of what somebody threw, without its stack. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.split("\n", 1)[0]!.trim().replace(/^(?:[A-Z]\w*)?Error: /, "");
}
