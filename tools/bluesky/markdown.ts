/**
 * Text from strangers in Markdown of ours. What they write is shown as they wrote
 * it, and never becomes a heading, a link, an image, a table, HTML or anything
 * else: whatever could begin such a thing is escaped.
 */

/** Wherever it stands, this may begin something. */
const SPECIAL = /[\\`*_[\]<>#|~&$]/g;
/** Some readers make links of these, and of whatever follows them. */
const ADDRESS = /:(?=\/\/)|(?<=www)\.|(?<=[\w.+-])@/gi;
/** At the start of a line, so may this. */
const STARTS = /^([-+=:]|\d{1,9}[.)])/;
/** Letters that turn the direction of the text around them, and letters that show nothing. */
const UNSEEN = /[\p{Cc}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;
const LINES = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

/** A few words, on one line. */
export function inline(text: string): string {
  return escapeLine(text.split(LINES).join(" "));
}

/** A text of its own, line by line, set off as a quotation. */
export function quotation(text: string): string {
  const lines = text.split(LINES).map(escapeLine);
  return lines.map((line, i) => {
    if (line === "") return ">";
    // Two spaces keep the line break, where another line of the same paragraph follows.
    return lines[i + 1] ? `> ${line}  ` : `> ${line}`;
  }).join("\n");
}

/** A link, if it leads anywhere a browser may go; otherwise just the words. */
export function link(words: string, target: string | undefined): string {
  const address = target === undefined ? undefined : safeAddress(target);
  return address === undefined ? inline(words) : `[${inline(words) || address}](<${address}>)`;
}

/** A name for machines, as it is. */
export function code(text: string): string {
  return `\`${text.replace(UNSEEN, "").replaceAll("`", "'")}\``;
}

/** Data, folded away. */
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

/** The address as it may stand between angle brackets. */
function safeAddress(target: string): string | undefined {
  const url = URL.parse(target);
  if (url?.protocol !== "https:" && url?.protocol !== "http:") return undefined;
  return url.href.replace(/[<>\\`\s]/g, (char) => encodeURIComponent(char));
}
