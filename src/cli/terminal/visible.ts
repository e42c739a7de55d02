/**
 * Text of others, for a terminal. A tool's words may come from anywhere, and a terminal obeys
 * what it prints: it fills the clipboard (OSC 52), moves the cursor over what was there, or
 * shows letters in another order. So control characters are shown as escapes, such as `\x1b`.
 */

/**
 * C0 but for tab and newline, DEL, C1, what separates lines, and all that changes the
 * direction of text: https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters
 */
const CONTROL =
  // deno-lint-ignore no-control-regex
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]/g;

/** The same, to look before anything is replaced: most text has none, and a log has much text. */
const ANY = new RegExp(CONTROL.source);

/** With newlines and tabs as they are. */
export function visible(text: string): string {
  if (!ANY.test(text)) return text;
  return text.replaceAll("\r\n", "\n").replace(CONTROL, escaped);
}

/** On lines of its own, none of which can be taken for one of ours. */
export function visibleNote(text: string): string {
  return visible(text).replaceAll("\n", "\n  ");
}

/** As JSON that reads as the very same value. */
export function visibleJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent);
  // What JSON escapes by itself is not found any more.
  return ANY.test(text) ? text.replace(CONTROL, inJson) : text;
}

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return code > 0xff ? inJson(character) : `\\x${code.toString(16).padStart(2, "0")}`;
}

function inJson(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
