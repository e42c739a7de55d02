/**
 * Puts untrusted text into Markdown. The text is shown as it was written. It never becomes a
 * heading, link, image, table or HTML, because all characters with a meaning are escaped.
 */

/** Characters that have a meaning in Markdown anywhere in a line. */
const SPECIAL = /[\\`*_[\]<>#|~&$]/g;
/** Characters in web and e-mail addresses, which some renderers turn into links. */
const ADDRESS = /:(?=\/\/)|(?<=www)\.|(?<=[\w.+-])@/gi;
/** Characters that have a meaning in Markdown at the start of a line. */
const STARTS = /^([-+=:]|\d{1,9}[.)])/;
/** Control, bidirectional and zero-width characters. */
const UNSEEN = /[\p{Cc}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;
const LINES = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

/** Escapes a text for use within a line. */
export function inline(text: string): string {
  return escapeLine(text.split(LINES).join(" "));
}

/** Formats a text as a block quotation. */
export function quotation(text: string): string {
  const lines = text.split(LINES).map(escapeLine);
  return lines.map((line, i) => {
    if (line === "") return ">";
    // Two spaces keep the line break within a paragraph.
    return lines[i + 1] ? `> ${line}  ` : `> ${line}`;
  }).join("\n");
}

/** Formats a link. If the target is not an http or https URL, returns only the words. */
export function link(words: string, target: string | undefined): string {
  const address = target === undefined ? undefined : safeAddress(target);
  return address === undefined ? inline(words) : `[${inline(words) || address}](<${address}>)`;
}

/** Formats a text as code. */
export function code(text: string): string {
  return `\`${text.replace(UNSEEN, "").replaceAll("`", "'")}\``;
}

/** Formats data as a collapsed JSON block. */
export function folded(summary: string, data: unknown): string {
  const text = JSON.stringify(data, null, 2);
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `<details>\n<summary>${summary}</summary>\n\n${fence}json\n${text}\n${fence}\n\n</details>`;
}

function escapeLine(line: string): string {
  return line.replaceAll("\t", " ").replace(UNSEEN, "").trim()
    .replace(SPECIAL, "\\$&")
    .replace(ADDRESS, "\\$&")
    .replace(STARTS, (start) => `${start.slice(0, -1)}\\${start.at(-1)}`);
}

/** Returns a URL that is safe between angle brackets. Undefined if it is not http or https. */
function safeAddress(target: string): string | undefined {
  const url = URL.parse(target);
  if (url?.protocol !== "https:" && url?.protocol !== "http:") return undefined;
  return url.href.replace(/[<>\\`\s]/g, (char) => encodeURIComponent(char));
}
