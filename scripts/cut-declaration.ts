/** Cuts a declaration out of its source code, without function bodies and private members. */

/** A member of a class: its position and its comment. Lines count from 0. */
export interface Member {
  readonly line: number;
  readonly doc: string | undefined;
}

export function cutDeclaration(
  source: string,
  kind: string,
  line: number,
  members: readonly Member[],
): string {
  const lines = source.split("\n");
  const text = lines.slice(line).join("\n");
  switch (kind) {
    case "interface":
      return withoutLint(upTo(text, "}", true)).replace(/^export /, "");
    case "typeAlias":
    case "variable":
      return withoutLint(upTo(text, ";", true)).replace(/^export /, "");
    case "function":
      return `${signature(text).replace(/^export function\*? ?/, "function ")};`;
    case "class": {
      const head = signature(text).replace(/^export (?:abstract )?/, "");
      const inside = members.flatMap(({ line, doc }) => [
        ...(doc ? [`  ${comment(doc)}`] : []),
        `  ${member(lines.slice(line).join("\n"))}`,
      ]);
      return `declare ${head} {\n${inside.join("\n")}\n}`;
    }
    default:
      throw new Error(`Cannot show a ${kind}: this kind is not supported; add a case for it here`);
  }
}

/** Returns the text up to the first `end` that is not inside brackets. */
function upTo(text: string, end: string, inclusive: boolean): string {
  const at = endOf(text, (char, depth) => char === end && depth === 0);
  return text.slice(0, inclusive ? at + 1 : at);
}

/** Returns the text before the body. The body starts at the first outer brace that ends a line. */
function signature(text: string): string {
  const at = endOf(
    text,
    (char, depth, index) => char === "{" && depth === 1 && /^\{\}?(?:\n|$)/.test(text.slice(index)),
  );
  return text.slice(0, at).trimEnd();
}

/** A member of a class without its body. A value stays only if it is a string. */
function member(text: string): string {
  const at = endOf(text, (char, depth, index) => {
    const rest = text.slice(index);
    if (char === "=") return depth === 0 && /^= (?!")/.test(rest);
    if (char === "{") return depth === 1 && /^\{(?:\}?\n|$| return | super)/.test(rest);
    return char === ";" && depth === 0;
  });
  const said = text.slice(0, at).trim().replace(/^(?:override |async )+/, "").replace(/^\*/, "");
  return `${said.replaceAll(/\n\s*/g, " ")};`;
}

/** The first position where `test` returns true. `depth` counts open brackets, including this one. */
function endOf(
  text: string,
  ends: (char: string, depth: number, index: number) => boolean,
): number {
  const skipped =
    /\/\*[\s\S]*?\*\/|\/\/.*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/y;
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    skipped.lastIndex = index;
    const skip = skipped.exec(text);
    if (skip) {
      index += skip[0].length - 1;
      continue;
    }
    const char = text[index]!;
    if ("([{".includes(char)) depth++;
    if (")]}".includes(char)) depth--;
    if (ends(char, depth, index)) return index;
  }
  throw new Error(`Cannot find the end of "${text.slice(0, 60)}": it is not written as expected`);
}

function comment(doc: string): string {
  return `/** ${doc.trim().replaceAll(/\s*\n\s*/g, " ")} */`;
}

function withoutLint(text: string): string {
  return text.replaceAll(/^\s*\/\/ deno-lint-ignore.*\n/gm, "");
}
