/**
 * Compares the text of a result with its data. Some clients pass only `structuredContent` to the
 * model, so information that is only in the text does not reach the model.
 */
import type { ToolResult } from "../model/events.ts";

/** Matches numbers, and words of three letters or more. */
const WORDS = /\p{N}+|\p{L}{3,}/gu;
const CAMEL_CASE = /(?<=\p{Ll})(?=\p{Lu})/gu;

/** Common words that carry no information. */
const STOP_WORDS = new Set(
  ("all also and any are been but can did does for from had has have here into its not now off " +
    "one only our out she than that the their them then there they this was were what when " +
    "which who will with you your").split(" "),
);

/**
 * Returns the words that are in the text of a result, but not in its data. Returns none if the
 * result has no data.
 */
export function wordsOnlyInText(result: ToolResult): string[] {
  const { content, structuredContent, isError } = result;
  if (structuredContent === undefined || isError) return [];
  const text = content.map((block) => block.type === "text" ? block.text : "").join("\n");
  const json = JSON.stringify(structuredContent);
  if (text === json) return [];
  const known = knownWords(structuredContent);
  const missing = wordsOf(text).filter((word) => !STOP_WORDS.has(word) && !isAmong(known, word));
  return [...new Set(missing)];
}

/**
 * Splits text into words, and normalises them: full-width digits become digits, and `shoppingList`
 * becomes two words.
 */
function wordsOf(text: string): string[] {
  const plain = text.normalize("NFKC").replace(CAMEL_CASE, " ").toLowerCase();
  return plain.match(WORDS) ?? [];
}

/** Collects the words of all keys and values, and the length of each list. */
function knownWords(value: unknown, words = new Set<string>()): Set<string> {
  const add = (text: string) => wordsOf(text).forEach((word) => words.add(word));
  if (Array.isArray(value)) add(String(value.length));
  if (typeof value !== "object" || value === null) {
    add(String(value));
    return words;
  }
  for (const [key, entry] of Object.entries(value)) {
    if (!Array.isArray(value)) add(key);
    knownWords(entry, words);
  }
  return words;
}

/**
 * Returns true if a word or another form of it is known, such as flight for flights, or book for
 * booked.
 */
function isAmong(known: ReadonlySet<string>, word: string): boolean {
  if (known.has(word)) return true;
  if (/^\p{N}/u.test(word)) return false;
  for (const other of known) {
    if (other.length > 3 && word.startsWith(other)) return true;
    if (word.length > 3 && other.startsWith(word)) return true;
  }
  return false;
}

/** Returns a warning for the author of the tool if there are words that only the text contains. */
export function textAndDataWarning(toolName: string, words: readonly string[]): string | undefined {
  if (words.length === 0) return undefined;
  const shown = words.slice(0, 5).map((word) => `"${word}"`).join(", ");
  const more = words.length > 5 ? ` and ${words.length - 5} more` : "";
  return `The text of tool "${toolName}" says ${shown}${more}, which its structuredContent does not; some clients pass only structuredContent to the model, so add it there too`;
}
