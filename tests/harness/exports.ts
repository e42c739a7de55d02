/** Reads the names that a module exports from its source: types leave no trace at run time. */
import { type Token, tokens } from "./tokens.ts";

/** Sorted; a type as `type Name`. Supports `export { … }` and declarations, but no star. */
export function exportsOf(source: string): string[] {
  const all = tokens(source);
  return all.flatMap((token, index) => {
    if (token.kind !== "word" || token.text !== "export") return [];
    const rest = all.slice(index + 1);
    const allTypes = rest[0]?.text === "type" && rest[1]?.text === "{";
    if (allTypes) rest.shift();
    return rest[0]?.text === "{" ? listed(rest.slice(1), allTypes) : declared(rest);
  }).sort();
}

function listed(rest: Token[], allTypes: boolean): string[] {
  const end = rest.findIndex((token) => token.text === "}");
  const names = rest.slice(0, end).map((token) => token.text).join(" ").split(",");
  return names.map((name) => name.trim()).filter(Boolean).map((name) => {
    const isType = allTypes || /^type (?!as\b)/.test(name);
    const exported = name.split(" ").at(-1);
    return isType ? `type ${exported}` : `${exported}`;
  });
}

function declared(rest: Token[]): string[] {
  const words = rest.filter((token) => token.text !== "*").map((token) => token.text);
  const kind = words.findIndex((word) => !/^(?:declare|abstract|async)$/.test(word));
  const name = words[kind + 1];
  if (/^(?:type|interface)$/.test(words[kind] ?? "")) return [`type ${name}`];
  if (/^(?:const|let|var|function|class|enum)$/.test(words[kind] ?? "")) return [`${name}`];
  throw new Error(`Cannot read the export "${words.slice(0, 4).join(" ")}": name what it exports`);
}
