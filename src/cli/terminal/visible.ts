/**
 * Makes untrusted text safe to print. A terminal executes control sequences: they can fill the
 * clipboard (OSC 52), overwrite other output, or reorder letters. So control characters are
 * replaced by escapes such as `\x1b`.
 */

/**
 * C0 except tab and newline, DEL, C1, line and paragraph separators, and all characters that
 * change the direction of text: https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters
 */
const CONTROL =
  // deno-lint-ignore no-control-regex
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]/g;

/** A fast check before the replacement: most text has no control characters. */
const ANY = new RegExp(CONTROL.source);

/** Escapes control characters. Newlines and tabs stay. */
export function visible(text: string): string {
  if (!ANY.test(text)) return text;
  return text.replaceAll("\r\n", "\n").replace(CONTROL, escaped);
}

/** Indents untrusted lines, so that none of them looks like output of this program. */
export function visibleNote(text: string): string {
  return visible(text).replaceAll("\n", "\n  ");
}

/** Returns JSON without control characters that parses to the same value. */
export function visibleJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent);
  // JSON.stringify has escaped the C0 characters. Escape the other control characters here.
  return ANY.test(text) ? text.replace(CONTROL, inJson) : text;
}

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return code > 0xff ? inJson(character) : `\\x${code.toString(16).padStart(2, "0")}`;
}

function inJson(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
