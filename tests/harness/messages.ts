/** Finds a program's error messages in its source. */
import { type Token, tokens } from "./tokens.ts";

/** Stands for the value of an expression. */
export const BLANK = "…";

/** Every text that begins like one of our messages, with its expressions left blank. */
export function messagesIn(source: string): string[] {
  return textsIn(tokens(source)).map(({ text }) => text).filter((text) => /^Cannot\b/.test(text));
}

/** The texts of errors that are created with `new`, whatever they begin with, and their class. */
export function thrownIn(source: string): { readonly made: string; readonly text: string }[] {
  const all = tokens(source);
  const texts = new Map(textsIn(all).map(({ at, text }) => [at, text]));
  return all.flatMap((token, index) => {
    const [name, bracket] = [all[index + 1], all[index + 2]];
    const isError = token.text === "new" && token.kind === "word" && name?.kind === "word" &&
      /(?:Error|Problem)$/.test(name.text) && bracket?.text === "(";
    const text = isError ? texts.get(index + 3) : undefined;
    return text === undefined ? [] : [{ made: name!.text, text }];
  });
}

/** Strings and templates as they would be printed: concatenated parts are joined. */
function textsIn(all: readonly Token[]): { readonly at: number; readonly text: string }[] {
  const found: { at: number; text: string }[] = [];
  let before: { text: string; end: number } | undefined;
  for (const [at, token] of all.entries()) {
    if (token.kind !== "string" || token.template?.first === false) continue;
    const { text, end } = whole(all, at);
    if (before && all[at - 1]?.text === "+" && before.end === at - 2) {
      found.at(-1)!.text += text;
      before = { text: found.at(-1)!.text, end };
    } else {
      found.push({ at, text });
      // A string inside a template's expression is a text too, and does not end the template.
      if (!before || before.end < at) before = { text, end };
    }
  }
  return found;
}

/** A string, or a template up to its end. */
function whole(all: readonly Token[], at: number): { text: string; end: number } {
  const { template, text } = all[at]!;
  if (!template || template.last) return { text, end: at };
  let [said, depth] = [text, 1];
  for (let end = at + 1; end < all.length; end++) {
    const { kind, text, template } = all[end]!;
    if (kind !== "string" || !template) continue;
    if (template.first) depth += template.last ? 0 : 1;
    else {
      if (depth === 1) said += BLANK + text;
      if (template.last) depth--;
    }
    if (depth === 0) return { text: said, end };
  }
  throw new Error(`Cannot read the template "${text}": it has no end; close it`);
}
