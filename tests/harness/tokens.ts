/**
 * Splits TypeScript into words, strings and punctuation: enough to find imports and names in code,
 * but not in comments or strings. Throws on what it cannot read, so that no rule passes because a
 * file was misread.
 */

export interface Token {
  kind: "word" | "string" | "mark";
  /** A string without its quotes. */
  text: string;
  /** The part of a template: text before, between or after its expressions. */
  template?: { readonly first: boolean; readonly last: boolean };
}

const pieces = {
  space: /\s+|\/\/.*|\/\*[\s\S]*?\*\//y,
  word: /[\p{ID_Start}$_#@][\p{ID_Continue}$]*|\d[\w.]*/yu,
  string: /"((?:[^"\\\n]|\\[\s\S])*)"|'((?:[^'\\\n]|\\[\s\S])*)'/y,
  /** Text of a template, up to its end or to an expression. */
  template: /((?:[^`\\$]|\\[\s\S]|\$(?!\{))*)(`|\$\{)/y,
  regex: /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y,
  mark: /[^\s"'`\w]/y,
};

/** After these a slash starts a regular expression; after any other word it divides. */
const beforeValue = /^(?:return|typeof|case|in|of|void|delete|throw|new|do|else|yield|await)$/;

export function tokens(source: string): Token[] {
  const found: Token[] = [];
  /** For each open template, how many braces are open within its expression. */
  const braces: number[] = [];
  let at = 0;

  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    if (match) at = pattern.lastIndex;
    return match;
  };
  const add = (kind: Token["kind"], text: string) => found.push({ kind, text });
  const template = (first: boolean) => {
    const match = take(pieces.template);
    if (!match) throw unreadable(source, at);
    const last = match[2] === "`";
    found.push({ kind: "string", text: match[1] ?? "", template: { first, last } });
    if (!last) braces.push(0);
  };
  const valueMayFollow = () => {
    const last = found.at(-1);
    if (!last) return true;
    if (last.kind === "word") return beforeValue.test(last.text);
    return last.kind === "mark" && !/[)\]}]/.test(last.text);
  };

  while (at < source.length) {
    if (take(pieces.space)) continue;
    const open = braces.at(-1);
    if (open === 0 && source[at] === "}") {
      braces.pop();
      at++;
      template(false);
      continue;
    }
    if (source[at] === "`") {
      at++;
      template(true);
      continue;
    }
    const string = take(pieces.string);
    if (string) {
      add("string", string[1] ?? string[2] ?? "");
      continue;
    }
    if (source[at] === "/" && valueMayFollow() && take(pieces.regex)) {
      add("string", "");
      continue;
    }
    const word = take(pieces.word);
    if (word) {
      add("word", word[0]);
      continue;
    }
    const mark = take(pieces.mark);
    if (!mark) throw unreadable(source, at);
    add("mark", mark[0]);
    if (open !== undefined && mark[0] === "{") braces.push(braces.pop()! + 1);
    if (open !== undefined && mark[0] === "}") braces.push(braces.pop()! - 1);
  }
  return found;
}

/** The specifiers that a module imports or re-exports, including types and dynamic imports. */
export function importsOf(source: string): string[] {
  const all = tokens(source);
  return all.flatMap((token, index) => {
    if (token.kind !== "string") return [];
    const [before, last] = [all[index - 2], all[index - 1]];
    const called = last?.text === "(" && before?.kind === "word" && before.text === "import";
    const named = last?.kind === "word" && /^(?:from|import)$/.test(last.text);
    return called || named ? [token.text] : [];
  });
}

/** The specifiers that are loaded with a module: neither types nor dynamic imports. */
export function staticImportsOf(source: string): string[] {
  const all = tokens(source);
  return all.flatMap((token, index) => {
    const last = all[index - 1];
    if (token.kind !== "string" || token.template || last?.kind !== "word") return [];
    if (last.text !== "from" && last.text !== "import") return [];
    const start = all.findLastIndex(({ kind, text }, at) =>
      at < index && kind === "word" && (text === "import" || text === "export")
    );
    const isType = all[start + 1]?.text === "type" && all[start + 2]?.text !== "from";
    return isType ? [] : [token.text];
  });
}

/** Whether code uses a global of that name: bare, on `globalThis`, or tested with `in`. */
export function usesGlobal(source: string, name: string): boolean {
  const all = tokens(source);
  return all.some((token, index) => {
    if (token.text !== name) return false;
    if (token.kind === "string") {
      return all[index + 1]?.text === "in" || all[index - 2]?.text === "globalThis";
    }
    return all[index - 1]?.text !== "." || all[index - 2]?.text === "globalThis";
  });
}

function unreadable(source: string, at: number): Error {
  const line = source.slice(0, at).split("\n").length;
  return new Error(`Cannot read line ${line}: unknown token at "${source.slice(at, at + 20)}"`);
}
