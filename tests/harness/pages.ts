/** The documentation: its pages, and the code blocks in them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { listFiles, readText } from "./files.ts";

/** A code block on a page. */
export interface Block {
  /** The info string of the fence: the language, and whether the block is only to be read. */
  readonly info: string;
  readonly code: string;
}

/** In the order in which a newcomer would read them. */
const ORDER = ["README.md", "docs/writing-tools.md", "docs/testing-tools.md", "docs/serving.md"];

/** All pages, by their paths. */
export function listPages(): string[] {
  const all = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    ...listFiles("docs", ".md"),
  ];
  return [...ORDER, ...all.filter((page) => !ORDER.includes(page))];
}

export function blocksOf(text: string): Block[] {
  return Array.from(
    text.matchAll(/^```(\S[^\n]*)\n(.*?)^```$/gms),
    ([, info = "", code = ""]) => ({ info: info.trim(), code }),
  );
}

/** A block whose first comment names a file, as that file. */
export function fileIn({ code }: Block): { name: string; code: string } | undefined {
  const [, name] = /^(?:\/\/|#) (\S+\.\w+)\n/.exec(code) ?? [];
  return name === undefined ? undefined : { name, code };
}

/** The languages in which a block can be a file. */
const FILES = /^(?:ts|json|ini|nginx)$/;

/** Writes the files that the pages show into a folder, as a reader would. */
export function unpackPages(
  folder: string,
  pages: readonly string[] = [...listPages(), ...listFiles("skills", ".md")],
): string[] {
  const written = new Map<string, string>();
  for (const page of pages) {
    for (const block of blocksOf(readText(page))) {
      if (!FILES.test(block.info)) continue;
      const file = fileIn(block);
      if (!file) {
        if (page === "docs/api.md") continue; // examples, which are checked where they stand
        throw new Error(
          `Cannot place a block of ${page}: begin it with its file's name, as in "// tools/a.ts"`,
        );
      }
      if (written.has(file.name)) {
        throw new Error(
          `Cannot write "${file.name}" of ${page}: another block has that name; rename it`,
        );
      }
      const path = join(folder, file.name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, file.code);
      written.set(file.name, path);
    }
  }
  return [...written.values()];
}

/** The commands of a page, as they are typed, block by block. */
export function commandsOf(page: string): string[] {
  return blocksOf(readText(page))
    .filter(({ info }) => info === "sh")
    .flatMap(({ code }) => code.replaceAll("\\\n", " ").split("\n"))
    .map((line) => line.replace(/(?:^|\s+)#.*$/, "").trim())
    .filter(Boolean);
}
